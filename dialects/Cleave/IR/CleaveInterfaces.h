// C++ side of the op interfaces: the small value types they answer with.
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

// Upstream's ShardingInterface declares its methods on our ops with these unqualified names.
using llvm::SmallVector;
using mlir::AffineMap;
using mlir::shard::ReductionKind;

// Work of one execution. Flops count a multiply-add as two; transcendental functions count as one.
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

// A kernel of runtime/plan/Kernels.def with its parameters by name. Scalars are lists of one; data types are kept as
// MLIR types under their parameter's name and encoded when the plan is written.
struct KernelSpec {
  llvm::StringRef name;
  llvm::SmallVector<std::pair<llvm::StringRef, llvm::SmallVector<int64_t>>> params;
  llvm::SmallVector<std::pair<llvm::StringRef, mlir::Type>> types;
};

// One flop per result element; every operand read and every result written once.
OpCost elementwiseCost(mlir::Operation *op);
// Whether the op is fusible or a view, and none of its loops reduces.
bool computesElementsAlone(mlir::Operation *op);
// Bytes of a statically shaped tensor type (i1 counts one byte).
int64_t byteSize(mlir::Type type);

} // namespace cleave

#include "dialects/Cleave/IR/CleaveInterfaces.h.inc"

namespace cleave {

// What `op` says about bytes; nothing where it is no op that computes.
llvm::SmallVector<ByteView> byteViews(mlir::Operation *op);

} // namespace cleave

#endif
