// Imports RNN, GRU and LSTM, expanded over the sequence, whose length is static.
//
//   all steps at once:   xw = x W' + b                                  [length, batch, gates * hidden]
//   step t:              gates = xw[t] + h R',   h = cell(gates, h)
//
// One product uses W for all steps, and its gradient is one product, too. Each step has one product with R. The
// backward direction runs the steps in the opposite order. If samples have lengths of their own, a step past a sample's
// end gives 0 and keeps its state. This is right for both directions, because the backward direction then starts at
// each sample's last step.
#include "compiler/Import/ONNX/Operators/Activations.h"
#include "compiler/Import/ONNX/Operators/IndexRange.h"
#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "compiler/Import/ONNX/Operators/Stacking.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;
using llvm::FailureOr;

namespace {

using Function = Value (*)(Emitter &, Value);

// Returns null if the name is not that of a function without parameters.
Function functionOf(llvm::StringRef name) {
  if (name.equals_insensitive("Sigmoid"))
    return [](Emitter &emit, Value x) { return emit.unary<SigmoidOp>(x); };
  if (name.equals_insensitive("Tanh"))
    return [](Emitter &emit, Value x) { return emit.unary<TanhOp>(x); };
  if (name.equals_insensitive("Relu"))
    return [](Emitter &emit, Value x) { return emit.unary<ReluOp>(x); };
  if (name.equals_insensitive("Softsign"))
    return [](Emitter &emit, Value x) { return emit.div(x, emit.add(emit.unary<AbsOp>(x), 1.0)); };
  if (name.equals_insensitive("Softplus"))
    return emitSoftplus;
  return nullptr;
}

// A null value is zeros.
struct State {
  Value h, c;
};

// The operands of one direction.
struct Direction {
  Value w, r;     // [gates * hidden, input], [gates * hidden, hidden]
  Value wb, rb;   // [gates * hidden]; null: zeros
  Value peephole; // [3 * hidden], only for LSTM; null: none
  State initial;  // [batch, hidden]
  llvm::SmallVector<Function, 3> functions;
  bool isBackward = false;
  int64_t hidden = 0;
};

Value gate(Emitter &emit, const Direction &d, Value gates, int64_t i) {
  return emit.sliceDim(gates, rankOf(gates) - 1, i * d.hidden, d.hidden);
}

// x + h R'
Value withState(Emitter &emit, const Direction &d, Value x, Value h) {
  return h ? emit.add(x, emit.matmul(h, d.r, false, /*transposeB=*/true)) : x;
}

Value sumOf(Emitter &emit, Value a, Value b) { return a && b ? emit.add(a, b) : a ? a : b; }

// A kind of cell in one direction: the number of its gates, the bias of all steps' products, and one step. Parts of the
// weights that all steps use are made once.
struct Rnn {
  static constexpr int64_t kGates = 1;
  static constexpr const char *kFunctions[] = {"Tanh"};
  Rnn(OpContext &, const Direction &) {}
  Value bias(Emitter &emit, const Direction &d) const { return sumOf(emit, d.wb, d.rb); }
  State step(Emitter &emit, const Direction &d, Value x, State state) const {
    return {d.functions[0](emit, withState(emit, d, x, state.h)), Value()};
  }
};

// Gates i, o, f, c.
struct Lstm {
  static constexpr int64_t kGates = 4;
  static constexpr const char *kFunctions[] = {"Sigmoid", "Tanh", "Tanh"};
  Lstm(OpContext &, const Direction &) {}
  Value bias(Emitter &emit, const Direction &d) const { return sumOf(emit, d.wb, d.rb); }
  State step(Emitter &emit, const Direction &d, Value x, State state) const {
    Value gates = withState(emit, d, x, state.h);
    auto peeped = [&](int64_t which, Value into, Value c) {
      return d.peephole && c ? emit.add(into, emit.mul(c, gate(emit, d, d.peephole, which))) : into;
    };
    Value i = d.functions[0](emit, peeped(0, gate(emit, d, gates, 0), state.c));
    Value f = d.functions[0](emit, peeped(2, gate(emit, d, gates, 2), state.c));
    Value c = emit.mul(i, d.functions[1](emit, gate(emit, d, gates, 3)));
    c = state.c ? emit.add(emit.mul(f, state.c), c) : c;
    Value o = d.functions[0](emit, peeped(1, gate(emit, d, gates, 1), c));
    return {emit.mul(o, d.functions[2](emit, c)), c};
  }
};

// Gates z, r, h. In the form of the paper, r multiplies the state before the product. In PyTorch's form (the attribute
// linear_before_reset), r multiplies the product and its bias.
struct Gru {
  bool resetFirst;
  Value zr, candidate; // parts of R: for both gates, and for the candidate if r comes first
  Value candidateBias; // part of Rb, if r comes after the product; null: zeros
  static constexpr int64_t kGates = 3;
  static constexpr const char *kFunctions[] = {"Sigmoid", "Tanh"};
  Gru(OpContext &op, const Direction &d) : resetFirst(op.intAttr("linear_before_reset", 0) == 0) {
    if (resetFirst) {
      zr = op.emit.sliceDim(d.r, 0, 0, 2 * d.hidden);
      candidate = op.emit.sliceDim(d.r, 0, 2 * d.hidden, d.hidden);
    } else if (d.rb) {
      candidateBias = op.emit.sliceDim(d.rb, 0, 2 * d.hidden, d.hidden);
    }
  }
  Value bias(Emitter &emit, const Direction &d) const {
    if (resetFirst || !d.rb)
      return sumOf(emit, d.wb, d.rb);
    Value ofGates = emit.sliceDim(d.rb, 0, 0, 2 * d.hidden);
    Value zeros = emit.splat(0, typeOf(ofGates).clone(Shape{d.hidden}));
    return sumOf(emit, d.wb, emit.concat({ofGates, zeros}, 0));
  }
  State step(Emitter &emit, const Direction &d, Value x, State state) const {
    auto last = [&](Value of) { return gate(emit, d, of, 2); };
    Value fromState, h = state.h;
    if (h)
      fromState = emit.matmul(h, resetFirst ? zr : d.r, false, true);
    auto gateOf = [&](int64_t i) {
      Value own = gate(emit, d, x, i);
      return d.functions[0](emit, h ? emit.add(own, gate(emit, d, fromState, i)) : own);
    };
    Value z = gateOf(0), next = last(x);
    if (resetFirst && h)
      next = emit.add(next, emit.matmul(emit.mul(gateOf(1), h), candidate, false, true));
    else if (!resetFirst && (h || candidateBias))
      next = emit.add(next, emit.mul(gateOf(1), sumOf(emit, h ? last(fromState) : Value(), candidateBias)));
    next = d.functions[1](emit, next);
    Value keep = h ? emit.sub(h, next) : emit.neg(next);
    return {emit.add(next, emit.mul(z, keep)), Value()};
  }
};

// A node after all checks.
struct Recurrence {
  Value x;       // [length, batch, input]
  Value lengths; // [batch]; null: the whole sequence
  llvm::SmallVector<Direction, 2> directions;
  bool batchFirst = false;
  int64_t length() const { return shapeOf(x)[0]; }
  int64_t batch() const { return shapeOf(x)[1]; }
};

LogicalResult expectShape(OpContext &op, llvm::StringRef what, Value value, llvm::ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return success();
  return op.fail(what + " must have the shape " + formatShape(shape) + "; got " + formatShape(shapeOf(value)));
}

bool isZero(const Literal *known) {
  if (!known)
    return false;
  for (int64_t i = 0, n = known->isSplat() ? 1 : known->numElements(); i < n; ++i)
    if (known->asReal(i) != 0)
      return false;
  return true;
}

// True if `given` names a cell's own functions for both directions. This is the standard's default for RNN, which some
// exporters write into nodes of one direction, too.
template <typename Cell> bool isDefaultOfBoth(const onnx::AttributeProto &given) {
  size_t each = std::size(Cell::kFunctions);
  for (size_t i = 0; i < size_t(given.strings_size()); ++i)
    if (functionOf(given.strings(int(i))) != functionOf(Cell::kFunctions[i % each]))
      return false;
  return size_t(given.strings_size()) == 2 * each;
}

template <typename Cell> LogicalResult readFunctions(OpContext &op, Recurrence &node) {
  const onnx::AttributeProto *given = op.attribute("activations");
  size_t each = std::size(Cell::kFunctions), all = each * node.directions.size();
  if (given && given->strings_size() != 0 && size_t(given->strings_size()) != all && !isDefaultOfBoth<Cell>(*given))
    return op.fail("`activations` must have " + llvm::Twine(all) + " names; got " + llvm::Twine(given->strings_size()));
  for (size_t i = 0; i < all; ++i) {
    std::string name = given && given->strings_size() ? given->strings(int(i)) : Cell::kFunctions[i % each];
    Function function = functionOf(name);
    if (!function)
      return op.fail("the activation " + quote(name) +
                     " is not supported; expected Sigmoid, Tanh, Relu, Softsign or Softplus");
    node.directions[i / each].functions.push_back(function);
  }
  return success();
}

LogicalResult refuseAttributes(OpContext &op) {
  if (op.floatAttr("clip", 0) != 0)
    return op.fail("`clip` is not supported");
  if (op.intAttr("input_forget", 0) != 0)
    return op.fail("`input_forget` is not supported");
  return success();
}

LogicalResult readLengths(OpContext &op, Recurrence &node) {
  if (!op.has(4))
    return success();
  if (failed(expectShape(op, "sequence_lens", op.value(4), {node.batch()})))
    return failure();
  if (const Literal *known = op.literal(4); known && !known->isFloat()) {
    bool isWhole = true;
    for (int64_t i = 0, n = known->isSplat() ? 1 : known->numElements(); i < n; ++i) {
      int64_t length = known->asInt(i);
      if (length < 0 || length > node.length())
        return op.fail("sequence_lens holds " + llvm::Twine(length) + "; expected 0 to " + llvm::Twine(node.length()));
      isWhole &= length == node.length();
    }
    if (isWhole)
      return success();
    node.lengths = op.value(4);
    return success();
  }
  node.lengths = checkLabels(op.emit, op.emit.cast(op.value(4), op.emit.i64()), node.length() + 1, std::nullopt);
  return success();
}

template <typename Cell> FailureOr<Recurrence> readRecurrence(OpContext &op) {
  Emitter &emit = op.emit;
  Recurrence node;
  Value x = op.value(0), w = op.value(1), r = op.value(2), bias = op.has(3) ? op.value(3) : Value();
  if (failed(refuseAttributes(op)) || failed(op.expectFloat(x)) || failed(op.expectRank(x, 3, 3)) ||
      failed(op.expectRank(w, 3, 3)) || failed(op.expectRank(r, 3, 3)))
    return failure();
  node.batchFirst = op.intAttr("layout", 0) != 0;
  node.x = node.batchFirst ? emit.transpose(x, {1, 0, 2}) : x;
  std::string way = op.stringAttr("direction", "forward");
  if (way != "forward" && way != "reverse" && way != "bidirectional")
    return op.fail("direction " + quote(way) + " is not known; expected forward, reverse or bidirectional");
  int64_t count = way == "bidirectional" ? 2 : 1, hidden = shapeOf(r)[2], gates = Cell::kGates * hidden;
  if (node.length() == 0)
    return op.fail("its sequence has no steps; give the sequence a length of at least 1");
  if (op.intAttr("hidden_size", hidden) != hidden)
    return op.fail("hidden_size is " + llvm::Twine(op.intAttr("hidden_size", hidden)) + ", and R has the shape " +
                   formatShape(shapeOf(r)));
  if (failed(expectShape(op, "W", w, {count, gates, shapeOf(x)[2]})) ||
      failed(expectShape(op, "R", r, {count, gates, hidden})) ||
      (bias && failed(expectShape(op, "B", bias, {count, 2 * gates}))) || failed(readLengths(op, node)))
    return failure();
  Shape states{count, node.batch(), hidden};
  if (node.batchFirst)
    std::swap(states[0], states[1]);
  Value initial[2];
  for (size_t i = 5; i < 7 && i < op.numInputs(); ++i)
    if (op.has(i) && !isZero(op.literal(i))) {
      initial[i - 5] = op.value(i);
      if (failed(expectShape(op, i == 5 ? "initial_h" : "initial_c", initial[i - 5], states)))
        return failure();
    }
  Value peephole = op.has(7) && !isZero(op.literal(7)) ? op.value(7) : Value();
  if (peephole && failed(expectShape(op, "P", peephole, {count, 3 * hidden})))
    return failure();
  for (int64_t i = 0; i < count; ++i) {
    auto stateOf = [&](Value all) { return all ? partOf(emit, all, node.batchFirst ? 1 : 0, i) : all; };
    Direction d;
    d.hidden = hidden;
    d.isBackward = way == "reverse" || i == 1;
    d.w = partOf(emit, w, 0, i), d.r = partOf(emit, r, 0, i);
    if (bias) {
      Value both = partOf(emit, bias, 0, i);
      d.wb = emit.sliceDim(both, 0, 0, gates), d.rb = emit.sliceDim(both, 0, gates, gates);
    }
    d.peephole = peephole ? partOf(emit, peephole, 0, i) : peephole;
    d.initial = {stateOf(initial[0]), stateOf(initial[1])};
    node.directions.push_back(d);
  }
  if (failed(readFunctions<Cell>(op, node)))
    return failure();
  return node;
}

// Returns `next` for the samples that reach step t, and `before` for the others.
Value whereReached(Emitter &emit, const Recurrence &node, int64_t t, Value next, Value before) {
  if (!next || !node.lengths)
    return next;
  Value reached = emit.compare(Predicate::Gt, node.lengths, double(t));
  reached = emit.broadcastDims(reached, shapeOf(next), {0});
  return emit.select(reached, next, before ? before : emit.splat(0, typeOf(next)));
}

// Runs one direction. `results` gets each step's result in the order of the sequence. Returns the state at the end.
template <typename Cell>
State runDirection(Emitter &emit, const Cell &cell, const Recurrence &node, const Direction &d,
                   std::vector<Value> &results) {
  Value all = emit.matmul(node.x, d.w, false, /*transposeB=*/true);
  if (Value bias = cell.bias(emit, d))
    all = emit.add(all, bias);
  if (!emit.budget.draw(Budget::Kind::Work, uint64_t(node.length())))
    return d.initial;
  results.resize(size_t(node.length()));
  State state = d.initial;
  // A single step without an initial state would not use R, but R is a parameter of the model.
  if (!state.h && node.length() == 1)
    state.h = emit.splat(0, typeOf(all).clone(Shape{node.batch(), d.hidden}));
  for (int64_t step = 0; step < node.length() && !emit.budget.isExhausted(); ++step) {
    int64_t t = d.isBackward ? node.length() - 1 - step : step;
    State next = cell.step(emit, d, partOf(emit, all, 0, t), state);
    results[size_t(t)] = whereReached(emit, node, t, next.h, Value());
    state = {whereReached(emit, node, t, next.h, state.h), whereReached(emit, node, t, next.c, state.c)};
  }
  return state;
}

// Joins parts [batch, hidden], one for each direction, to [directions, batch, hidden], or to [batch, directions,
// hidden].
Value joinStates(Emitter &emit, const Recurrence &node, llvm::ArrayRef<Value> parts) {
  int64_t dim = node.batchFirst ? 1 : 0;
  llvm::SmallVector<Value> wide;
  for (Value part : parts)
    wide.push_back(unsqueeze(emit, part, dim));
  return emit.concat(wide, dim);
}

template <typename Cell> LogicalResult importRecurrence(OpContext &op) {
  Emitter &emit = op.emit;
  auto node = readRecurrence<Cell>(op);
  if (failed(node))
    return failure();
  llvm::SmallVector<Value> sequences, hs, cs;
  for (const Direction &direction : node->directions) {
    std::vector<Value> steps;
    State last = runDirection(emit, Cell(op, direction), *node, direction, steps);
    if (emit.budget.isExhausted())
      return failure();
    hs.push_back(last.h), cs.push_back(last.c);
    if (!op.wants(0))
      continue;
    Shape shape{1, 1, node->batch(), direction.hidden};
    llvm::SmallVector<Value> wide;
    for (Value step : steps)
      wide.push_back(emit.reshape(step, shape));
    sequences.push_back(emit.concat(wide, 0));
  }
  if (op.wants(0)) {
    Value all = emit.concat(sequences, 1);
    if (failed(op.result(0, node->batchFirst ? emit.transpose(all, {2, 0, 1, 3}) : all)))
      return failure();
  }
  if (op.wants(1) && failed(op.result(1, joinStates(emit, *node, hs))))
    return failure();
  return op.wants(2) ? op.result(2, joinStates(emit, *node, cs)) : success();
}

} // namespace

void cleave::onnx_import::addRecurrentOperators(OperatorTable &table) {
  table.add("RNN", 13, inF32<importRecurrence<Rnn>>);
  table.add("GRU", 13, inF32<importRecurrence<Gru>>);
  table.add("LSTM", 13, inF32<importRecurrence<Lstm>>);
}
