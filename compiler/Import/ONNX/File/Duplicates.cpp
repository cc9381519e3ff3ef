#include "compiler/Import/ONNX/File/Duplicates.h"
#include "compiler/Import/ONNX/Support.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>
#include <map>

using namespace cleave;
using namespace cleave::onnx_import;

static bool isRepeated(llvm::ArrayRef<char> bytes, size_t width) {
  return bytes.size() < 2 * width || std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) == 0;
}

// Returns a hash that does not depend on the order of elements, so that a matrix and its transpose have the same hash.
static uint64_t fingerprint(llvm::ArrayRef<char> bytes, size_t width) {
  uint64_t sum = 0;
  for (size_t at = 0; at + width <= bytes.size(); at += width) {
    uint64_t element = 0;
    std::memcpy(&element, bytes.data() + at, width);
    element *= 0x9e3779b97f4a7c15u;
    sum += element ^ (element >> 29);
  }
  return sum;
}

static bool isTranspose(const WeightTensor &a, const WeightTensor &b, size_t width) {
  // If a matrix is square, its shape is no evidence of a transpose, and such a pair cannot be tied.
  if (a.type.getRank() != 2 || b.type.getRank() != 2 || a.type.getDimSize(0) != b.type.getDimSize(1) ||
      a.type.getDimSize(1) != b.type.getDimSize(0) || a.type == b.type)
    return false;
  size_t rows = size_t(a.type.getDimSize(0)), columns = size_t(a.type.getDimSize(1));
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j)
      if (std::memcmp(a.bytes.data() + (i * columns + j) * width, b.bytes.data() + (j * rows + i) * width, width) != 0)
        return false;
  return true;
}

llvm::StringSet<> cleave::onnx_import::embeddingTables(const FlatGraph &graph) {
  llvm::StringMap<llvm::StringRef> aliases; // exporters write an Identity for a second name
  auto firstName = [&](llvm::StringRef name) {
    auto known = aliases.find(name);
    return known == aliases.end() ? name : known->second;
  };
  llvm::StringSet<> tables;
  for (const FlatNode &node : graph.nodes) { // each after those that it reads
    if (node.proto->op_type() == "Identity" && node.proto->input_size() == 1 && node.proto->output_size() == 1)
      aliases[node.proto->output(0)] = firstName(node.proto->input(0));
    if (node.proto->op_type() == "Gather" && node.proto->input_size() != 0)
      tables.insert(firstName(node.proto->input(0)));
  }
  return tables;
}

// True for names of two layers of a stack, such as "layers.0.weight" and "layers.1.weight".
static bool differInNumbersOnly(llvm::StringRef a, llvm::StringRef b) {
  auto shape = [](llvm::StringRef name) {
    std::string text;
    for (char c : name)
      if (!llvm::isDigit(c))
        text += c;
      else if (!llvm::StringRef(text).ends_with("#"))
        text += '#';
    return text;
  };
  return shape(a) == shape(b);
}

void cleave::onnx_import::noteDuplicates(const WeightMap &weights, llvm::ArrayRef<std::string> parameters,
                                         const llvm::StringSet<> &tables, std::vector<std::string> &notes) {
  std::map<std::pair<uint64_t, size_t>, std::vector<std::string>> seen; // (fingerprint, bytes) -> names
  // Thousands of parameters may start with equal values. Each is compared with a few of them only.
  constexpr size_t kMostCompared = 8;
  std::vector<std::string> pairs, tellings;
  for (const std::string &name : parameters) {
    const WeightTensor *tensor = weights.find(name);
    if (!tensor)
      continue;
    size_t width = size_t(elementBytes(tensor->type.getElementType()));
    if (tensor->type.getRank() != 2 || isRepeated(tensor->bytes, width))
      continue;
    auto &others = seen[{fingerprint(tensor->bytes, width), tensor->bytes.size()}];
    for (const std::string &other : others) {
      const WeightTensor &first = *weights.find(other);
      bool equal = first.type == tensor->type && first.bytes == tensor->bytes;
      if (equal && ((!tables.contains(name) && !tables.contains(other)) || differInNumbersOnly(name, other)))
        continue;
      if (!equal &&
          !(first.type.getElementType() == tensor->type.getElementType() && isTranspose(first, *tensor, width)))
        continue;
      pairs.push_back(other + "=" + name);
      tellings.push_back("parameters " + quote(other) + " and " + quote(name) +
                         (equal ? " are equal" : " are transposes of each other") +
                         "; if they are one tied weight, give --tie '" + pairs.back() + "'");
      break;
    }
    if (others.size() < kMostCompared)
      others.push_back(name);
  }
  constexpr size_t kFew = 2;
  if (pairs.size() > kFew)
    notes.push_back(std::to_string(pairs.size()) +
                    " pairs of parameters are equal or transposed; give --tie for those that are one tied weight: " +
                    llvm::join(pairs, ", "));
  else
    llvm::append_range(notes, tellings);
}
