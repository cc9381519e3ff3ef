// Finds the outputs that are decided by the batch size: computed constants have one form up to some number of samples,
// and another form above it.
//
//   Where(Shape(x)[0] > 100, a, b)     the import leaves `b`, with a batch of 4 and with one of 8
//   Floor(Shape(x)[0] / 100) * x       0 * x, with both
//
// The modules of two imports are equal here, although a larger batch would give another module. But the numbers that
// were computed differ. So the import keeps the known operands of all nodes, except of nodes that only move and add
// them. A number that differs between the two imports is taken for an affine function of the number of samples, a line.
// For each node it is tested whether its result is one line, too, over all numbers of samples. If this holds for all
// nodes, from shapes on, all numbers are lines. If it does not hold for a node, the outputs that it reaches are
// decided. The result of an unknown node counts as not a line.
//
//   Shape(x)[0] > 100    4 - 100, 8 - 100: the sign changes at 100
//   Shape(x) == -1       4 + 1, 8 + 1: above zero from one sample on
//
// Rejected: an import with a much larger batch. Every threshold above it would be missed, and so would `n == 100`.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_SIZEDECISIONS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_SIZEDECISIONS_H

#include "compiler/Import/ONNX/Environment.h"
#include "compiler/Import/ONNX/File/FlatGraph.h"
#include "compiler/Import/ONNX/Importer.h"

#include "llvm/ADT/StringSet.h"

namespace cleave::onnx_import {

// A node whose operands are all known numbers, and that does more than move and add them.
struct Decision {
  const onnx::NodeProto *node;  // of the file, or of a graph that the ImportedModel owns
  const onnx::NodeProto *outer; // the node of the model's graph that contains this one in a branch, or the node itself
  std::vector<std::shared_ptr<const Literal>> operands; // null: not given
  std::shared_ptr<const Literal> result;                // null: not known
};

struct Decisions {
  std::shared_ptr<const FlatGraph> graph;
  int64_t batch = 0; // samples of all data ranks; 0: the model has no batch
  std::vector<Decision> all;

  // Records the node if it may decide. `outer` is the node of the model's graph that contains it in a branch, or the
  // node itself.
  void add(const onnx::NodeProto &node, const onnx::NodeProto &outer, Environment &environment);
};

} // namespace cleave::onnx_import

namespace cleave {

// Returns the names of outputs that are decided by the batch size. The two imports must be of one file, and differ only
// in the batch.
llvm::StringSet<> outputsDecidedBySize(const ImportedModel &one, const ImportedModel &other);

} // namespace cleave

#endif
