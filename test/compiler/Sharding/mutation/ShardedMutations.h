// Small mistakes of a sharded program: a pass forgets, doubles or confuses a collective.
#ifndef CLEAVE_TEST_COMPILER_SHARDING_MUTATION_SHARDEDMUTATIONS_H
#define CLEAVE_TEST_COMPILER_SHARDING_MUTATION_SHARDEDMUTATIONS_H

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cleave::test {

struct ShardedMutation {
  std::string kind, what;                     // "axes", "shard.all_reduce 3: over [1]"
  std::function<bool(mlir::ModuleOp)> apply;  // changes a clone of the listed module; false: nothing changed
  std::optional<int64_t> slice = {};          // the instance of a slice that the mutant cuts along another dimension
};

// All mutations of all collectives, slices, positions of parts, and declarations of the module.
std::vector<ShardedMutation> listMutations(mlir::ModuleOp module);

} // namespace cleave::test

#endif
