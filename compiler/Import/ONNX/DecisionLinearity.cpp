#include "compiler/Import/ONNX/DecisionLinearity.h"
#include "compiler/Import/ONNX/DecisionKinds.h"
#include "compiler/Import/ONNX/Evaluate.h"
#include "dialects/Cleave/IR/Budget.h"

#include <cmath>

using namespace cleave;
using namespace cleave::onnx_import;

namespace {

// The largest number of samples that is considered. Larger numbers occur as ends of slices, and mean "no end".
constexpr double kMostSamples = 2147483647.0;

// A number of the graph as an affine function of the number of samples. Its values in the two imports determine it.
struct Line {
  double one, other;  // with `batch` and `otherBatch` samples
  double first, last; // with one sample, and with kMostSamples
  double slope;       // change per sample
  double least() const { return std::min(first, last); }
  double most() const { return std::max(first, last); }
  bool isConstant() const { return one == other; }
  bool isWhole() const { return std::trunc(one) == one && std::trunc(slope) == slope; }
};

bool isBelow(const Line &line) { return line.most() < 0; }
bool isAbove(const Line &line) { return line.least() > 0; }
bool isNotBelow(const Line &line) { return line.least() >= 0; }
bool isNotAbove(const Line &line) { return line.most() <= 0; }

// Returns the position of the element that a broadcast operand has at `index` of the result. The operand's dimensions
// are the last ones of the result.
int64_t placeOf(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> strides) {
  int64_t place = 0;
  for (auto [at, stride] : llvm::zip(index.take_back(strides.size()), strides))
    place += at * stride;
  return place;
}

// One decision in both imports.
class Question {
public:
  Question(const Decision &one, const Decision &other, int64_t batch, int64_t otherBatch)
      : one(one), other(other), batch(double(batch)), otherBatch(double(otherBatch)) {}

  // True if the result is not one line over all numbers of samples.
  bool isNonlinear() const {
    if (one.operands.size() != other.operands.size() || !differs())
      return false;
    if (growing())
      return hidesElements();
    switch (decisionKindOf(one.node->op_type())) {
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
      return anyQuotient(one.node->op_type() == "Div" && one.operands[0]->isFloat());
    case Kind::Rounding:
      return anyElement(nonlinearRounding());
    // If the dimension does not grow with the batch, a slice beyond its end is an error of the model.
    case Kind::Cut:
      return anyPairOf(0, 1, [&](const Line &size, const Line &end) {
        return !size.isConstant() && crossesZero(lineOf(size.one - end.one, size.other - end.other));
      });
    case Kind::Other:
      return true;
    }
    return true;
  }

private:
  using Kind = DecisionKind;
  using Test = llvm::function_ref<bool(const Line &)>;

  std::string describe() const { return FlatNode{one.node, nullptr}.describe(); }

  static bool touchesZero(const Line &line) {
    return !isBelow(line) && !isAbove(line) && !(line.one == 0 && line.other == 0);
  }
  static bool crossesZero(const Line &line) { return !isNotBelow(line) && !isNotAbove(line); }
  static bool isNotWhole(const Line &line) { return !line.isWhole(); }
  // A cast to truth values is a step at zero. A cast to floating point does not round.
  Test nonlinearRounding() const {
    if (one.node->op_type() != "Cast" || !one.result)
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
  // True if the list of operands has more elements with more samples, and the two results do not show what further
  // elements give. If the elements of a result differ from each other, the imported constants differ, too, and the
  // comparison of the modules finds them. If all are equal, further samples may still give other elements.
  bool hidesElements() const {
    if (!one.result || !other.result || decisionKindOf(one.node->op_type()) == Kind::Reduction)
      return false;
    auto isUniform = [](const Literal &literal) {
      auto [low, high] = rangeOf(literal);
      return low == high;
    };
    bool isList = llvm::any_of(other.operands, [&](const auto &operand) { return operand && !isUniform(*operand); });
    return isList && isUniform(*one.result) && isUniform(*other.result) && !keepsSide();
  }
  // True if all elements of a longer list stay on the same side of the comparison. An exporter's Where(i < 0, i + n, i)
  // is an example.
  bool keepsSide() const {
    // Operand 1 may be missing, for example axes that are not given.
    if (one.operands.size() != 2 || !one.operands[1] || !other.operands[1])
      return false;
    auto [low, high] = differences(one);
    auto [otherLow, otherHigh] = differences(other);
    Line lower = lineOf(low, otherLow), upper = lineOf(high, otherHigh);
    switch (decisionKindOf(one.node->op_type())) {
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
  // True if `test` holds for some pair of elements that meet when operands a and b are broadcast. Pairs in which both
  // are constant are not tested.
  bool anyPairOf(size_t a, size_t b, llvm::function_ref<bool(const Line &, const Line &)> test) const {
    auto shape = broadcastShapes(one.operands[a]->shape(), one.operands[b]->shape());
    bool found = false;
    if (!shape)
      return false;
    // Operands may be few bytes of the file and many pairs. The compilation ends if the budget is exhausted.
    Budget &budget = Budget::of(one.operands[a]->element().getContext());
    if (!budget.draw(Budget::Kind::Work, uint64_t(*countElements(*shape)), [&] { return describe(); }))
      return true;
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
    int64_t count = one.operands[0]->numElements();
    for (int64_t i = 0; count <= kMostNumbers && i < count; ++i)
      for (int64_t j = 0; j < i; ++j) {
        Line line = lineAt(0, i), twin = lineAt(0, j);
        Line difference = lineOf(line.one - twin.one, line.other - twin.other);
        if (!difference.isConstant() && test(difference))
          return true;
      }
    return false;
  }
  // A quotient is a line if number and divisor are proportional, or if the divisor is constant. A rounded quotient is
  // not a line if one more sample adds something else than a multiple of the divisor.
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

} // namespace

bool cleave::onnx_import::isNonlinearInBatch(const Decision &one, const Decision &other, int64_t batch,
                                             int64_t otherBatch) {
  return Question(one, other, batch, otherBatch).isNonlinear();
}
