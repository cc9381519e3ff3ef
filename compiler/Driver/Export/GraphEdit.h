// Adds nodes to an ONNX graph, with names that it does not have yet, and removes elements of its lists.
#ifndef CLEAVE_COMPILER_DRIVER_EXPORT_GRAPHEDIT_H
#define CLEAVE_COMPILER_DRIVER_EXPORT_GRAPHEDIT_H

#include "compiler/Import/ONNX/File/Proto.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace cleave {

class GraphEdit {
public:
  explicit GraphEdit(onnx::GraphProto &graph);

  // Returns `name`, with underscores appended if the graph already has it.
  std::string newName(std::string name);

  // Appends a node.
  onnx::NodeProto &addNode(const char *type, llvm::ArrayRef<std::string> inputs, const std::string &output);
  // Appends a Constant node with a one-dimensional tensor.
  void addConstant(const std::string &name, llvm::ArrayRef<int64_t> numbers);

  static void setAttribute(onnx::NodeProto &node, const char *name, int64_t number);
  // Adds the attribute `value` without elements.
  static onnx::TensorProto &addTensor(onnx::NodeProto &node, int type);

private:
  onnx::GraphProto &graph;
  llvm::StringSet<> names;
};

// Removes the elements `i` of a repeated field for which `keeps(i)` returns false. The others stay in their order.
template <typename Elements, typename Keeps> void filter(Elements &elements, Keeps keeps) {
  int kept = 0;
  for (int i = 0; i < elements.size(); ++i)
    if (keeps(i))
      elements.SwapElements(kept++, i);
  elements.DeleteSubrange(kept, elements.size() - kept);
}

} // namespace cleave

#endif
