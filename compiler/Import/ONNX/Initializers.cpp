#include "compiler/Import/ONNX/Initializers.h"
#include "compiler/Import/ONNX/File/ExportNotes.h"
#include "compiler/Import/ONNX/File/ProbableBuffers.h"
#include "compiler/Import/ONNX/File/TensorUses.h"
#include "compiler/Import/ONNX/InitRules.h"
#include "compiler/Import/ONNX/States.h"
#include "compiler/Support/NamePatterns.h"
#include "runtime/plan/DrawnWeights.h"

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
  void add(const onnx::TensorProto &tensor, llvm::Error error) {
    std::string reason = llvm::toString(std::move(error));
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
      reason += "; parameters need no file where --init says how they begin, as in --init 'normal(std=0.02)'";
    names_[reason].push_back(quote(tensor.name()));
  }
  void report(ErrorList &errors) const {
    for (const auto &[reason, names] : names_)
      errors.add("initializer " + names.front() +
                 (names.size() == 1 ? std::string() : " and " + std::to_string(names.size() - 1) + " more") + ": " +
                 reason);
  }

private:
  llvm::MapVector<std::string, std::vector<std::string>, std::map<std::string, unsigned>> names_; // by reason
};

// What the graph's initializers are, by their names, types and uses.
class InitializerRoles {
public:
  InitializerRoles(const ModelFile &file, const FlatGraph &graph, const ExportSignature &signature,
                   const TensorUses &uses, NamePatterns &buffers)
      : signature(signature), uses(uses), buffers(buffers), statistics(runningStatistics(graph)) {
    // A tensor that the exporter has made may be a parameter in another form, if one is missing.
    if (signature.isPresent && changedParameters(file.proto.graph(), signature).empty())
      made = ExportSignature::Kind::Buffer;
  }

  // Whether it is a literal: numbers of the code, and small integers.
  bool isLiteral(llvm::StringRef name, mlir::RankedTensorType type) const {
    if (!llvm::isa<mlir::FloatType>(type.getElementType()))
      return type.getNumElements() * elementBytes(type.getElementType()) <= kMaxConstantBytes;
    return type.getNumElements() == 1 && isExporterName(name) &&
           signature.kindOf(name) == ExportSignature::Kind::Unknown;
  }

  Role of(llvm::StringRef name, mlir::RankedTensorType type) {
    using Kind = ExportSignature::Kind;
    if (!llvm::isa<mlir::FloatType>(type.getElementType()))
      return Role::Constant;
    Kind kind = signature.kindOf(name);
    bool isFixed = uses.isClassWeight(name) || (isExporterName(name) && uses.isInitialState(name));
    bool isBuffer = buffers.match(name) || statistics.contains(name) || (kind != Kind::Parameter && isFixed) ||
                    (kind == Kind::Unknown ? made : kind) == Kind::Buffer;
    return isBuffer ? Role::Buffer : Role::Parameter;
  }

  bool isDoubtful(llvm::StringRef name, const WeightTensor &tensor) const {
    return signature.kindOf(name) != ExportSignature::Kind::Parameter && !reasonForBuffer(name, tensor, uses).empty();
  }

private:
  const ExportSignature &signature;
  const TensorUses &uses;
  NamePatterns &buffers;
  llvm::StringSet<> statistics;
  ExportSignature::Kind made = ExportSignature::Kind::Unknown;
};

} // namespace

NamedBindings cleave::onnx_import::importInitializers(const ModelFile &file, const FlatGraph &graph,
                                                      const ExportSignature &signature, const ImportOptions &options,
                                                      TensorReader &reader, mlir::SymbolTable &symbols,
                                                      WeightMap &weights, std::vector<std::string> &notes,
                                                      ErrorList &errors) {
  NamedBindings bindings;
  TensorUses uses(graph);
  FanTable fans(graph);
  std::vector<std::string> taken, names, parameters, others, doubtful;
  auto buffers = NamePatterns::parse("--buffers", options.buffers);
  auto rules = InitRules::parse(options.init);
  if (!buffers)
    errors.add(buffers.takeError());
  if (!rules)
    errors.add(rules.takeError());
  if (!buffers || !rules)
    return bindings;
  InitializerRoles roles(file, graph, signature, uses, *buffers);
  UnreadTensors unread;

  // How --init has a tensor begin; null where it does not say. Where there is no pattern for what is probably a buffer,
  // the file's values stay.
  auto ruleFor = [&](const onnx::TensorProto &tensor, Role role) -> const InitSpec * {
    if (rules->empty() || role == Role::Constant)
      return nullptr;
    const InitSpec *spec = role == Role::Buffer ? rules->matchBuffer(tensor.name()) : rules->match(tensor.name());
    if (!spec || !rules->isDefault(spec))
      return spec;
    auto weight = reader.read(tensor);
    if (!weight) {
      llvm::consumeError(weight.takeError());
      return spec;
    }
    if (!roles.isDoubtful(tensor.name(), *weight))
      return spec;
    doubtful.push_back(tensor.name());
    return nullptr;
  };

  for (const onnx::TensorProto &tensor : file.proto.graph().initializer()) {
    auto type = reader.typeOf(tensor);
    if (!type) {
      unread.add(tensor, type.takeError());
      continue;
    }
    bool isLiteral = roles.isLiteral(tensor.name(), *type);
    Role role = isLiteral ? Role::Constant : roles.of(tensor.name(), *type);
    if (options.train && uses.isSharedStatistic(tensor.name()))
      errors.add("initializer " + quote(tensor.name()) +
                 " is a running statistic of a BatchNormalization and is used elsewhere, too, and cannot be both: "
                 "exporters merge tensors of equal values; export the model in training mode, so that they stay apart");
    bool isFrozen = role == Role::Parameter && matchesAny(options.freeze, tensor.name());
    (role == Role::Parameter ? parameters : others).push_back(tensor.name());
    if (!isLiteral)
      names.push_back(tensor.name());
    if (const InitSpec *spec = ruleFor(tensor, role)) {
      auto initial = spec->resolve(type->getContext(), tensor.name(), type->getShape(), fans);
      if (!initial)
        errors.add(initial.takeError());
      else
        bindings.emplace_back(tensor.name(),
                              Binding::state(declareState(symbols, tensor.name(), *type, role, *initial, isFrozen)));
      continue;
    }
    auto weight = reader.read(tensor);
    if (!weight) {
      unread.add(tensor, weight.takeError());
      continue;
    }
    if (isLiteral) {
      if (llvm::isa<mlir::FloatType>(type->getElementType()) && !signature.isPresent) // which says so itself
        taken.push_back(tensor.name());
      bindings.emplace_back(tensor.name(), Binding::literal(Literal::fromBytes(weight->type, weight->bytes)));
      continue;
    }
    if (rt::parseDraw(tensor.name()))
      errors.add("initializer " + quote(tensor.name()) +
                 " has a name by which plans know weights that are drawn; give it another one");
    weights.insert(tensor.name(), *weight);
    bindings.emplace_back(tensor.name(), Binding::state(declareState(symbols, tensor.name(), weight->type, role,
                                                                     InitKind::Weights, isFrozen)));
    // Numbers that an operator wants to know (a bound, the scales of a resize, indices) are not trained.
    if (weight->type.getNumElements() <= 64 || !llvm::isa<mlir::FloatType>(type->getElementType()))
      bindings.back().second.known = std::make_shared<const Literal>(Literal::fromBytes(weight->type, weight->bytes));
  }
  unread.report(errors);
  if (llvm::Error error = buffers->checkUsed(names, "initializers"))
    errors.add(std::move(error));
  if (llvm::Error error = rules->checkUsed(parameters, others))
    errors.add(std::move(error));
  if (!taken.empty())
    notes.push_back("taken as constants, not parameters: " + listNames(taken, 8));
  if (!doubtful.empty())
    notes.push_back("--init leaves what are probably buffers as the file has them: " + listNames(doubtful, 8) +
                    "; a pattern that names them sets them too");
  return bindings;
}
