#include "compiler/Driver/PhaseRunner.h"

#include "compiler/Support/StatusError.h"
#include "compiler/Support/Usage.h"
#include "compiler/Training/Diagnose.h"
#include "dialects/Cleave/IR/Budget.h"
#include "dialects/Cleave/IR/Messages.h"
#include "runtime/base/AtomicFile.h"
#include "runtime/base/Printable.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace cleave;

namespace {

// Collects the errors that passes report while it lives. Logs warnings and remarks, each text once. Each text begins
// with `place`, which is empty or ends with ": ".
class DiagnosticCollector {
public:
  DiagnosticCollector(mlir::MLIRContext *context, llvm::raw_ostream &log, std::string place)
      : log(log), place(std::move(place)),
        handler(context, [this](mlir::Diagnostic &diagnostic) { return collect(diagnostic); }) {}

  bool hasErrors() const { return count != 0; }

  // Returns the first error with its notes, and the number of further errors.
  llvm::Error summary() const {
    if (count == 0)
      return makeError(place + "a pass failed without saying why");
    std::string text = place + first + (count > 1 ? llvm::formatv(" (and {0} more)", count - 1).str() : "");
    return isUsage ? llvm::make_error<UsageError>(text) : makeError(text);
  }

private:
  mlir::LogicalResult collect(mlir::Diagnostic &diagnostic) {
    std::string text = messageOf(diagnostic);
    if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error) {
      if (said.insert(text).second)
        log << (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Warning ? "warning: " : "note: ")
            << rt::printable(place + text) << "\n";
      return mlir::success();
    }
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      if (std::string words = textOf(note); words.find('\n') == std::string::npos) // not a whole function's text
        text += "; " + words;
    if (count++ == 0) {
      first = text;
      isUsage = isUsageError(diagnostic);
    }
    return mlir::success();
  }

  llvm::raw_ostream &log;
  const std::string place;
  size_t count = 0; // number of errors
  std::string first;
  bool isUsage = false; // of the first error
  llvm::StringSet<> said;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace

llvm::Error PhaseRunner::parseInserted(Phase phase, std::vector<InsertedPasses> &inserted) {
  for (const auto &[at, pipeline] : options.insertedPipelines) {
    if (at != phase)
      continue;
    std::string option = ("--insert " + llvm::Twine(phaseName(phase)) + "=" + pipeline).str(), message;
    llvm::raw_string_ostream stream(message);
    auto manager = std::make_unique<mlir::PassManager>(module->getContext());
    if (mlir::failed(mlir::parsePassPipeline(pipeline, *manager, stream))) {
      // The first line has the message. In the further lines, MLIR draws a caret below the text.
      llvm::StringRef said = llvm::StringRef(message).split('\n').first;
      if (size_t error = said.find("error: "); error != llvm::StringRef::npos)
        said = said.drop_front(error + llvm::StringRef("error: ").size());
      if (said.empty()) // of an option's value: LLVM prints the message itself
        said = "an option of a pass has a value that the pass does not take";
      bool isUnknown = said.contains("does not refer to a registered pass");
      bool isOption = said.split("' does not").first.contains('='); // taken for a pass inside of parentheses
      return usageError(option, said + (isOption    ? " (options of a pass stand in braces, as in my-pass{key=value})"
                                        : isUnknown ? " (is the plug-in that has it loaded?)"
                                                    : ""));
    }
    inserted.emplace_back(std::move(option), std::move(manager));
  }
  return llvm::Error::success();
}

std::string cleave::dumpPath(const CompileOptions &options, Phase phase) {
  llvm::SmallString<256> path(options.dumpPhases);
  llvm::sys::path::append(path, llvm::formatv("{0}-{1}.mlir", static_cast<int>(phase), phaseName(phase)).str());
  return path.str().str();
}

llvm::Error PhaseRunner::dump(Phase phase) {
  if (options.dumpPhases.empty())
    return llvm::Error::success();
  if (llvm::Error error = writeModule(module, dumpPath(options, phase)))
    return makeError("--dump-phases: " + llvm::toString(std::move(error)));
  return llvm::Error::success();
}

llvm::Error PhaseRunner::run(Phase phase, const AddPasses &build, const AddPasses &check) {
  std::vector<InsertedPasses> inserted;
  if (llvm::Error error = parseInserted(phase, inserted))
    return error;
  mlir::PassManager building(module->getContext()), checking(module->getContext());
  build(building);
  if (llvm::Error error = run(building, /*place=*/""))
    return error;
  for (auto &[option, manager] : inserted)
    if (llvm::Error error = run(*manager, option + ": "))
      return error;
  check(checking);
  if (llvm::Error error = run(checking, inserted.empty() ? "" : "after " + inserted.back().first + ": "))
    return error;
  finished = options.stopAfter == phase;
  return dump(phase);
}

llvm::Error PhaseRunner::run(mlir::PassManager &passes, std::string place) {
  DiagnosticCollector errors(module->getContext(), log, std::move(place));
  bool failed = mlir::failed(passes.run(module));
  if (auto refusal = Budget::of(module->getContext()).refusal())
    return makeError(options.model + ": " + *refusal);
  return failed || errors.hasErrors() ? errors.summary() : llvm::Error::success(); // a pass may forget to fail
}

llvm::Error cleave::writeModule(mlir::ModuleOp module, llvm::StringRef path) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out);
  out << "\n";
  if (path == "-") {
    llvm::outs() << text;
    return llvm::Error::success();
  }
  return toError(rt::writeFileAtomically(path.str(), text));
}
