// The rules of the proof: they derive the distributions of an op's results from those of its operands (Distribution.h).
// The rules use only what ops say about themselves: loops and indexing maps (ShardingInterface), whether they are
// linear (Linearity.h), whether their result has their operand's bytes (getByteViews), and whether elements depend on
// their position (PositionalOpInterface). Collectives are the ops of the shard dialect.
//
// For an op with loops, and each axis a of the mesh:
//   a splits a loop      Every operand that walks the loop is split there in the same way. An operand that does not
//                        walk it is whole over a. A parallel loop splits every result. A loop that sums (or takes the
//                        maximum) makes the results partial.
//   an operand partial   The op is linear, and all floating-point operands are terms, or zero, or summed over a by the op.
//   an operand owned     The others are owned or whole; the results are owned.
//   otherwise            The results are whole over a.
//
// If ranks have one element of a dimension, a reshape does not say which dimension of its result is the split one:
// tensor<1x16> of 2 x 16 reshaped to tensor<1x1x16> may be a part of 2x1x16, or of 1x2x16. These are different models:
// statistics over the first are those of all ranks, statistics over the second are each rank's own. So `partition`
// notes the type of the whole (kWholeAttr). If another pass has made a reshape without the note, the value has several
// possible distributions. Those that its uses allow remain, and each is true for some model with these parts.
#ifndef CLEAVE_COMPILER_SHARDING_DISTRIBUTIONRULES_H
#define CLEAVE_COMPILER_SHARDING_DISTRIBUTIONRULES_H

#include "compiler/Sharding/Distribution.h"
#include "dialects/Cleave/IR/Attributes.h"

namespace cleave {

// True if the op has one operand and one result, and the result is all bytes of the operand, in order.
bool isSameBytes(mlir::Operation *op);

// All possible distributions of a value. The list is empty if an error was reported already.
using Distributions = llvm::SmallVector<Distribution, 1>;

// Returns the distribution of a constant. It is free if the constant is a splat.
Distribution distributionOf(mlir::DenseElementsAttr constant, MeshAttr mesh);

// Why an operand is not accepted.
struct Refusal {
  int64_t operand = -1;
  std::string reason; // "is not linear", "has a loop over ..."
  std::optional<Distribution> wanted;
  explicit operator bool() const { return !reason.empty(); }
};

// Returns the distribution of a value of which each rank has `part`, beginning at `origin` (RankOrigins.h). Empty if it
// cannot be found.
using FindOrigin = llvm::function_ref<std::optional<Distribution>(mlir::Value origin, mlir::RankedTensorType part)>;

// Returns the possible distributions of each result of an op that computes. `operands` has those of each operand, and
// no list is empty.
llvm::SmallVector<Distributions> applyOp(mlir::Operation *op, llvm::ArrayRef<Distributions> operands, MeshAttr mesh,
                                         FindOrigin findOrigin, Refusal &refusal);
// Returns the possible distributions of the result of an op of the shard dialect.
Distributions applyCollective(mlir::Operation *op, const Distributions &operand, MeshAttr mesh, Refusal &refusal);

} // namespace cleave

#endif
