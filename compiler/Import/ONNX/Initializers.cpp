#include "compiler/Import/ONNX/Initializers.h"
#include "compiler/Import/ONNX/ExportNotes.h"
#include "compiler/Import/ONNX/States.h"
#include "compiler/Import/ONNX/TensorUses.h"
#include "compiler/Support/NamePatterns.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace cleave;
using namespace cleave::onnx_import;

// Inputs 3 and 4 of BatchNormalization: running mean and variance.
static llvm::StringSet<> runningStatistics(const FlatGraph &graph) {
  llvm::StringSet<> names;
  forEachNode(graph, [&](const onnx::NodeProto &node) {
    if (node.op_type() == "BatchNormalization")
      for (int i = 3; i < node.input_size() && i < 5; ++i)
        names.insert(node.input(i));
  });
  return names;
}

namespace {

// What is wrong with a file of external data is wrong for all tensors in it, and is told once.
class UnreadTensors {
public:
  void add(llvm::StringRef name, std::string reason) { names_[reason].push_back(quote(name)); }
  void report(ErrorList &errors) const {
    for (const auto &[reason, names] : names_)
      errors.add("initializer " + names.front() +
                 (names.size() == 1 ? std::string() : " and " + std::to_string(names.size() - 1) + " more") + ": " +
                 reason);
  }

private:
  llvm::MapVector<std::string, std::vector<std::string>, std::map<std::string, unsigned>> names_; // by reason
};

} // namespace

NamedSlots cleave::onnx_import::importInitializers(const ModelFile &file, const FlatGraph &graph,
                                                   const ExportSignature &signature, const ImportOptions &options,
                                                   TensorReader &reader, mlir::SymbolTable &symbols, WeightMap &weights,
                                                   std::vector<std::string> &notes, ErrorList &errors) {
  using Kind = ExportSignature::Kind;
  NamedSlots slots;
  // A tensor that the exporter has made may be a parameter in another form, if one is missing.
  Kind made =
      signature.isPresent && changedParameters(file.proto.graph(), signature).empty() ? Kind::Buffer : Kind::Unknown;
  llvm::StringSet<> statistics = runningStatistics(graph);
  TensorUses uses(graph);
  std::vector<std::string> taken, names;
  auto buffers = NamePatterns::parse("--buffers", options.buffers);
  if (!buffers) {
    errors.add(buffers.takeError());
    return slots;
  }
  UnreadTensors unread;
  for (const onnx::TensorProto &tensor : file.proto.graph().initializer()) {
    auto weight = reader.read(tensor);
    if (!weight) {
      unread.add(tensor.name(), llvm::toString(weight.takeError()));
      continue;
    }
    bool real = llvm::isa<mlir::FloatType>(weight->type.getElementType());
    Kind kind = signature.kindOf(tensor.name());
    bool scalar = weight->type.getNumElements() == 1 && isExporterName(tensor.name()) && kind == Kind::Unknown;
    if (real ? scalar : int64_t(weight->bytes.size()) <= kMaxConstantBytes) {
      if (real && !signature.isPresent) // which says so itself
        taken.push_back(tensor.name());
      slots.emplace_back(tensor.name(), Slot::literal(Literal::fromBytes(weight->type, weight->bytes)));
      continue;
    }
    names.push_back(tensor.name());
    bool isFixed = uses.isClassWeight(tensor.name()) ||
                   (isExporterName(tensor.name()) && uses.isInitialState(tensor.name()));
    bool buffer = buffers->match(tensor.name()) || statistics.contains(tensor.name()) ||
                  (kind != Kind::Parameter && isFixed) || (kind == Kind::Unknown ? made : kind) == Kind::Buffer;
    Role role = !real ? Role::Constant : buffer ? Role::Buffer : Role::Parameter;
    bool frozen = role == Role::Parameter && matchesAny(options.freeze, tensor.name());
    weights.insert(tensor.name(), *weight);
    slots.emplace_back(tensor.name(), Slot::state(declareState(symbols, tensor.name(), weight->type, role,
                                                               InitKind::Weights, frozen)));
    // Numbers that an operator wants to know (a bound, the scales of a resize) are not trained.
    if (weight->type.getNumElements() <= 64)
      slots.back().second.known = std::make_shared<const Literal>(Literal::fromBytes(weight->type, weight->bytes));
  }
  unread.report(errors);
  if (llvm::Error error = buffers->checkUsed(names, "initializers"))
    errors.add(std::move(error));
  if (!taken.empty())
    notes.push_back("taken as constants, not parameters: " + listNames(taken, 8));
  return slots;
}
