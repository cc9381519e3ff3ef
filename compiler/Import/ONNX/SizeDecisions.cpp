#include "compiler/Import/ONNX/SizeDecisions.h"
#include "compiler/Import/ONNX/DecisionKinds.h"
#include "compiler/Import/ONNX/DecisionLinearity.h"

#include "llvm/ADT/StringMap.h"

using namespace cleave;
using namespace cleave::onnx_import;

namespace {

std::shared_ptr<const Literal> knownAt(const onnx::NodeProto &node, int input, Environment &environment) {
  if (input >= node.input_size())
    return nullptr;
  const Binding &binding = environment.binding(node.input(input));
  return binding.kind == Binding::Kind::Known ? binding.known : nullptr;
}

// Reads the operands of a Slice. For each start and end they have the size of its dimension, and its distance from the
// dimension's beginning or end. Returns false if they are not known.
bool readCut(const onnx::NodeProto &node, Environment &environment, Decision &decision) {
  bool hasAxes = node.input_size() > 3 && !node.input(3).empty();
  auto starts = knownAt(node, 1, environment), ends = knownAt(node, 2, environment),
       axes = knownAt(node, 3, environment), known = knownAt(node, 0, environment);
  Value data = known ? Value() : environment.binding(node.input(0)).value;
  if (!starts || !ends || (hasAxes && !axes) || (!known && !data))
    return false;
  llvm::ArrayRef<int64_t> shape = known ? known->shape() : shapeOf(data);
  Shape sizes, bounds;
  for (const auto &numbers : {starts, ends})
    for (int64_t i = 0; i < numbers->numElements(); ++i) {
      int64_t axis = axes ? axes->asInt(i) : i, bound = numbers->asInt(i);
      sizes.push_back(shape[axis < 0 ? axis + int64_t(shape.size()) : axis]);
      bounds.push_back(bound == INT64_MIN ? INT64_MAX : std::abs(bound));
    }
  for (const Shape &numbers : {sizes, bounds})
    decision.operands.push_back(
        std::make_shared<const Literal>(Literal::vector(starts->element().getContext(), numbers)));
  return true;
}

// Returns the names, and the names of all values that are computed from them.
llvm::StringSet<> reachedFrom(const FlatGraph &graph, llvm::StringSet<> names) {
  for (const FlatNode &node : graph.nodes) {
    bool isReached = false;
    forEachNode(FlatGraph{{node}, {}, {}, 0}, [&](const onnx::NodeProto &inner) {
      isReached |= llvm::any_of(inner.input(), [&](const std::string &input) { return names.contains(input); });
    });
    for (const onnx::AttributeProto &attribute : node.proto->attribute())
      // A branch may return a name of the graph without a node of its own.
      for (const auto &output : attribute.g().output())
        isReached |= names.contains(output.name());
    if (isReached)
      for (const std::string &output : node.proto->output())
        if (!output.empty())
          names.insert(output);
  }
  return names;
}

} // namespace

void Decisions::add(const onnx::NodeProto &node, const onnx::NodeProto &outer, Environment &environment) {
  using Kind = DecisionKind;
  Kind kind = canonicalDomain(node.domain()).empty() ? decisionKindOf(node.op_type()) : Kind::Other;
  if (kind == Kind::Line || node.output_size() == 0)
    return;
  Decision decision{&node, &outer, {}, nullptr};
  if (kind == Kind::Cut && !readCut(node, environment, decision))
    return;
  for (int i = 0; kind != Kind::Cut && i < node.input_size(); ++i) {
    decision.operands.push_back(knownAt(node, i, environment));
    if (!decision.operands.back() && !node.input(i).empty())
      return;
  }
  const Binding &result = environment.binding(node.output(0));
  decision.result = result.kind == Binding::Kind::Known ? result.known : nullptr;
  all.push_back(std::move(decision));
}

llvm::StringSet<> cleave::outputsDecidedBySize(const ImportedModel &one, const ImportedModel &other) {
  if (!one.decisions || !other.decisions || one.decisions->batch == other.decisions->batch)
    return {};
  // The nodes of a loop's body occur once for each iteration, so the n-th decision of a name is compared with the n-th.
  llvm::StringMap<llvm::SmallVector<const Decision *>> twins;
  for (const Decision &decision : other.decisions->all)
    twins[decision.node->output(0)].push_back(&decision);
  llvm::StringMap<size_t> turns;
  llvm::StringSet<> names;
  for (const Decision &decision : one.decisions->all) {
    const auto &same = twins[decision.node->output(0)];
    size_t turn = turns[decision.node->output(0)]++;
    if (turn < same.size() && isNonlinearInBatch(decision, *same[turn], one.decisions->batch, other.decisions->batch))
      for (const std::string &output : decision.outer->output())
        if (!output.empty())
          names.insert(output);
  }
  return names.empty() ? names : reachedFrom(*one.decisions->graph, std::move(names));
}
