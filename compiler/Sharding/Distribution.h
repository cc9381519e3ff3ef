// How a value is distributed over the ranks. A distribution is derived from the program itself (DistributionRules.h),
// not from the statements of a pass.
//
// Along each axis of the mesh a value is
//
//   whole     all ranks have the same
//   split     each rank has its part of one dimension
//   partial   each rank has a term; the value is their sum (or maximum, or minimum)
//   owned     the rank at coordinate 0 has it; the bytes of the others have no meaning
//   varying   each rank has its own, which is no part of anything (a coordinate)
//
// These are properties of the program's text. `x` split along dimension 0 over dp means: there is one whole, and rank r
// has its r-th part. An op on parts makes the parts of the result that it would make of wholes, as far as its loops say
// so. This is what the check proves. A dimension is *free* if all its elements are equal (a splat, a broadcast): it may
// be taken as whole, or as split in any way. If it repeats itself (Repeats.h), it may be split so that parts are
// repetitions.
//
// ShardingAttr says the same about declarations. It is not used here, because its axes are names, and it has no free
// dimensions.
#ifndef CLEAVE_COMPILER_SHARDING_DISTRIBUTION_H
#define CLEAVE_COMPILER_SHARDING_DISTRIBUTION_H

#include "compiler/Sharding/Repeats.h"
#include "dialects/Cleave/IR/Cleave.h"

namespace cleave {

enum class AxisDistribution { Whole, Split, Partial, Owned, Varying };

// The split of one dimension: it is cut into `blocks` equal blocks, and of each block a rank has its part over `axes`
// (numbers of the mesh's axes, slowest first). Without axes it is not cut. A cut dimension is not known to repeat
// itself.
struct DimSplit {
  int64_t blocks = 1;
  llvm::SmallVector<unsigned, 2> axes;
  bool isFree = false;
  Repeats repeats = {}; // only if the dimension is neither free nor cut

  bool isCut() const { return !axes.empty(); }
  bool operator==(const DimSplit &other) const {
    return blocks == other.blocks && axes == other.axes && isFree == other.isFree && repeats == other.repeats;
  }
};

struct Distribution {
  llvm::SmallVector<DimSplit, 2> dims;
  llvm::SmallVector<AxisDistribution, 4> along; // for each axis of the mesh
  ReduceKind kind = ReduceKind::Sum; // of all partial axes
  bool isZero = false;               // then it can be added to a sum of any terms

  static Distribution whole(MeshAttr mesh, int64_t rank);
  static Distribution of(ShardingAttr sharding, MeshAttr mesh);

  // Splits dimension `dim` as `split` says.
  void cut(unsigned dim, DimSplit split);
  // Returns the dimension that the axis splits, or -1.
  int64_t dimOf(unsigned axis) const;
  bool has(AxisDistribution what) const { return llvm::is_contained(along, what); }
  bool operator==(const Distribution &other) const;

  // True if a value with this distribution may be used as `wanted`. `shape` is the shape of a rank's part. The two must
  // be the same, except that a repeating dimension may be cut, a zero may be partial, and a whole value may have an
  // owner.
  bool fits(const Distribution &wanted, llvm::ArrayRef<int64_t> shape) const;
};

// Returns a text like "dp" or "dp and fsdp".
std::string axesText(llvm::ArrayRef<unsigned> axes, MeshAttr mesh);
// Returns a text like "whole", "partial over dp (sum)", "split over fsdp along dimension 0".
std::string distributionText(const Distribution &found, MeshAttr mesh);
// Returns what leads from one to the other, such as "an all_reduce over dp (sum) is missing".
std::string mendText(const Distribution &found, const Distribution &wanted, MeshAttr mesh);

} // namespace cleave

#endif
