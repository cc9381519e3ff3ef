// cleave-opt: runs passes over textual IR. `--load-pass-plugin=mine.so` loads a plug-in.
#include "compiler/Support/Error.h"
#include "tools/cleave-opt/Plugins.h"
#include "tools/cleave-opt/Register.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"

static int refuse(llvm::Error error) {
  llvm::errs() << "cleave-opt: error: " << llvm::toString(std::move(error)) << "\n";
  return EXIT_FAILURE;
}

static constexpr const char *kPlugin = "; for a pass of a plug-in, give --load-pass-plugin=FILE";

static llvm::Error checkPipeline(llvm::StringRef pipeline) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (mlir::succeeded(mlir::parsePassPipeline(pipeline, stream)))
    return llvm::Error::success();
  llvm::StringRef said = llvm::StringRef(text).split('\n').first.rsplit("error: ").second;
  if (!said.contains("does not refer to a registered pass"))
    return llvm::Error::success(); // MLIR says it again, with its place
  return cleave::makeError("--pass-pipeline: " + said + kPlugin);
}

// MLIR's own messages do not say that a plug-in may have the pass.
static llvm::Error checkOptions(llvm::ArrayRef<char *> arguments) {
  const auto &known = llvm::cl::getRegisteredOptions();
  for (llvm::StringRef text : arguments.drop_front().drop_back()) { // the program, and the null pointer at the end
    llvm::StringRef name = text.ltrim('-').split('=').first;
    if (text == "--")
      break;
    bool isOutput = name == "o"; // declared later, in parseCLIOptions()
    if (text.starts_with("-") && !name.empty() && !isOutput && !known.contains(name))
      return cleave::makeError("unknown option or pass '" + text.split('=').first + "'" + kPlugin +
                               "; see cleave-opt --help");
    if (name == "pass-pipeline")
      if (llvm::Error error = checkPipeline(text.split('=').second))
        return error;
  }
  return llvm::Error::success();
}

// MLIR's own message has neither the program's name nor "error".
static llvm::Error checkInput(llvm::StringRef path) {
  if (path == "-")
    return llvm::Error::success();
  if (std::error_code error = llvm::sys::fs::access(path, llvm::sys::fs::AccessMode::Exist))
    return cleave::makeError(path + ": cannot be read: " + error.message());
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  cleave::registerUpstream(registry);
  cleave::registerCleave(registry);
  auto arguments = cleave::takePlugins({argv, argv + argc}, registry);
  if (!arguments)
    return refuse(arguments.takeError());
  int count = static_cast<int>(arguments->size()) - 1;
  std::string header = mlir::registerCLIOptions("Cleave optimizer driver\n", registry);
  if (llvm::Error error = checkOptions(*arguments))
    return refuse(std::move(error));
  auto [input, output] = mlir::parseCLIOptions(count, arguments->data(), header);
  if (llvm::Error error = checkInput(input))
    return refuse(std::move(error));
  return mlir::asMainReturnCode(mlir::MlirOptMain(count, arguments->data(), input, output, registry));
}
