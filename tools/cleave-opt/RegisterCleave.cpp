#include "tools/cleave-opt/Register.h"

#include "dialects/Cleave/IR/Cleave.h"

void cleave::registerCleave(mlir::DialectRegistry &registry) { registry.insert<CleaveDialect>(); }
