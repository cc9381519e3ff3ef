#include "compiler/Import/ONNX/SizeDecisions.h"
#include "compiler/Import/ONNX/Evaluate.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace cleave;
using namespace cleave::onnx_import;

namespace {

// How the result hangs on the operands.
enum class Kind {
  Line,      // elements that are moved, and sums: lines stay lines
  Product,   // a line where one factor is the same for every number of samples
  Products,  // of one operand's elements
  Less,      // a < b, a >= b: whether the difference is below zero
  Greater,   // a > b, a <= b
  Equal,     // a == b
  Choice,    // the smaller or the larger one of the operands
  Reduction, // that of one operand's elements
  Bend,      // another line below zero: |x|
  Sign,      // a step at zero
  Quotient,  // rounded, with the rest
  Rounding,
  Cut,   // where a slice ends (b) in a dimension (a)
  Other, // not known, and so another line
};

Kind kindOf(llvm::StringRef op) {
  return llvm::StringSwitch<Kind>(op)
      .Cases(
          {"Shape", "Size", "Identity", "Concat", "Split", "Squeeze", "Unsqueeze", "Reshape", "Flatten", "Transpose"},
          Kind::Line)
      .Cases({"Expand", "Tile", "Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND"}, Kind::Line)
      .Cases({"Range", "ConstantOfShape", "EyeLike", "Trilu", "OneHot", "Pad", "Compress", "NonZero"}, Kind::Line)
      .Cases(
          {"Add", "Sub", "Sum", "Mean", "Neg", "ReduceSum", "ReduceMean", "CumSum", "Where", "Not", "And", "Or", "Xor"},
          Kind::Line)
      .Case("Mul", Kind::Product)
      .Case("ReduceProd", Kind::Products)
      .Cases({"Less", "GreaterOrEqual"}, Kind::Less)
      .Cases({"Greater", "LessOrEqual"}, Kind::Greater)
      .Case("Equal", Kind::Equal)
      .Cases({"Max", "Min", "Clip"}, Kind::Choice)
      .Cases({"ReduceMax", "ReduceMin", "ArgMax", "ArgMin"}, Kind::Reduction)
      .Cases({"Abs", "Relu"}, Kind::Bend)
      .Case("Sign", Kind::Sign)
      .Cases({"Div", "Mod"}, Kind::Quotient)
      .Cases({"Floor", "Ceil", "Round", "Cast"}, Kind::Rounding)
      .Case("Slice", Kind::Cut)
      .Default(Kind::Other);
}

// The largest number of samples that is asked about; above it, the end of a slice stands for no end.
constexpr double kMostSamples = 2147483647.0;

// A number in the two imports, and with it those of every number of samples.
struct Line {
  double one, other;  // with `batch` and `otherBatch` samples
  double first, last; // with one sample, and with the most
  double slope;       // for each sample
  double least() const { return std::min(first, last); }
  double most() const { return std::max(first, last); }
  bool isConstant() const { return one == other; }
  bool isWhole() const { return std::trunc(one) == one && std::trunc(slope) == slope; }
};

bool isBelow(const Line &line) { return line.most() < 0; }
bool isAbove(const Line &line) { return line.least() > 0; }
bool isNotBelow(const Line &line) { return line.least() >= 0; }
bool isNotAbove(const Line &line) { return line.most() <= 0; }

// The element of an operand that broadcasts: its dimensions stand at the end of the result's.
int64_t placeOf(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> strides) {
  int64_t place = 0;
  for (auto [at, stride] : llvm::zip(index.take_back(strides.size()), strides))
    place += at * stride;
  return place;
}

// A decision in both imports.
class Question {
public:
  Question(const Decision &one, const Decision &other, int64_t batch, int64_t otherBatch)
      : one(one), other(other), batch(double(batch)), otherBatch(double(otherBatch)) {}

  // Whether the result is another line for some number of samples.
  bool turns() const {
    if (one.operands.size() != other.operands.size() || !differs())
      return false;
    if (growing())
      return hidesElements();
    switch (kindOf(one.op)) {
    case Kind::Line:
      return false;
    case Kind::Product:
      return anyPairOf(0, 1, [](const Line &a, const Line &b) { return !a.isConstant() && !b.isConstant(); });
    case Kind::Products:
      return numGrowing() > 1;
    case Kind::Less:
      return anyDifference([](const Line &d) { return !isBelow(d) && !isNotBelow(d); });
    case Kind::Greater:
      return anyDifference([](const Line &d) { return !isAbove(d) && !isNotAbove(d); });
    case Kind::Equal:
      return anyDifference(touchesZero);
    case Kind::Choice:
      return anyDifference(crossesZero);
    case Kind::Reduction:
      return anyPair(crossesZero);
    case Kind::Bend:
      return anyElement(crossesZero);
    case Kind::Sign:
      return anyElement(touchesZero);
    case Kind::Quotient:
      return anyQuotient(one.op == "Div" && one.operands[0]->isFloat());
    case Kind::Rounding:
      return anyElement(roundingTurns());
    case Kind::Cut: // of a dimension that does not grow, a longer part is an error of the model
      return anyPairOf(0, 1, [&](const Line &size, const Line &end) {
        return !size.isConstant() && crossesZero(lineOf(size.one - end.one, size.other - end.other));
      });
    case Kind::Other:
      return true;
    }
    return true;
  }

private:
  using Test = llvm::function_ref<bool(const Line &)>;

  static bool touchesZero(const Line &line) {
    return !isBelow(line) && !isAbove(line) && !(line.one == 0 && line.other == 0);
  }
  static bool crossesZero(const Line &line) { return !isNotBelow(line) && !isNotAbove(line); }
  static bool isNotWhole(const Line &line) { return !line.isWhole(); }
  // A cast to truth values is a step at zero, and one to floating point no rounding.
  Test roundingTurns() const {
    if (one.op != "Cast" || !one.result)
      return isNotWhole;
    if (one.result->isBool())
      return touchesZero;
    return one.result->isFloat() ? Test([](const Line &) { return false; }) : Test(isNotWhole);
  }

  Line lineOf(double at, double otherAt) const {
    double slope = (otherAt - at) / (otherBatch - batch);
    return {at, otherAt, at + slope * (1 - batch), at + slope * (kMostSamples - batch), slope};
  }
  static double element(const Literal &literal, int64_t i) {
    return literal.isFloat() ? literal.asReal(i) : double(literal.asInt(i));
  }
  Line lineAt(size_t operand, int64_t i) const {
    return lineOf(element(*one.operands[operand], i), element(*other.operands[operand], i));
  }
  static bool isEqual(const Literal &a, const Literal &b) {
    return a.shape() == b.shape() && (a.bytes() == b.bytes() || a.numElements() == 0);
  }

  bool differs() const {
    for (auto [operand, twin] : llvm::zip(one.operands, other.operands))
      if (operand && twin && !isEqual(*operand, *twin))
        return true;
    return false;
  }
  bool growing() const {
    for (auto [operand, twin] : llvm::zip(one.operands, other.operands))
      if (operand && twin && operand->shape() != twin->shape())
        return true;
    return false;
  }
  // A list that has more elements with more samples says nothing of those of further samples. Where its results differ
  // from each other, the constants do. Where all are the same, those of further samples may be others.
  bool hidesElements() const {
    if (!one.result || !other.result || kindOf(one.op) == Kind::Reduction)
      return false;
    auto isUniform = [](const Literal &literal) {
      auto [low, high] = rangeOf(literal);
      return low == high;
    };
    bool isList = llvm::any_of(other.operands, [&](const auto &operand) { return operand && !isUniform(*operand); });
    return isList && isUniform(*one.result) && isUniform(*other.result) && !keepsSide();
  }
  // Whether all elements stay on one side, however many there are: as in Where(i < 0, i + n, i) of an exporter.
  bool keepsSide() const {
    if (one.operands.size() != 2 || !one.operands[1] || !other.operands[1]) // such as axes that are not given
      return false;
    auto [low, high] = differences(one);
    auto [otherLow, otherHigh] = differences(other);
    Line lower = lineOf(low, otherLow), upper = lineOf(high, otherHigh);
    switch (kindOf(one.op)) {
    case Kind::Less:
    case Kind::Choice:
      return isNotBelow(lower) || isBelow(upper);
    case Kind::Greater:
      return isNotAbove(upper) || isAbove(lower);
    case Kind::Equal:
      return isAbove(lower) || isBelow(upper);
    default:
      return false;
    }
  }
  static std::pair<double, double> rangeOf(const Literal &literal) {
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0, count = literal.isSplat() ? 1 : literal.numElements(); i < count; ++i) {
      low = std::min(low, element(literal, i));
      high = std::max(high, element(literal, i));
    }
    return {low, high};
  }
  static std::pair<double, double> differences(const Decision &decision) {
    auto [low, high] = rangeOf(*decision.operands[0]);
    auto [otherLow, otherHigh] = rangeOf(*decision.operands[1]);
    return {low - otherHigh, high - otherLow};
  }

  size_t numGrowing() const {
    size_t count = 0;
    for (int64_t i = 0; i < one.operands[0]->numElements(); ++i)
      count += !lineAt(0, i).isConstant();
    return count;
  }
  bool anyElement(Test test) const {
    const Literal &operand = *one.operands[0];
    bool isOneNumber = operand.isSplat() && other.operands[0]->isSplat();
    for (int64_t i = 0, count = isOneNumber ? 1 : operand.numElements(); i < count; ++i)
      if (Line line = lineAt(0, i); !line.isConstant() && test(line))
        return true;
    return false;
  }
  // Elements of two operands that meet, of shapes that broadcast.
  bool anyPairOf(size_t a, size_t b, llvm::function_ref<bool(const Line &, const Line &)> test) const {
    auto shape = broadcastShapes(one.operands[a]->shape(), one.operands[b]->shape());
    bool found = false;
    if (!shape)
      return false;
    Shape aStrides = stridesOf(one.operands[a]->shape()), bStrides = stridesOf(one.operands[b]->shape());
    forEachIndex(*shape, [&](llvm::ArrayRef<int64_t> index) {
      Line line = lineAt(a, placeOf(index, aStrides)), twin = lineAt(b, placeOf(index, bStrides));
      found |= (!line.isConstant() || !twin.isConstant()) && test(line, twin);
    });
    return found;
  }
  bool anyDifference(Test test) const {
    for (size_t b = 1; b < one.operands.size(); ++b)
      for (size_t a = 0; a < b; ++a)
        if (one.operands[a] && one.operands[b] && anyPairOf(a, b, [&](const Line &line, const Line &twin) {
              return test(lineOf(line.one - twin.one, line.other - twin.other));
            }))
          return true;
    return false;
  }
  bool anyPair(Test test) const {
    constexpr int64_t kMostElements = 64; // sizes, not tables
    int64_t count = one.operands[0]->numElements();
    for (int64_t i = 0; count <= kMostElements && i < count; ++i)
      for (int64_t j = 0; j < i; ++j) {
        Line line = lineAt(0, i), twin = lineAt(0, j);
        Line difference = lineOf(line.one - twin.one, line.other - twin.other);
        if (!difference.isConstant() && test(difference))
          return true;
      }
    return false;
  }
  // A quotient is a line where both numbers grow alike, or where the divisor does not grow. One that is rounded is none
  // where a sample adds something else than a multiple of the divisor.
  bool anyQuotient(bool isExact) const {
    return anyPairOf(0, 1, [isExact](const Line &number, const Line &divisor) {
      if (!divisor.isConstant())
        return number.one * divisor.other != number.other * divisor.one ||
               (!isExact && std::fmod(number.one, divisor.one) != 0);
      return !isExact && (!number.isWhole() || std::fmod(number.slope, divisor.one) != 0 || crossesZero(number));
    });
  }

  const Decision &one, &other;
  double batch, otherBatch;
};

// The names, and all that is computed from them.
llvm::StringSet<> reachedFrom(const FlatGraph &graph, llvm::StringSet<> names) {
  for (const FlatNode &node : graph.nodes) {
    bool isReached = false;
    forEachNode(FlatGraph{{node}, {}, {}, 0}, [&](const onnx::NodeProto &inner) {
      isReached |= llvm::any_of(inner.input(), [&](const std::string &input) { return names.contains(input); });
    });
    for (const onnx::AttributeProto &attribute : node.proto->attribute())
      for (const auto &output : attribute.g().output()) // a branch may give a name of the graph as it is
        isReached |= names.contains(output.name());
    if (isReached)
      for (const std::string &output : node.proto->output())
        if (!output.empty())
          names.insert(output);
  }
  return names;
}

std::shared_ptr<const Literal> knownAt(const onnx::NodeProto &node, int input, Environment &environment) {
  if (input >= node.input_size())
    return nullptr;
  const Binding &binding = environment.binding(node.input(input));
  return binding.kind == Binding::Kind::Known ? binding.known : nullptr;
}

// Of a slice, for each of its starts and ends, the dimension's size, and how far from the beginning or the end it is.
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

} // namespace

void Decisions::add(const onnx::NodeProto &node, const onnx::NodeProto &outer, Environment &environment) {
  Kind kind = canonicalDomain(node.domain()).empty() ? kindOf(node.op_type()) : Kind::Other;
  if (kind == Kind::Line || node.output_size() == 0)
    return;
  Decision decision{node.op_type(), node.output(0), {outer.output().begin(), outer.output().end()}, {}, nullptr};
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
  // Nodes in the turns of a loop are there several times.
  llvm::StringMap<llvm::SmallVector<const Decision *>> twins;
  for (const Decision &decision : other.decisions->all)
    twins[decision.output].push_back(&decision);
  llvm::StringMap<size_t> turns;
  llvm::StringSet<> names;
  for (const Decision &decision : one.decisions->all) {
    const auto &same = twins[decision.output];
    size_t turn = turns[decision.output]++;
    if (turn < same.size() && Question(decision, *same[turn], one.decisions->batch, other.decisions->batch).turns())
      for (const std::string &output : decision.reached)
        if (!output.empty())
          names.insert(output);
  }
  return names.empty() ? names : reachedFrom(*one.decisions->graph, std::move(names));
}
