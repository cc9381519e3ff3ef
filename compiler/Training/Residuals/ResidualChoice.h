// Which forward values the backward pass keeps, and which it computes again: a plain algorithm on a plain graph.
//
// The idea is that of PyTorch's min-cut rematerialization partitioner (functorch, He and Yu 2023). Give every value the
// cost of keeping it; an op that may not run twice (a matrix product) is a source of flow, a value that the backward
// pass uses is a sink; flow runs from operands to results. A minimum cut is the cheapest set of values from which all
// that the backward pass uses can be computed by ops that may run twice:
//
//   x = matmul(...) 4 kB    m = compare(x, 0) 1 kB    r = relu(x) 4 kB      the backward uses m only: keep m
//                                                                            it uses m and r: keep x, compute both
//                                                                            again
//
// Free values (inputs, states, constants) carry no flow: they are there anyway. Where two cuts cost the same, the one
// nearer to the backward pass is better, since less runs twice: a value costs 0.1 % more for each step away from it, up
// to 5 %. Rejected: keeping what each gradient rule mentions (as eager frameworks do), which keeps x and r and m.
#ifndef CLEAVE_COMPILER_TRAINING_RESIDUALS_RESIDUALCHOICE_H
#define CLEAVE_COMPILER_TRAINING_RESIDUALS_RESIDUALCHOICE_H

#include <cstdint>
#include <vector>

namespace cleave {

struct ResidualGraph {
  struct Value {
    int64_t bytes = 0;
    bool free = false;     // there in the backward pass anyway
    bool needed = false;   // an operand of an op of the backward pass
    bool anchored = false; // must not be computed again, though its op may run twice: what leaves a block
  };
  struct Op {
    std::vector<int> operands, results; // indices of values
    bool recomputable = false;
  };
  std::vector<Value> values;
  std::vector<Op> ops; // in topological order
};

// Indices of the values to keep, ascending.
std::vector<int> chooseResiduals(const ResidualGraph &graph);

} // namespace cleave

#endif
