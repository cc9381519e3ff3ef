#include "compiler/Import/ONNX/Initializers.h"
#include "compiler/Import/ONNX/States.h"
#include "compiler/Support/NamePatterns.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace cleave;
using namespace cleave::onnx_import;

// Exporters lift scalar constants of the code into initializers under names of their own making. A parameter is named
// after an attribute of a module.
static bool isExporterName(llvm::StringRef name) {
  llvm::StringRef rest = name;
  if (rest.consume_front("val_"))
    return !rest.empty() && llvm::all_of(rest, llvm::isDigit);
  return name.contains("::") || name.contains('/') || name.starts_with("scalar_tensor") ||
         name.starts_with("_to_copy") || name.starts_with("lift_fresh") || name.starts_with("_inlined_") ||
         name.starts_with("const_");
}

// Inputs 3 and 4 of BatchNormalization: running mean and variance.
static llvm::StringSet<> runningStatistics(const FlatGraph &graph) {
  llvm::StringSet<> names;
  for (const FlatNode &node : graph.nodes)
    if (node.proto->op_type() == "BatchNormalization")
      for (int i = 3; i < node.proto->input_size() && i < 5; ++i)
        names.insert(node.proto->input(i));
  return names;
}

NamedSlots cleave::onnx_import::importInitializers(const ModelFile &file, const FlatGraph &graph,
                                                   const ImportOptions &options, TensorReader &reader,
                                                   mlir::SymbolTable &symbols, WeightMap &weights,
                                                   std::vector<std::string> &notes, ErrorList &errors) {
  NamedSlots slots;
  llvm::StringSet<> statistics = runningStatistics(graph);
  std::vector<std::string> taken, names;
  auto buffers = NamePatterns::parse("--buffers", options.buffers);
  if (!buffers) {
    errors.add(buffers.takeError());
    return slots;
  }
  for (const onnx::TensorProto &tensor : file.proto.graph().initializer()) {
    auto weight = reader.read(tensor);
    if (!weight) {
      errors.add("initializer " + quote(tensor.name()) + ": " + llvm::toString(weight.takeError()));
      continue;
    }
    bool real = llvm::isa<mlir::FloatType>(weight->type.getElementType());
    bool scalar = weight->type.getNumElements() == 1 && isExporterName(tensor.name());
    if (real ? scalar : int64_t(weight->bytes.size()) <= kMaxConstantBytes) {
      if (real)
        taken.push_back(tensor.name());
      slots.emplace_back(tensor.name(), Slot::literal(Literal::fromBytes(weight->type, weight->bytes)));
      continue;
    }
    names.push_back(tensor.name());
    bool buffer = buffers->match(tensor.name()) || statistics.contains(tensor.name());
    Role role = !real ? Role::Constant : buffer ? Role::Buffer : Role::Parameter;
    bool frozen = role == Role::Parameter && matchesAny(options.freeze, tensor.name());
    weights.insert(tensor.name(), *weight);
    slots.emplace_back(tensor.name(), Slot::state(declareState(symbols, tensor.name(), weight->type, role,
                                                               InitKind::Weights, frozen)));
    if (weight->type.getNumElements() == 1)
      slots.back().second.known = std::make_shared<const Literal>(Literal::fromBytes(weight->type, weight->bytes));
  }
  if (llvm::Error error = buffers->checkUsed(names, "initializers"))
    errors.add(std::move(error));
  if (!taken.empty())
    notes.push_back("taken as constants, not parameters: " + llvm::join(taken, ", "));
  return slots;
}
