// Adding nodes to an ONNX graph that already has names.
#ifndef CLEAVE_COMPILER_DRIVER_GRAPHEDIT_H
#define CLEAVE_COMPILER_DRIVER_GRAPHEDIT_H

#include "compiler/Import/ONNX/File/Proto.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace cleave {

class GraphEdit {
public:
  explicit GraphEdit(onnx::GraphProto &graph);

  // `name`, or it with underscores where the graph has that name already.
  std::string newName(std::string name);

  // At the end of the nodes.
  onnx::NodeProto &addNode(const char *type, llvm::ArrayRef<std::string> inputs, const std::string &output);
  // A one-dimensional constant.
  void addConstant(const std::string &name, llvm::ArrayRef<int64_t> numbers);

  static void setAttribute(onnx::NodeProto &node, const char *name, int64_t number);
  // The attribute `value`, without elements yet.
  static onnx::TensorProto &addTensor(onnx::NodeProto &node, int type);

private:
  onnx::GraphProto &graph;
  llvm::StringSet<> names;
};

} // namespace cleave

#endif
