// cleave-opt: runs passes over textual IR. `--load-pass-plugin=mine.so` loads a plug-in.
#include "tools/cleave-opt/Plugins.h"
#include "tools/cleave-opt/Register.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  cleave::registerUpstream(registry);
  cleave::registerCleave(registry);
  auto arguments = cleave::takePlugins({argv, argv + argc}, registry);
  if (!arguments) {
    llvm::errs() << "cleave-opt: error: " << llvm::toString(arguments.takeError()) << "\n";
    return EXIT_FAILURE;
  }
  return mlir::asMainReturnCode(mlir::MlirOptMain(static_cast<int>(arguments->size()) - 1, arguments->data(),
                                                  "Cleave optimizer driver\n", registry));
}
