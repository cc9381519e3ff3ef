// cleave-opt: runs passes over textual IR. `--load-pass-plugin=mine.so` and `--load-dialect-plugin=mine.so` load
// plug-ins.
#include "tools/cleave-opt/Register.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  cleave::registerUpstream(registry);
  cleave::registerCleave(registry);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Cleave optimizer driver\n", registry));
}
