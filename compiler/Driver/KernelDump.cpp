#include "compiler/Driver/KernelDump.h"

#include "compiler/Codegen/Loops/IsolatedKernels.h"
#include "compiler/Driver/Files/OutputPath.h"
#include "compiler/Support/Error.h"
#include "compiler/Support/StatusError.h"
#include "compiler/Support/Usage.h"
#include "runtime/base/AtomicFile.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace cleave;

llvm::Error cleave::checkKernelDump(const CompileOptions &options, llvm::StringRef output) {
  const std::string &directory = options.dumpKernels;
  if (directory.empty())
    return llvm::Error::success();
  if (options.emit == Emit::Plan || options.emit == Emit::Mlir || options.stopAfter < Phase::Emit)
    return usageError("--dump", "it shows the code of kernels, and none is generated for a plan or MLIR; give --emit "
                                "executable, object or shared, or --dump-phases DIR for the phases before");
  return makeDumpDirectory("--dump", directory, output);
}

namespace {

class Dump {
public:
  Dump(llvm::StringRef directory, const Target &target, const KernelCode &code)
      : directory(directory), target(target), code(code) {}

  void add(const IsolatedKernel &kernel);
  void finish();
  llvm::Error write(llvm::ArrayRef<ReadFile> read) const;

private:
  std::string path(llvm::StringRef name) const {
    llvm::SmallString<256> full(directory);
    llvm::sys::path::append(full, name);
    return full.str().str();
  }

  llvm::StringRef directory;
  const Target &target;
  const KernelCode &code;
  llvm::json::Array entries;
  std::vector<std::pair<std::string, std::string>> files; // path, text
};

} // namespace

void Dump::add(const IsolatedKernel &kernel) {
  std::string mlir = kernel.label + ".mlir", text = kernel.label + "." + target.listingSuffix().str();
  const KernelListing &listing = code.listings.at(kernel.label);
  llvm::json::Object entry{{"kernel", kernel.label}, {"mlir", mlir}, {"code", text}};
  for (const auto &[what, number] : listing.resources)
    entry[what] = number;
  entries.push_back(std::move(entry));
  files.emplace_back(path(mlir), kernel.text);
  files.emplace_back(path(text), listing.code);
}

void Dump::finish() {
  llvm::json::Object index{{"target", target.getName()}, {"kernels", std::move(entries)}};
  if (!code.listingNote.empty())
    index["note"] = code.listingNote;
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(index)));
  files.emplace_back(path("index.json"), text);
}

llvm::Error Dump::write(llvm::ArrayRef<ReadFile> read) const {
  std::vector<std::string> written;
  for (const auto &[name, text] : files)
    written.push_back(name);
  if (llvm::Error error = checkInputsAreKept("--dump", written, read))
    return error;
  for (const auto &[name, text] : files)
    if (rt::Status status = rt::writeFileAtomically(name, text); !status.isOk())
      return toError(status);
  return llvm::Error::success();
}

llvm::Error cleave::writeKernelDump(llvm::StringRef directory, mlir::ModuleOp kernels, const Target &target,
                                    const KernelCode &code, llvm::ArrayRef<ReadFile> read) {
  Dump dump(directory, target, code);
  for (const IsolatedKernel &kernel : isolateKernels(kernels))
    dump.add(kernel);
  dump.finish();
  return dump.write(read);
}
