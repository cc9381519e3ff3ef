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

// Makes the bindings. Each initializer becomes one of three: a literal, a state that begins as --init says, or a state
// that begins with the file's values.
class InitializerImport {
public:
  InitializerImport(const InitializerJob &job, NamePatterns &buffers, InitRules &rules)
      : job(job), buffers(buffers), rules(rules), uses(job.graph), fans(job.graph),
        roles(job.file, job.graph, job.signature, uses, buffers) {}

  NamedBindings run() {
    for (const onnx::TensorProto &tensor : job.file.proto.graph().initializer())
      add(tensor);
    unread.report(job.errors);
    checkPatterns();
    addNotes();
    return std::move(bindings);
  }

private:
  void add(const onnx::TensorProto &tensor);
  void checkStatistic(llvm::StringRef name) const;
  const InitSpec *ruleFor(const onnx::TensorProto &tensor, Role role);
  void addInitialized(llvm::StringRef name, mlir::RankedTensorType type, Role role, const InitSpec &spec);
  void addLiteral(llvm::StringRef name, const WeightTensor &weight);
  void addStored(llvm::StringRef name, const WeightTensor &weight, Role role);
  bool isFrozen(llvm::StringRef name, Role role) const {
    return role == Role::Parameter && matchesAny(job.options.freeze, name);
  }
  void checkPatterns();
  void addNotes();

  const InitializerJob &job;
  NamePatterns &buffers;
  InitRules &rules;
  TensorUses uses;
  FanTable fans;
  InitializerRoles roles;
  NamedBindings bindings;
  UnreadTensors unread;
  std::vector<std::string> parameters, others,
      states;                        // states: parameters and those of the others that are no literals
  std::vector<std::string> taken;    // literals that might have been parameters
  std::vector<std::string> doubtful; // that --init leaves, as they are probably buffers
};

void InitializerImport::add(const onnx::TensorProto &tensor) {
  const std::string &name = tensor.name();
  auto type = job.reader.typeOf(tensor);
  if (!type)
    return unread.add(tensor, type.takeError());
  bool isLiteral = roles.isLiteral(name, *type);
  Role role = isLiteral ? Role::Constant : roles.of(name, *type);
  checkStatistic(name);
  (role == Role::Parameter ? parameters : others).push_back(name);
  if (!isLiteral)
    states.push_back(name);
  if (const InitSpec *spec = ruleFor(tensor, role))
    return addInitialized(name, *type, role, *spec);
  auto weight = job.reader.read(tensor);
  if (!weight)
    return unread.add(tensor, weight.takeError());
  if (isLiteral)
    return addLiteral(name, *weight);
  addStored(name, *weight, role);
}

void InitializerImport::checkStatistic(llvm::StringRef name) const {
  if (job.options.train && uses.isSharedStatistic(name))
    job.errors.add(
        "initializer " + quote(name) +
        " is a running statistic of a BatchNormalization and is used elsewhere, too, and cannot be both: "
        "exporters merge tensors of equal values; export the model in training mode, so that they stay apart");
}

// How --init has a tensor begin; null where it does not say. Where there is no pattern for what is probably a buffer,
// the file's values stay.
const InitSpec *InitializerImport::ruleFor(const onnx::TensorProto &tensor, Role role) {
  if (rules.empty() || role == Role::Constant)
    return nullptr;
  const InitSpec *spec = role == Role::Buffer ? rules.matchBuffer(tensor.name()) : rules.match(tensor.name());
  if (!spec || !rules.isDefault(spec))
    return spec;
  auto weight = job.reader.read(tensor);
  if (!weight) {
    llvm::consumeError(weight.takeError());
    return spec;
  }
  if (!roles.isDoubtful(tensor.name(), *weight))
    return spec;
  doubtful.push_back(tensor.name());
  return nullptr;
}

void InitializerImport::addInitialized(llvm::StringRef name, mlir::RankedTensorType type, Role role,
                                       const InitSpec &spec) {
  auto initial = spec.resolve(type.getContext(), name, type.getShape(), fans);
  if (!initial)
    return job.errors.add(initial.takeError());
  bindings.emplace_back(name,
                        Binding::state(declareState(job.symbols, name, type, role, *initial, isFrozen(name, role))));
}

void InitializerImport::addLiteral(llvm::StringRef name, const WeightTensor &weight) {
  bool isFloat = llvm::isa<mlir::FloatType>(weight.type.getElementType());
  if (isFloat && !job.signature.isPresent) // which says so itself
    taken.push_back(name.str());
  bindings.emplace_back(name, Binding::literal(Literal::fromBytes(weight.type, weight.bytes)));
}

void InitializerImport::addStored(llvm::StringRef name, const WeightTensor &weight, Role role) {
  if (rt::parseDraw(name.str()))
    job.errors.add("initializer " + quote(name) +
                   " has a name by which plans know weights that are drawn; give it another one");
  job.weights.insert(name, weight);
  bindings.emplace_back(name, Binding::state(declareState(job.symbols, name, weight.type, role, InitKind::Weights,
                                                          isFrozen(name, role))));
  // Numbers that an operator wants to know (a bound, the scales of a resize, indices) are not trained.
  if (weight.type.getNumElements() <= 64 || !llvm::isa<mlir::FloatType>(weight.type.getElementType()))
    bindings.back().second.known = std::make_shared<const Literal>(Literal::fromBytes(weight.type, weight.bytes));
}

// A pattern that matches nothing is a mistake.
void InitializerImport::checkPatterns() {
  if (llvm::Error error = buffers.checkUsed(states, "initializers"))
    job.errors.add(std::move(error));
  if (llvm::Error error = rules.checkUsed(parameters, others))
    job.errors.add(std::move(error));
}

void InitializerImport::addNotes() {
  if (!taken.empty())
    job.notes.push_back("taken as constants, not parameters: " + listNames(taken, 8));
  if (!doubtful.empty())
    job.notes.push_back("--init leaves what are probably buffers as the file has them: " + listNames(doubtful, 8) +
                        "; a pattern that names them sets them too");
}

} // namespace

NamedBindings cleave::onnx_import::importInitializers(const InitializerJob &job) {
  auto buffers = NamePatterns::parse("--buffers", job.options.buffers);
  auto rules = InitRules::parse(job.options.init);
  if (!buffers)
    job.errors.add(buffers.takeError());
  if (!rules)
    job.errors.add(rules.takeError());
  if (!buffers || !rules)
    return {};
  return InitializerImport(job, *buffers, *rules).run();
}
