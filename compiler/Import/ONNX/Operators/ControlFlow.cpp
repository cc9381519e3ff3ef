#include "compiler/Import/ONNX/Operators/ControlFlow.h"
#include "compiler/Import/ONNX/Evaluate.h"
#include "compiler/Import/ONNX/File/DeclaredTypes.h"
#include "compiler/Import/ONNX/File/TensorReader.h"
#include "compiler/Import/ONNX/FunctionImporter.h"
#include "compiler/Import/ONNX/Operators/KnownOperators.h"
#include "compiler/Import/ONNX/Operators/Stacking.h"
#include "compiler/Import/ONNX/StaticOperands.h"

#include "llvm/ADT/StringSwitch.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;
using llvm::FailureOr;

bool ControlFlow::imports(const FlatNode &node) {
  llvm::StringRef op = node.proto->op_type();
  return canonicalDomain(node.proto->domain()).empty() && (op == "If" || op == "Loop" || op == "Scan");
}

LogicalResult ControlFlow::import(OpContext &op) {
  return op.name() == "If" ? importIf(op) : op.name() == "Loop" ? importLoop(op) : importScan(op);
}

static constexpr const char kRemedy[] = "; a static plan takes no branches that depend on data: export with fixed "
                                        "shapes, and compute the value from sizes and "
                                        "constants alone";

// Returns a number or truth value that must be known at import.
static FailureOr<int64_t> knownNumber(OpContext &op, size_t input, llvm::StringRef what) {
  StaticOperand known = staticOperand(op, input);
  if (known && known->numElements() == 1)
    return known->asInt(0);
  if (known)
    return op.fail("its " + what + " must be one number; got shape " + formatShape(known->shape()));
  return op.fail("its " + what + " " + quote(op.inputName(input)) + " depends on the model's inputs" + kRemedy);
}

//===----------------------------------------------------------------------===//
// Graphs of a node
//===----------------------------------------------------------------------===//

// Returns the steps of one turn, in addition to those of its operators: the names that it defines and removes, and the
// texts of its nodes, which it reads, all but the tensors.
static uint64_t stepsOf(const onnx::GraphProto &graph, const FlatGraph &flat) {
  constexpr uint64_t kBytesOfStep = 16;
  uint64_t bytes = 0, names = uint64_t(graph.initializer_size());
  for (const auto *infos : {&graph.input(), &graph.output(), &graph.value_info()})
    for (const onnx::ValueInfoProto &info : *infos) {
      bytes += info.ByteSizeLong();
      ++names;
    }
  for (const onnx::TensorProto &tensor : graph.initializer())
    bytes += tensor.name().size();
  for (const FlatNode &node : flat.nodes) {
    bytes += node.proto->ByteSizeLong();
    names += uint64_t(node.proto->input_size() + node.proto->output_size());
    for (const onnx::AttributeProto &attribute : node.proto->attribute())
      bytes -= attribute.t().ByteSizeLong() + attribute.g().ByteSizeLong();
  }
  return names + bytes / kBytesOfStep;
}

FailureOr<const ControlFlow::Body *> ControlFlow::prepare(OpContext &op, llvm::StringRef attribute) {
  const onnx::AttributeProto *found = op.attribute(attribute);
  if (!found || !found->has_g())
    return op.fail("its graph `" + attribute + "` is missing");
  // A function can call itself in a graph of one of its nodes.
  if (depth_ >= kMaxDepth)
    return op.fail("branches and loops are nested deeper than " + llvm::Twine(kMaxDepth));
  if (auto known = bodies_.find(&found->g()); known != bodies_.end())
    return &known->second;
  auto isOuter = [&](llvm::StringRef name) { return environment_.binding(name).kind != Binding::Kind::Absent; };
  auto flat = flattenGraph(file_, found->g(), {op.opsets(), isOuter, numCalls_}, op.emit.budget);
  if (!flat)
    return op.fail("in `" + attribute + "`: " + llvm::toString(flat.takeError()));
  numCalls_ = flat->numCalls;
  Body body{&found->g(), std::make_shared<const FlatGraph>(std::move(*flat)), {}, 0};
  body.stepsOfTurn = stepsOf(*body.proto, *body.graph);
  keep_(body.graph);
  ErrorList unknown;
  reportUnknownOperators(*body.graph, unknown);
  if (!unknown.empty())
    return op.fail("in `" + attribute + "`: " + llvm::toString(unknown.take()));
  if (failed(readInitializers(op, body)))
    return failure();
  return &bodies_.emplace(body.proto, std::move(body)).first->second;
}

LogicalResult ControlFlow::readInitializers(OpContext &op, Body &body) {
  for (const onnx::TensorProto &tensor : body.proto->initializer()) {
    auto value = op.tensors.readLiteral(tensor);
    if (!value)
      return op.fail("initializer " + quote(tensor.name()) + " of its graph: " + llvm::toString(value.takeError()));
    if (op.mode.training && value->isFloat())
      op.note(op.describe() + ": initializer " + quote(tensor.name()) +
              " lies in a graph of the node and is not trained; move it to the model's graph to train it");
    body.initializers.emplace_back(tensor.name(), Binding::literal(std::move(*value)));
  }
  return success();
}

FailureOr<ControlFlow::Bindings> ControlFlow::run(OpContext &op, const Body &body, const Bindings &inputs) {
  Budget &budget = op.emit.budget;
  auto asker = [&] { return op.describe(); };
  if (!budget.draw(Budget::Kind::Nodes, 1 + body.graph->nodes.size(), asker) ||
      !budget.draw(Budget::Kind::Work, body.stepsOfTurn, asker))
    return failure();
  if (size_t(body.proto->input_size()) != inputs.size())
    return op.fail("its graph must have " + llvm::Twine(inputs.size()) + " inputs; got " +
                   llvm::Twine(body.proto->input_size()));
  size_t errors = errors_.size();
  auto location = op.emit.loc;
  std::vector<std::pair<std::string, Binding>> hidden; // outer bindings of names that the graph defines, too
  auto define = [&](const std::string &name, const Binding &binding) {
    hidden.emplace_back(name, environment_.binding(name));
    environment_.define(name, binding);
  };
  for (const auto &[name, binding] : body.initializers)
    define(name, binding);
  for (auto [input, binding] : llvm::zip(body.proto->input(), inputs))
    define(input.name(), binding);
  ++depth_;
  importNodes_(*body.graph);
  --depth_;
  op.emit.loc = location;
  checkDeclaredElements(*body.proto, op.describe() + ": in its graph, ", environment_, op.emit.builder.getContext(),
                        errors_);
  Bindings outputs;
  for (const auto &output : body.proto->output())
    outputs.push_back(environment_.binding(output.name()));
  for (const FlatNode &node : body.graph->nodes)
    for (const std::string &output : node.proto->output())
      environment_.define(output, Binding());
  for (auto &[name, binding] : llvm::reverse(hidden))
    environment_.define(name, std::move(binding));
  // An error of one turn would occur in all turns, so the loop ends here.
  if (budget.isExhausted() || errors_.size() != errors)
    return failure();
  for (auto [output, binding] : llvm::zip(body.proto->output(), outputs)) {
    if (binding.kind == Binding::Kind::Absent)
      return op.fail("output " + quote(output.name()) + " of its graph is defined by no node");
    if (binding.kind == Binding::Kind::Failed)
      return failure();
  }
  return outputs;
}

//===----------------------------------------------------------------------===//
// Parts of tensors, and tensors of parts
//===----------------------------------------------------------------------===//

FailureOr<Binding> ControlFlow::sliceOf(OpContext &op, Binding binding, int64_t axis, int64_t index) {
  Value value = binding.isKnown() ? Value() : environment_.materialize(binding);
  Shape sizes(value ? shapeOf(value) : binding.known->shape()), starts(sizes.size(), 0), steps(sizes.size(), 1);
  sizes[axis] = 1, starts[axis] = index;
  Shape shape = reducedShape(sizes, {axis}, false);
  if (!value)
    if (auto part = sliceLiteral(*binding.known, starts, sizes, steps))
      return Binding::literal(part->withShape(shape));
  value = value ? value : environment_.materialize(binding);
  return Binding::computed(op.emit.reshape(op.emit.slice(value, starts, sizes, steps), shape));
}

// Returns the stacked output of a body that never ran.
static FailureOr<Binding> emptyStack(OpContext &op, int64_t axis, const onnx::ValueInfoProto &declared) {
  const auto &type = declared.type().tensor_type();
  mlir::Type element = elementTypeOf(op.emit.context(), type.elem_type());
  Shape shape;
  bool isKnown = element && type.has_shape();
  for (const auto &dim : type.shape().dim()) {
    isKnown &= dim.has_dim_value();
    shape.push_back(dim.dim_value());
  }
  if (!isKnown || axis > int64_t(shape.size()))
    return op.fail("it never runs, and its graph does not say the shape of its output " + quote(declared.name()));
  shape.insert(shape.begin() + axis, 0);
  if (!countElements(shape) || int64_t(shape.size()) > kMaxRank)
    return op.fail("it never runs, and its graph declares its output " + quote(declared.name()) + " with the shape " +
                   formatShape(llvm::ArrayRef<int64_t>(shape).drop_front()) +
                   ", which is negative somewhere or too large; correct the declaration");
  Literal empty(element, shape);
  empty.push(int64_t(0));
  return Binding::literal(std::move(empty));
}

FailureOr<Binding> ControlFlow::stack(OpContext &op, Bindings parts, int64_t axis,
                                      const onnx::ValueInfoProto &declared) {
  int64_t rank = declared.type().tensor_type().shape().dim_size();
  for (const Binding &part : parts) {
    if (part.kind == Binding::Kind::Sequence)
      return op.fail("its output " + quote(declared.name()) + " is a sequence; expected a tensor to be stacked");
    rank = part.isKnown() ? part.known->rank() : rankOf(environment_.materialize(const_cast<Binding &>(part)));
  }
  auto dim = op.axis(axis, rank + 1);
  if (failed(dim))
    return failure();
  if (parts.empty())
    return emptyStack(op, *dim, declared);
  if (llvm::all_of(parts, [](const Binding &part) { return part.isKnown(); })) {
    std::vector<Literal> literals;
    for (const Binding &part : parts)
      literals.push_back(part.known->withShape(unsqueezed(part.known->shape(), *dim)));
    auto pointers = llvm::map_to_vector(literals, [](const Literal &literal) { return &literal; });
    auto isAlike = [&](const Literal &literal) { return literal.type() == literals[0].type(); };
    if (llvm::all_of(literals, isAlike))
      if (auto whole = concatLiterals(pointers, *dim))
        return Binding::literal(std::move(*whole));
  }
  llvm::SmallVector<Value> values;
  for (Binding &part : parts)
    values.push_back(environment_.materialize(part));
  for (Value value : values)
    if (value.getType() != values[0].getType())
      return op.fail("its output " + quote(declared.name()) + " has the shape " + formatShape(shapeOf(values[0])) +
                     " in the first turn and " + formatShape(shapeOf(value)) + " in a later one; expected one type");
  for (Value &value : values)
    value = unsqueeze(op.emit, value, *dim);
  return Binding::computed(op.emit.concat(values, *dim));
}

//===----------------------------------------------------------------------===//
// The operators
//===----------------------------------------------------------------------===//

LogicalResult ControlFlow::importIf(OpContext &op) {
  auto condition = knownNumber(op, 0, "condition");
  if (failed(condition))
    return failure();
  auto branch = prepare(op, *condition ? "then_branch" : "else_branch");
  if (failed(branch))
    return failure();
  auto outputs = run(op, **branch, {});
  if (failed(outputs))
    return failure();
  if (outputs->size() < op.numOutputs())
    return op.fail("the branch that it takes has fewer outputs than the node");
  for (size_t i = 0; i < op.numOutputs(); ++i)
    op.define(i, (*outputs)[i]);
  return success();
}

void ControlFlow::Turns::take(const Bindings &outputs, size_t first) {
  carried.assign(outputs.begin() + first, outputs.begin() + first + carried.size());
  for (size_t i = 0; i < stacked.size(); ++i)
    stacked[i].parts.push_back(outputs[first + carried.size() + i]);
}

LogicalResult ControlFlow::defineResults(OpContext &op, const Body &body, Turns &turns, size_t first) {
  size_t numCarried = turns.carried.size();
  for (size_t i = 0; i < op.numOutputs(); ++i) {
    if (!op.wants(i))
      continue;
    if (i < numCarried) {
      op.define(i, turns.carried[i]);
      continue;
    }
    Stacked &made = turns.stacked[i - numCarried];
    if (made.isBackward)
      std::reverse(made.parts.begin(), made.parts.end());
    auto whole = stack(op, std::move(made.parts), made.axis, body.proto->output(int(first + i)));
    if (failed(whole))
      return failure();
    op.define(i, std::move(*whole));
  }
  return success();
}

FailureOr<ControlFlow::Conditions> ControlFlow::readConditions(OpContext &op) {
  Conditions result;
  result.asks = op.has(1);
  if (!op.has(0) && !result.asks)
    return op.fail("it has neither a trip count nor a condition, and never ends");
  if (op.has(0)) {
    auto trips = knownNumber(op, 0, "trip count");
    if (failed(trips))
      return failure();
    result.trips = *trips;
  }
  if (result.asks) {
    auto goesOn = knownNumber(op, 1, "condition");
    if (failed(goesOn))
      return failure();
    result.goesOn = *goesOn != 0;
  }
  return result;
}

LogicalResult ControlFlow::decide(OpContext &op, const Body &body, const Binding &next, int64_t turn,
                                  Conditions &conditions) {
  bool isAsked = conditions.asks || next.isKnown();
  StaticOperand known = isAsked ? staticOperand(op, next) : StaticOperand();
  if (!known || known->numElements() != 1) {
    if (!conditions.asks)
      return success();
    return op.fail("its condition " + quote(body.proto->output(0).name()) + " after turn " + llvm::Twine(turn + 1) +
                   " depends on the model's inputs" + kRemedy);
  }
  conditions.goesOn = known->asInt(0) != 0;
  if (conditions.asks || conditions.goesOn)
    return success();
  return op.fail("its graph ends it after " + llvm::Twine(turn + 1) +
                 " turns, and it has no condition: readers of the standard disagree whether that counts; give it the "
                 "condition true, or a trip count of " +
                 llvm::Twine(turn + 1));
}

LogicalResult ControlFlow::runLoop(OpContext &op, const Body &body, Conditions conditions, Turns &turns) {
  mlir::Type i1 = op.emit.builder.getI1Type();
  for (int64_t turn = 0; conditions.goesOn && (!conditions.trips || turn < *conditions.trips); ++turn) {
    Bindings inputs = {Binding::literal(Literal::ofInts(op.emit.i64(), {}, {turn})),
                       Binding::literal(Literal::ofInts(i1, {}, {1}))};
    llvm::append_range(inputs, turns.carried);
    auto outputs = run(op, body, inputs);
    if (failed(outputs))
      return failure();
    turns.take(*outputs, 1);
    bool isLast = conditions.trips && turn + 1 == *conditions.trips;
    if (!isLast && failed(decide(op, body, outputs->front(), turn, conditions)))
      return failure();
  }
  return success();
}

LogicalResult ControlFlow::importLoop(OpContext &op) {
  auto conditions = readConditions(op);
  if (failed(conditions))
    return failure();
  auto found = prepare(op, "body");
  if (failed(found))
    return failure();
  const Body &body = **found;
  size_t numCarried = op.numInputs() < 2 ? 0 : op.numInputs() - 2, numOutputs = size_t(body.proto->output_size());
  if (numOutputs < 1 + numCarried || numOutputs - 1 < op.numOutputs())
    return op.fail("its graph has " + llvm::Twine(numOutputs) + " outputs; expected a condition, " +
                   llvm::Twine(numCarried) + " values for the next turn, and what the node returns");
  Turns turns;
  for (size_t i = 2; i < op.numInputs(); ++i)
    turns.carried.push_back(environment_.binding(op.inputName(i)));
  turns.stacked.resize(numOutputs - 1 - numCarried);
  if (failed(runLoop(op, body, *conditions, turns)))
    return failure();
  return defineResults(op, body, turns, 1);
}

// Returns an attribute that has one entry for each of `count` tensors; without the attribute, zeros.
static FailureOr<Shape> perTensor(OpContext &op, llvm::StringRef name, size_t count) {
  Shape values = op.intsAttr(name).value_or(Shape(count, 0));
  if (values.size() != count)
    return op.fail("`" + name + "` must have " + llvm::Twine(count) + " numbers; got " + formatShape(values));
  return values;
}

FailureOr<std::vector<ControlFlow::Scanned>> ControlFlow::readScanned(OpContext &op, size_t numStates) {
  size_t count = op.numInputs() - numStates;
  auto axes = perTensor(op, "scan_input_axes", count), backward = perTensor(op, "scan_input_directions", count);
  if (failed(axes) || failed(backward))
    return failure();
  std::vector<Scanned> scanned;
  for (size_t i = 0; i < count; ++i)
    scanned.push_back({environment_.binding(op.inputName(numStates + i)), (*axes)[i], (*backward)[i] != 0});
  return scanned;
}

FailureOr<int64_t> ControlFlow::lengthOf(OpContext &op, std::vector<Scanned> &scanned) {
  std::optional<int64_t> length;
  for (Scanned &each : scanned) {
    Binding &source = each.source;
    Shape shape(source.isKnown() ? source.known->shape() : shapeOf(environment_.materialize(source)));
    auto axis = op.axis(each.axis, int64_t(shape.size()));
    if (failed(axis))
      return failure();
    each.axis = *axis;
    if (length.value_or(shape[*axis]) != shape[*axis])
      return op.fail("its inputs are scanned along dimensions of different sizes: " + llvm::Twine(*length) + " and " +
                     llvm::Twine(shape[*axis]));
    length = shape[*axis];
  }
  return *length;
}

LogicalResult ControlFlow::runScan(OpContext &op, const Body &body, const std::vector<Scanned> &scanned, int64_t length,
                                   Turns &turns) {
  for (int64_t turn = 0; turn < length; ++turn) {
    Bindings inputs = turns.carried;
    for (const Scanned &each : scanned) {
      auto part = sliceOf(op, each.source, each.axis, each.isBackward ? length - 1 - turn : turn);
      if (failed(part))
        return failure();
      inputs.push_back(std::move(*part));
    }
    auto outputs = run(op, body, inputs);
    if (failed(outputs))
      return failure();
    turns.take(*outputs, 0);
  }
  return success();
}

LogicalResult ControlFlow::importScan(OpContext &op) {
  int64_t count = op.intAttr("num_scan_inputs", 0);
  if (count < 1 || count > int64_t(op.numInputs()))
    return op.fail("`num_scan_inputs` must lie between 1 and " + llvm::Twine(op.numInputs()));
  auto found = prepare(op, "body");
  if (failed(found))
    return failure();
  const Body &body = **found;
  size_t numStates = op.numInputs() - size_t(count), numOutputs = size_t(body.proto->output_size());
  if (numOutputs < numStates || numOutputs < op.numOutputs())
    return op.fail("its graph has " + llvm::Twine(numOutputs) + " outputs; expected " + llvm::Twine(numStates) +
                   " values for the next turn, and what the node returns");
  auto scanned = readScanned(op, numStates);
  if (failed(scanned))
    return failure();
  auto outAxes = perTensor(op, "scan_output_axes", numOutputs - numStates),
       outBackward = perTensor(op, "scan_output_directions", numOutputs - numStates);
  if (failed(outAxes) || failed(outBackward))
    return failure();
  auto length = lengthOf(op, *scanned);
  if (failed(length))
    return failure();
  Turns turns;
  for (size_t i = 0; i < numStates; ++i)
    turns.carried.push_back(environment_.binding(op.inputName(i)));
  for (auto [axis, isBackward] : llvm::zip(*outAxes, *outBackward))
    turns.stacked.push_back({{}, axis, isBackward != 0});
  if (failed(runScan(op, body, *scanned, *length, turns)))
    return failure();
  return defineResults(op, body, turns, 0);
}
