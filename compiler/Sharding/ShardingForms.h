// The forms that shardings are brought to.
#ifndef CLEAVE_COMPILER_SHARDING_SHARDINGFORMS_H
#define CLEAVE_COMPILER_SHARDING_SHARDINGFORMS_H

#include "dialects/Cleave/IR/Cleave.h"

namespace cleave {

// Returns `sharding` without partial axes and owners: the form that a non-linear use needs.
inline ShardingAttr resolved(ShardingAttr sharding) { return ShardingAttr::get(sharding.getDims()); }

// True if an axis splits a dimension.
inline bool isSplit(ShardingAttr sharding) {
  return llvm::any_of(llvm::seq<int64_t>(0, sharding.getDims().size()),
                      [&](int64_t dim) { return !sharding.getDimAxes(dim).empty(); });
}

} // namespace cleave

#endif
