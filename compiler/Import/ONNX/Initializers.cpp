#include "compiler/Import/ONNX/Initializers.h"
#include "compiler/Import/ONNX/File/ExportNotes.h"
#include "compiler/Import/ONNX/File/ProbableBuffers.h"
#include "compiler/Import/ONNX/File/TensorUses.h"
#include "compiler/Import/ONNX/InitRules.h"
#include "compiler/Import/ONNX/Operators/TorchGradients.h"
#include "compiler/Import/ONNX/States.h"
#include "compiler/Support/NamePatterns.h"
#include "runtime/base/Assignment.h"
#include "runtime/plan/DrawnWeights.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace cleave;
using namespace cleave::onnx_import;

// Returns the names of running means and variances: inputs 3 and 4 of BatchNormalization.
static llvm::StringSet<> runningStatistics(const FlatGraph &graph) {
  llvm::StringSet<> names;
  forEachNode(graph, [&](const onnx::NodeProto &node) {
    if (node.op_type() == "BatchNormalization")
      for (int i = 3; i < node.input_size() && i < 5; ++i)
        names.insert(node.input(i));
  });
  return names;
}

// Returns the second names of initializers. The TorchScript exporter writes tensors of equal values, such as tied
// weights, once, and an Identity for each further name:
//
//   Identity(embedding.weight) -> head.weight      head.weight is a second name of embedding.weight
static llvm::StringMap<std::vector<std::string>> secondNames(const onnx::GraphProto &proto, const FlatGraph &graph) {
  llvm::StringSet<> outputs;
  for (const onnx::ValueInfoProto &output : proto.output())
    outputs.insert(output.name());
  llvm::StringMap<std::string> first;
  for (const onnx::TensorProto &tensor : proto.initializer())
    first[tensor.name()] = tensor.name();
  llvm::StringMap<std::vector<std::string>> names;
  for (const FlatNode &flat : graph.nodes) {
    const onnx::NodeProto &node = *flat.proto;
    if (node.op_type() != "Identity" || node.input_size() != 1 || node.output_size() != 1)
      continue;
    auto owner = first.find(node.input(0));
    const std::string &name = node.output(0);
    if (owner == first.end() || isExporterName(name) || outputs.contains(name) || !torchCallOf(node).target.empty())
      continue;
    std::string tensor = owner->second; // the map may move it
    first[name] = tensor;
    names[tensor].push_back(name);
  }
  return names;
}

namespace {

// Collects tensors that could not be read. A defect of a file of external data concerns all tensors in it, so it is
// reported once.
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

// Decides what each initializer becomes, by its name, its type, its uses, and the file's signature.
class InitializerRoles {
public:
  InitializerRoles(const ModelFile &file, const FlatGraph &graph, const ExportSignature &signature,
                   const TensorUses &uses, NamePatterns &buffers)
      : signature(signature), uses(uses), buffers(buffers), statistics(runningStatistics(graph)) {
    // If a parameter of the signature is missing, a tensor that the exporter has made may be that parameter in another
    // form. Only if none is missing, tensors of the exporter are buffers.
    if (signature.isPresent && changedParameters(file.proto.graph(), signature).empty())
      made = ExportSignature::Kind::Buffer;
  }

  // True if the initializer becomes a literal: a number of the code, or small integers. The bias of a layer with one
  // unit is no number of the code, whatever its name is.
  bool isLiteral(llvm::StringRef name, mlir::RankedTensorType type) const {
    if (!llvm::isa<mlir::FloatType>(type.getElementType()))
      return type.getNumElements() * elementBytes(type.getElementType()) <= kMaxConstantBytes;
    bool isOfLayer = type.getRank() > 0 && uses.isOfLayer(name);
    return type.getNumElements() == 1 && isExporterName(name) && !isOfLayer &&
           signature.kindOf(name) == ExportSignature::Kind::Unknown;
  }

  // `names` are all names of the initializer, its own first.
  Role of(llvm::ArrayRef<std::string> names, mlir::RankedTensorType type) {
    const std::string &name = names.front();
    using Kind = ExportSignature::Kind;
    if (!llvm::isa<mlir::FloatType>(type.getElementType()))
      return Role::Constant;
    Kind kind = signature.kindOf(name);
    if (buffers.match(names) || statistics.contains(name))
      return Role::Buffer;
    bool isFixed = uses.isClassWeight(name) || (isExporterName(name) && uses.isInitialState(name));
    bool isBuffer = (kind != Kind::Parameter && isFixed) || (kind == Kind::Unknown ? made : kind) == Kind::Buffer;
    if (!isBuffer)
      return Role::Parameter;
    return isInNoStateDict(name, kind) ? Role::Constant : Role::Buffer;
  }

  bool isDoubtful(llvm::StringRef name, const WeightTensor &tensor) const {
    return signature.kindOf(name) != ExportSignature::Kind::Parameter && !reasonForBuffer(name, tensor, uses).empty();
  }

private:
  // No state_dict has non-persistent buffers, other tensors of a module, and tensors that the exporter has made. So
  // --weights must not ask for them, and checkpoints do not have them.
  bool isInNoStateDict(llvm::StringRef name, ExportSignature::Kind kind) const {
    bool isMade = kind == ExportSignature::Kind::Unknown && (signature.isPresent || isExporterName(name));
    return (isMade || signature.unsaved.contains(name)) && !signature.mutated.contains(name);
  }

  const ExportSignature &signature;
  const TensorUses &uses;
  NamePatterns &buffers;
  llvm::StringSet<> statistics;
  ExportSignature::Kind made = ExportSignature::Kind::Unknown;
};

// Creates the bindings. Each initializer becomes a literal, a state whose initial values --init gives, or a state with
// the file's values.
class InitializerImport {
public:
  InitializerImport(const InitializerJob &job, NamePatterns &buffers, InitRules &rules)
      : job(job), buffers(buffers), rules(rules), uses(job.graph), fans(job.graph),
        roles(job.file, job.graph, job.signature, uses, buffers) {
    if (!job.signature.isPresent) // there an Identity is a call of the model
      aliases = secondNames(job.file.proto.graph(), job.graph);
    for (const auto &entry : aliases)
      for (const std::string &alias : entry.second)
        join(entry.getKey().str(), alias);
    for (const std::string &pair : job.options.tie)
      if (std::string kept, tied; rt::splitAssignment(pair, &kept, &tied))
        join(kept, tied);
  }

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
    auto matches = [&](llvm::StringRef each) { return matchesAny(job.options.freeze, each); };
    return role == Role::Parameter && llvm::any_of(namesOf(name), matches);
  }
  // Returns all names by which options know an initializer: its own first, then those that the file or --tie gives to
  // the same tensor.
  std::vector<std::string> namesOf(llvm::StringRef name) const {
    std::vector<std::string> names = {name.str()};
    for (const std::string &other : sameTensor.lookup(name))
      if (other != name)
        names.push_back(other);
    return names;
  }
  // Notes that both are names of one tensor.
  void join(const std::string &a, const std::string &b) {
    std::vector<std::string> names = namesOf(a);
    for (const std::string &name : namesOf(b))
      if (!llvm::is_contained(names, name))
        names.push_back(name);
    for (const std::string &name : names)
      sameTensor[name] = names;
  }
  void checkPatterns();
  void addNotes();

  const InitializerJob &job;
  NamePatterns &buffers;
  InitRules &rules;
  TensorUses uses;
  FanTable fans;
  InitializerRoles roles;
  llvm::StringMap<std::vector<std::string>> aliases;    // further names in the file
  llvm::StringMap<std::vector<std::string>> sameTensor; // all names of the tensor that has this one
  NamedBindings bindings;
  UnreadTensors unread;
  std::vector<std::string> parameters, others,
      states;                        // parameters, and those of `others` that are not literals
  std::vector<std::string> taken;    // literals that might have been parameters
  std::vector<std::string> doubtful; // probable buffers, which --init does not change
};

void InitializerImport::add(const onnx::TensorProto &tensor) {
  const std::string &name = tensor.name();
  auto type = job.reader.typeOf(tensor);
  if (!type)
    return unread.add(tensor, type.takeError());
  bool isLiteral = roles.isLiteral(name, *type);
  Role role = isLiteral ? Role::Constant : roles.of(namesOf(name), *type);
  checkStatistic(name);
  for (std::vector<std::string> *list :
       {role == Role::Parameter ? &parameters : &others, isLiteral ? nullptr : &states})
    if (list) {
      list->push_back(name);
      llvm::append_range(*list, aliases.lookup(name));
    }
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

// Returns the rule of --init for a tensor, or null if there is none. A tensor that is probably a buffer keeps the
// file's values, unless a pattern matches it.
const InitSpec *InitializerImport::ruleFor(const onnx::TensorProto &tensor, Role role) {
  if (rules.empty() || role == Role::Constant)
    return nullptr;
  std::vector<std::string> names = namesOf(tensor.name());
  const InitSpec *spec = role == Role::Buffer ? rules.matchBuffer(names) : rules.match(names);
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
  bindings.emplace_back(name, Binding::state(declareState(job.symbols, name, type, role, *initial, isFrozen(name, role),
                                                          aliases.lookup(name))));
}

void InitializerImport::addLiteral(llvm::StringRef name, const WeightTensor &weight) {
  bool isFloat = llvm::isa<mlir::FloatType>(weight.type.getElementType());
  if (isFloat && !job.signature.isPresent) // a signature says it by itself
    taken.push_back(name.str());
  bindings.emplace_back(name, Binding::literal(Literal::fromBytes(weight.type, weight.bytes)));
}

void InitializerImport::addStored(llvm::StringRef name, const WeightTensor &weight, Role role) {
  if (rt::parseDraw(name.str()))
    job.errors.add("initializer " + quote(name) +
                   " has a name by which plans know weights that are drawn; give it another one");
  if (name == "__metadata__")
    job.errors.add("initializer " + quote(name) +
                   " has a name that is reserved in safetensors files, which hold the weights; rename it");
  job.weights.insert(name, weight);
  bindings.emplace_back(name, Binding::state(declareState(job.symbols, name, weight.type, role, InitKind::Weights,
                                                          isFrozen(name, role), aliases.lookup(name))));
  // Operators may need to know a number at import (a bound, the scales of a resize, indices). Such numbers are not
  // trained.
  if (weight.type.getNumElements() <= 64 || !llvm::isa<mlir::FloatType>(weight.type.getElementType()))
    bindings.back().second.known = std::make_shared<const Literal>(Literal::fromBytes(weight.type, weight.bytes));
}

// Reports patterns that match nothing. Such a pattern is a mistake of the user.
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
