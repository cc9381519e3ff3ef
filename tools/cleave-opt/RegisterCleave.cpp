#include "tools/cleave-opt/Register.h"

#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/Transforms/Passes.h"

void cleave::registerCleave(mlir::DialectRegistry &registry) {
  registry.insert<CleaveDialect>();
  registerCleaveTransformsPasses();
}
