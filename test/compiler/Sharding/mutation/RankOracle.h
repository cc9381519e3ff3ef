// An independent judge of sharded programs: executes a module on all ranks of its mesh, with symbols for numbers.
//
// Each tensor that a rank has is an expression: an input, a state as it began, an op on what the rank has, a collective
// on what ranks of a group have. Two programs are equal where all states and outputs end as equal expressions on every
// rank. The oracle knows of collectives what they do to data, of broadcasts, reshapes, slices and concatenations where
// they copy, and of all other ops nothing but that they are functions.
// It shares no code with verify-sharded, which knows no ranks and no expressions. Of a small program each element is an
// expression of its own (Elements.h), so that what repeats itself along any dimension is seen; of a large one each tensor.
//
// Simplifications, each a reason why a changed program does no harm:
//   the maximum of equal expressions is that expression
//   copies of one expression, one after the other, are the same whichever of them a rank takes; so are what element-wise
//   ops make of them; a broadcast is copies along each dimension that it adds
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
  // The instances of slices that cut equal parts of what is equal on all ranks, as of a table that is repeated along the
  // dimension. Such a slice is a local op: no rank sees in it that there are others.
  std::set<int64_t> localSlices;
};

// Nothing where a program cannot be executed, with the reason.
std::optional<Execution> execute(mlir::ModuleOp module, std::string *why);

} // namespace cleave::test

#endif
