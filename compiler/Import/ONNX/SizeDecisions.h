// Which outputs are decided by the batch's size: computed constants that are one thing up to some number of samples, and
// another thing above it.
//
//   Where(Shape(x)[0] > 100, a, b)     the import leaves `b`, with a batch of 4 and with one of 8
//   Floor(Shape(x)[0] / 100) * x       0 * x, with both
//
// So the two modules do not differ, and other batches would. The numbers that were computed do: the import keeps those
// of all nodes, but of nodes that only move and add them. A number with other values in the two imports is taken for a
// line over the number of samples, and the node is asked whether its result is one line, too, for every number of
// samples. So all numbers are lines, from shapes on, or an output is decided. A node that is not known is none.
//
//   Shape(x)[0] > 100    4 - 100, 8 - 100: the sign turns at 100
//   Shape(x) == -1       4 + 1, 8 + 1: above zero from one sample on
//
// Rejected: an import with a much larger batch. Every threshold above it would pass, and so would `n == 100`.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_SIZEDECISIONS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_SIZEDECISIONS_H

#include "compiler/Import/ONNX/Environment.h"
#include "compiler/Import/ONNX/File/FlatGraph.h"
#include "compiler/Import/ONNX/Importer.h"

#include "llvm/ADT/StringSet.h"

namespace cleave::onnx_import {

// A node that takes numbers which are all known, and does more than moving and adding them.
struct Decision {
  std::string op;
  std::string output;                                   // the node's first
  std::vector<std::string> reached;                     // outputs of the node of the graph in whose branch it is
  std::vector<std::shared_ptr<const Literal>> operands; // null: not given
  std::shared_ptr<const Literal> result;                // null: not known
};

struct Decisions {
  std::shared_ptr<const FlatGraph> graph;
  int64_t batch = 0; // samples in all; 0: the model has no batch
  std::vector<Decision> all;

  // Keeps the node where it is one that decides. `outer` is the node of the graph in whose branch it is, or itself.
  void add(const onnx::NodeProto &node, const onnx::NodeProto &outer, Environment &environment);
};

} // namespace cleave::onnx_import

namespace cleave {

// Names of the graph. The two are imports of one file that differ in the batch alone.
llvm::StringSet<> outputsDecidedBySize(const ImportedModel &one, const ImportedModel &other);

} // namespace cleave

#endif
