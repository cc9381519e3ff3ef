// Finds the repeated blocks of a model (a transformer's layers, a residual network's blocks) by structure and not by
// names. It is a plain algorithm on a plain graph.
//
// The list of a model's ops is cut where it is narrow. Between two ops, the *width* is the number of values that are
// made before and used after. If it is one, everything that follows depends on that one value alone. The ops from one
// such cut to the next are an *atom*: it cannot be cut without keeping two values. The example has two transformer
// layers (A: attention, M: the two products of the MLP), and then a chain. Layers are written with capital letters:
//
//   ops     E  +  n A A A A +  n M g M +  n A A A A +  n M g M +  n  H         X a X a X a
//   width    1  1  2 2 2 2 2 1  2 2 2 2 1  2 2 2 2 2 1  2 2 2 2 1  1           1 1 1 1 1
//   atoms   E |+|  attention  |   mlp   |  attention  |   mlp   |n| H          X|a|X|a|X|a
//   blocks       |        block 0        |       block 1        |             |  0 |  1 |  2
//
// 1. Equal atoms (same ops on same types, connected in the same way) that come again and again in the same order are
//    blocks. Of all runs of a repeated pattern, the one with most layers is chosen. Then the ops before and after it
//    are searched. If a run can begin at several atoms of its pattern, blocks begin at an atom with a layer.
// 2. An atom with two layers or more that is not repeated and not the first is a block of its own: a residual block
//    that changes sizes.
// 3. The other ops (embedding, stem, final norm, head, loss) belong to no block.
//
// An atom of many layers is cut again: the value that lives longest is not counted (then two values, then three). The
// new cuts are used if they make at least half of the atom's layers part of a repetition. They are needed because the
// encoder's result crosses between all layers of a decoder, and perhaps a bias by position between those of an encoder.
//
// If less than half of the layers are in blocks (an MLP, a plain CNN), if there is only one block, or if one of four
// layers or more has more than half of all layers, then the blocks are segments of one layer each. They are cut where
// the width is least, and contain all ops.
//
// Rejected: names (`h.3.ln_1`), because exporters change them. Rejected: a search for isomorphic subgraphs in general,
// because it is expensive and finds too much (heads, gates). The list must be in topological order. It should be the
// order in which the model is written down, as exporters trace it.
#ifndef CLEAVE_COMPILER_TRAINING_RESIDUALS_BLOCKS_H
#define CLEAVE_COMPILER_TRAINING_RESIDUALS_BLOCKS_H

#include <cstdint>
#include <vector>

namespace cleave {

struct BlockGraph {
  struct Op {
    uint64_t label = 0;                 // equal for ops that do the same on equal types
    std::vector<int> operands, results; // values that ops of the list make; others belong to the label
    bool isLayer = false;               // has weights and most of the work: a product, a convolution, an embedding
  };
  std::vector<Op> ops; // in topological order
};

struct Blocks {
  std::vector<int> blockOf; // of each op; -1: in no block
  int count = 0;            // blocks are numbered in the order of the list
};

Blocks findBlocks(const BlockGraph &graph);

} // namespace cleave

#endif
