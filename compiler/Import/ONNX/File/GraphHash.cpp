#include "compiler/Import/ONNX/File/GraphHash.h"

#include "runtime/base/Hash.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>

using namespace cleave::onnx_import;

namespace {

// Each text is hashed with its length, so that two lists of texts are not taken for one another.
class GraphHash {
public:
  void add(const onnx::NodeProto &node) {
    addText(canonicalDomain(node.domain()));
    addText(node.op_type());
    addNumber(node.input_size());
    for (const std::string &input : node.input()) {
      auto made = values.find(input);
      made == values.end() ? addText(input) : addNumber(made->second);
    }
    std::map<llvm::StringRef, const onnx::AttributeProto *> attributes; // exporters order them as they like
    for (const onnx::AttributeProto &attribute : node.attribute())
      attributes[attribute.name()] = &attribute;
    for (const auto &[name, attribute] : attributes)
      addText(attribute->SerializeAsString());
    addNumber(node.output_size());
    for (const std::string &output : node.output())
      values[output] = values.size();
  }
  std::string text() const { return llvm::utohexstr(hash, /*LowerCase=*/true, /*Width=*/16); }

private:
  void addText(llvm::StringRef text) {
    addNumber(text.size());
    hash = cleave::rt::fnv1a(text, hash);
  }
  void addNumber(uint64_t number) {
    hash = cleave::rt::fnv1a({reinterpret_cast<const char *>(&number), sizeof number}, hash);
  }

  uint64_t hash = cleave::rt::kFnvOffset;
  llvm::StringMap<uint64_t> values; // in the order of their nodes
};

} // namespace

std::string cleave::onnx_import::graphHash(const FlatGraph &graph) {
  GraphHash hash;
  for (const FlatNode &node : graph.nodes)
    hash.add(*node.proto);
  return hash.text();
}
