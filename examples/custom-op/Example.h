// The `example` dialect: include this to build or match its op.
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include "dialects/Cleave/IR/Cleave.h"

namespace example {
// Upstream's ShardingInterface declares its methods with these unqualified names.
using llvm::SmallVector;
using mlir::AffineMap;
using mlir::shard::ReductionKind;
} // namespace example

#include "ExampleDialect.h.inc"

#define GET_OP_CLASSES
#include "ExampleOps.h.inc"

#endif
