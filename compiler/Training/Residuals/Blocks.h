// The repeated blocks of a model (a transformer's layers, a residual network's blocks), found by structure and not by
// names: a plain algorithm on a plain graph.
//
// The list of a model's ops is cut where it is narrow. Between two ops the *width* is the number of values that are
// made before and used after; where it is one, everything that follows depends on that one value alone. The stretch
// from one such cut to the next is an *atom*: it cannot be taken apart without keeping two values. Below, a layer is
// written with a capital letter; a transformer layer (A: attention, M: the two products of its MLP), then a chain:
//
//   ops     E  +  n A A A A +  n M g M +  n A A A A +  n M g M +  n  H         X a X a X a
//   width    1  1  2 2 2 2 2 1  2 2 2 2 1  2 2 2 2 2 1  2 2 2 2 1  1           1 1 1 1 1
//   atoms   E |+|  attention  |   mlp   |  attention  |   mlp   |n| H          X|a|X|a|X|a
//   blocks       |        block 0        |       block 1        |             |  0 |  1 |  2
//
// 1. Equal atoms (same ops on same types, wired in the same way) that come again and again in the same order are
//    blocks: of all runs of a repeated pattern the one that holds most layers is taken, then the rest is searched.
//    Where a run can begin at several atoms of its pattern, blocks begin at an atom with a layer.
// 2. An atom with two layers or more that is not repeated and not the first is a block of its own: a residual
//    block that changes sizes.
// 3. What is left (embedding, stem, final norm, head, loss) belongs to no block.
//
// An atom of many layers is cut again without counting the value that lives longest (two, three), if that makes most of
// them part of a repetition: between the layers of a decoder the encoder's result crosses too, and between those of an
// encoder perhaps a bias by position. If less than half of the layers are in blocks (an MLP, a plain CNN), the blocks
// are segments of one layer each, cut where the width is least, all ops being in one.
//
// Rejected: names (`h.3.ln_1`), which exporters change; asking for isomorphic subgraphs in general, which is expensive
// and finds too much (heads, gates). The order of the list must be topological and is taken as the order in which the
// model is written down: what exporters trace.
#ifndef CLEAVE_COMPILER_TRAINING_RESIDUALS_BLOCKS_H
#define CLEAVE_COMPILER_TRAINING_RESIDUALS_BLOCKS_H

#include <cstdint>
#include <vector>

namespace cleave {

struct BlockGraph {
  struct Op {
    uint64_t label = 0;                 // equal for ops that do the same on equal types
    std::vector<int> operands, results; // numbers of values that ops of the list make; others belong to the label
    bool isLayer = false;               // has weights and does the work: a product, a convolution, an embedding
  };
  std::vector<Op> ops; // in topological order
};

struct Blocks {
  std::vector<int> blockOf; // of each op; -1: in none
  int count = 0;            // blocks are numbered in the order of the list
};

Blocks findBlocks(const BlockGraph &graph);

} // namespace cleave

#endif
