// What one op makes of the distributions of its operands (Distribution.h). Ops are asked for what they say of
// themselves, and nothing else: loops and indexing maps (ShardingInterface), whether they are linear (Linearity.h),
// whether their result is their operand's bytes (getByteViews), whether elements depend on where they stand
// (PositionalOpInterface). Collectives are the ops of the shard dialect.
//
// For an op with loops, and each axis a of the mesh:
//   a splits a loop      Every operand that walks the loop is split there, alike; what does not walk it is whole over a. A
//                        parallel loop splits every result. A loop that sums (or takes the maximum) makes the results
//                        partial.
//   an operand partial   The op is linear, and all floating-point operands are terms, or zero, or summed over a by the op.
//   an operand owned     The others are owned or whole; the results are owned.
//   otherwise            The results are whole over a.
//
// A reshape does not say which dimension of its result is the one that was split, where ranks have one element of a
// dimension: tensor<1x16> of 2 x 16 reshaped to tensor<1x1x16> may be a part of 2x1x16, or of 1x2x16. These are different
// models: statistics over the one are of all ranks, over the other of each rank alone. So `partition` notes the whole's
// type (kWholeAttr). Where another pass has made a reshape, without the note, a value has several distributions, of which
// those stay that its uses allow; each is true of some model of which these are the parts.
#ifndef CLEAVE_COMPILER_SHARDING_DISTRIBUTIONRULES_H
#define CLEAVE_COMPILER_SHARDING_DISTRIBUTIONRULES_H

#include "compiler/Sharding/Distribution.h"
#include "dialects/Cleave/IR/Attributes.h"

namespace cleave {

// Is the op's one result all of the bytes of its one operand, in order?
bool isSameBytes(mlir::Operation *op);

// All that a value may be; none where an error was told already.
using Distributions = llvm::SmallVector<Distribution, 1>;

// Of a constant: free where it is a splat.
Distribution distributionOf(mlir::DenseElementsAttr constant, MeshAttr mesh);

// What is wrong with an operand.
struct Refusal {
  int64_t operand = -1;
  std::string reason; // "is not linear", "has a loop over ..."
  std::optional<Distribution> wanted;
  explicit operator bool() const { return !reason.empty(); }
};

// How the part of the rank at coordinates `at` is placed in the result: see RankOrigins.h. Empty where it cannot be told.
using FindOrigin = llvm::function_ref<std::optional<Distribution>(mlir::Value origin, mlir::RankedTensorType part)>;

// The results of an op that computes, one list for each. `operands` are its operands', none of them empty.
llvm::SmallVector<Distributions> applyOp(mlir::Operation *op, llvm::ArrayRef<Distributions> operands, MeshAttr mesh,
                                         FindOrigin findOrigin, Refusal &refusal);
// The result of an op of the shard dialect.
Distributions applyCollective(mlir::Operation *op, const Distributions &operand, MeshAttr mesh, Refusal &refusal);

} // namespace cleave

#endif
