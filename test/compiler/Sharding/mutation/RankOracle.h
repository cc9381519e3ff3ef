// An independent judge of sharded programs. It executes a module on all ranks of its mesh, with symbols for numbers.
//
// Each tensor of a rank is an expression: an input, the initial value of a state, an op on the rank's tensors, or a
// collective on tensors of the ranks of a group. Two programs are equal if all states and outputs end as equal
// expressions on every rank. The oracle knows the effect of collectives on data, and the copies that broadcasts,
// reshapes, slices and concatenations make. All other ops are unknown functions. It shares no code with verify-sharded,
// which knows no ranks and no expressions. In a small program each element is an expression (Elements.h), so that
// repetitions along any dimension are visible. In a large program each tensor is an expression.
//
// Simplifications. Each one is a reason why a changed program does no harm:
//   the maximum of equal expressions is that expression
//   if one expression is repeated, all copies are the same, and so are the results of element-wise ops on them; a
//   broadcast makes copies along each dimension that it adds
//   parts of one expression, gathered in order along their dimension, are that expression
#ifndef CLEAVE_TEST_COMPILER_SHARDING_MUTATION_RANKORACLE_H
#define CLEAVE_TEST_COMPILER_SHARDING_MUTATION_RANKORACLE_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace cleave::test {

// "state NAME on rank 1" or "output NAME on rank 0" -> expression.
using Outcome = std::map<std::string, uint64_t>;

struct Execution {
  Outcome outcome;
  // The instances of slices that cut equal parts of a value that is equal on all ranks, as of a table that is repeated
  // along the dimension. Such a slice is a local op: its result does not show that there are other ranks.
  std::set<int64_t> localSlices;
};

// Returns no value if a program cannot be executed, and the reason in `why`.
std::optional<Execution> execute(mlir::ModuleOp module, std::string *why);

} // namespace cleave::test

#endif
