// Chooses the forward values that are kept for the backward pass. The others are computed again. It is a plain
// algorithm on a plain graph.
//
// The idea is that of PyTorch's min-cut rematerialization partitioner (functorch, He and Yu 2023). Every value has a
// cost: the bytes to keep it. An op that may not run twice (a matrix product) is a source of flow. A value that the
// backward pass uses is a sink. Flow runs from operands to results. A minimum cut is the cheapest set of values from
// which ops that may run twice can compute everything that the backward pass uses:
//
//   x = matmul(...) 4 kB    m = compare(x, 0) 1 kB    r = relu(x) 4 kB      the backward uses m only: keep m
//                                                                            it uses m and r: keep x, compute both
//                                                                            again
//
// Free values (inputs, states, constants) carry no flow, because the backward pass has them anyway. If two cuts cost
// the same, the one nearer to the backward pass is better, because fewer ops run twice. So a value costs 0.1 % more for
// each step away from the backward pass, up to 5 %. Rejected: keeping every value that a gradient rule mentions (as
// eager frameworks do), which keeps x and r and m.
#ifndef CLEAVE_COMPILER_TRAINING_RESIDUALS_RESIDUALCHOICE_H
#define CLEAVE_COMPILER_TRAINING_RESIDUALS_RESIDUALCHOICE_H

#include <cstdint>
#include <vector>

namespace cleave {

struct ResidualGraph {
  struct Value {
    int64_t bytes = 0;
    bool free = false;     // the backward pass has it anyway
    bool needed = false;   // an operand of an op of the backward pass
    bool anchored = false; // must not be computed again, though its op may run twice: a value that leaves a block
  };
  struct Op {
    std::vector<int> operands, results; // indices of values
    bool recomputable = false;
  };
  std::vector<Value> values;
  std::vector<Op> ops; // in topological order
};

// Returns the indices of the values to keep, ascending.
std::vector<int> chooseResiduals(const ResidualGraph &graph);

} // namespace cleave

#endif
