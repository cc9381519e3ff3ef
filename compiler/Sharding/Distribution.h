// What the ranks have of a value, as it is found from the program itself (DistributionRules.h), not as a pass says it is.
//
// Along each axis of the mesh a value is
//
//   whole     all ranks have the same
//   split     each rank has its part of one dimension
//   partial   each rank has a term; the value is their sum (or maximum, or minimum)
//   owned     the rank at coordinate 0 has it; what others have means nothing
//   varying   each rank has its own, which is no part of anything (a coordinate)
//
// These are properties of the program's text. `x` split along dimension 0 over dp says: there is one whole, and rank r
// has its r-th part. An op on parts makes parts of what it would make of wholes, as far as its loops say so; that is
// what is checked. A dimension is *free* where all its elements are equal (a splat, a broadcast): it may be taken as
// whole, or as split in any way. Where it repeats itself (Repeats.h) it may be split so that parts are repetitions.
//
// ShardingAttr says the same of declarations. It is not used here: its axes are names, and nothing is free.
#ifndef CLEAVE_COMPILER_SHARDING_DISTRIBUTION_H
#define CLEAVE_COMPILER_SHARDING_DISTRIBUTION_H

#include "compiler/Sharding/Repeats.h"
#include "dialects/Cleave/IR/Cleave.h"

namespace cleave {

enum class Along { Whole, Split, Partial, Owned, Varying };

// One dimension: cut into `blocks` equal blocks, of each of which a rank has its part over `axes` (numbers of the mesh's
// axes, slowest first). Not cut where there are no axes. Of what is cut, nothing is known to repeat.
struct DimSplit {
  int64_t blocks = 1;
  llvm::SmallVector<unsigned, 2> axes;
  bool isFree = false;
  Repeats repeats = {}; // where it is neither free nor cut

  bool isCut() const { return !axes.empty(); }
  bool operator==(const DimSplit &other) const {
    return blocks == other.blocks && axes == other.axes && isFree == other.isFree && repeats == other.repeats;
  }
};

struct Distribution {
  llvm::SmallVector<DimSplit, 2> dims;
  llvm::SmallVector<Along, 4> along; // of each axis of the mesh
  ReduceKind kind = ReduceKind::Sum; // of partial axes
  bool isZero = false;               // of a sum it is a part with any terms

  static Distribution whole(MeshAttr mesh, int64_t rank);
  static Distribution of(ShardingAttr sharding, MeshAttr mesh);

  // Makes dimension `dim` split so.
  void cut(unsigned dim, DimSplit split);
  // The dimension that the axis splits, or -1.
  int64_t dimOf(unsigned axis) const;
  bool has(Along what) const { return llvm::is_contained(along, what); }
  bool operator==(const Distribution &other) const;

  // May a value of this shape (a rank's) that is so be used as `wanted`? The same, or one that repeats itself where that
  // is cut, zero where that is partial, whole where that has an owner.
  bool fits(const Distribution &wanted, llvm::ArrayRef<int64_t> shape) const;
};

// "dp" or "dp and fsdp".
std::string axesText(llvm::ArrayRef<unsigned> axes, MeshAttr mesh);
// "whole", "partial over dp (sum)", "split over fsdp along dimension 0".
std::string distributionText(const Distribution &found, MeshAttr mesh);
// What leads from one to the other: "an all_reduce over dp (sum) is missing".
std::string mendText(const Distribution &found, const Distribution &wanted, MeshAttr mesh);

} // namespace cleave

#endif
