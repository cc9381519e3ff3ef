// The C++ side of the op interfaces: the small value types of their answers.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_CLEAVEINTERFACES_H
#define CLEAVE_DIALECTS_CLEAVE_IR_CLEAVEINTERFACES_H

#include "mlir/Dialect/Shard/Interfaces/ShardingInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

namespace cleave {

// Upstream's ShardingInterface declares its methods on Cleave's ops with these unqualified names.
using llvm::SmallVector;
using mlir::AffineMap;
using mlir::shard::ReductionKind;

// The work of one execution. A multiply-add counts as two flops, a transcendental function as one.
struct OpCost {
  int64_t flops = 0;
  int64_t bytes = 0;
};

enum class ComputeKind { View, Fusible, Composite, Kernel };

// `part` is the bytes of `whole` from `offset` on.
struct ByteView {
  mlir::Value whole, part;
  uint64_t offset;
};

// A kernel of runtime/plan/Kernels.def with its parameters by name. A scalar is a list of one number. Data types are
// kept as MLIR types under their parameter's name, and encoded when the plan is written.
struct KernelSpec {
  llvm::StringRef name;
  llvm::SmallVector<std::pair<llvm::StringRef, llvm::SmallVector<int64_t>>> params;
  llvm::SmallVector<std::pair<llvm::StringRef, mlir::Type>> types;
};

// Returns one flop for each result element; every operand is read once, and every result is written once.
OpCost elementwiseCost(mlir::Operation *op);
// True if the op is fusible or a view, and none of its loops reduces.
bool computesElementsAlone(mlir::Operation *op);
// Returns the bytes of a statically shaped tensor type (i1 counts as one byte).
int64_t byteSize(mlir::Type type);

} // namespace cleave

#include "dialects/Cleave/IR/CleaveInterfaces.h.inc"

namespace cleave {

// Returns the byte views that `op` states; none if it is not an op that computes.
llvm::SmallVector<ByteView> byteViews(mlir::Operation *op);

} // namespace cleave

#endif
