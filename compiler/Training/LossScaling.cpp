#include "compiler/Training/LossScaling.h"

#include "dialects/Cleave/IR/Cleave.h"

#include <cmath>

using namespace mlir;

namespace cleave {

std::optional<double> getConstantNumber(Value value) {
  while (auto *op = value.getDefiningOp()) {
    if (!isa<ReshapeOp, BroadcastOp, CastOp>(op))
      break;
    value = op->getOperand(0);
  }
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant)
    return std::nullopt;
  auto elements = dyn_cast<DenseElementsAttr>(Attribute(constant.getValue()));
  if (!elements || !elements.isSplat())
    return std::nullopt;
  if (isa<FloatType>(elements.getElementType()))
    return elements.getSplatValue<APFloat>().convertToDouble();
  return static_cast<double>(elements.getSplatValue<APInt>().getSExtValue());
}

namespace {

double elementsOf(Value value) { return static_cast<double>(cast<RankedTensorType>(value.getType()).getNumElements()); }

// The same number for all elements.
bool isSpreadNumber(Value value) {
  while (auto *op = value.getDefiningOp()) {
    if (elementsOf(value) == 1 || !isa<ReshapeOp, BroadcastOp, CastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return elementsOf(value) == 1;
}

class TermFinder {
public:
  llvm::SmallVector<LossTerm> terms;

  void find(Value value, LossTerm term) {
    while (Operation *op = value.getDefiningOp()) {
      if (isa<AddOp, SubOp>(op) && terms.size() < 64) {
        find(op->getOperand(0), term);
        value = op->getOperand(1);
        continue;
      }
      Value next = step(op, term);
      if (!next)
        break;
      value = next;
    }
    terms.push_back(term);
  }

private:
  static Value step(Operation *op, LossTerm &term) {
    if (isa<NegOp, ReshapeOp, TransposeOp, CastOp>(op))
      return op->getOperand(0);
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (reduce.getKind() != ReduceKind::Sum)
        return nullptr;
      term.elements *= elementsOf(reduce.getOperand()) / elementsOf(reduce.getResult());
      return reduce.getOperand();
    }
    if (auto mul = dyn_cast<MulOp>(op)) {
      if (auto factor = getConstantNumber(mul.getRhs()))
        return scale(term, *factor, mul.getLhs());
      if (auto factor = getConstantNumber(mul.getLhs()))
        return scale(term, *factor, mul.getRhs());
      return nullptr;
    }
    auto div = dyn_cast<DivOp>(op);
    if (!div)
      return nullptr;
    if (auto divisor = getConstantNumber(div.getRhs()))
      return scale(term, 1 / *divisor, div.getLhs());
    if (!isSpreadNumber(div.getRhs()))
      return nullptr;
    term.counted = true;
    return div.getLhs();
  }

  static Value scale(LossTerm &term, double factor, Value rest) {
    term.factor *= factor;
    term.constants.push_back(factor);
    return rest;
  }
};

bool isNear(double a, double b) { return std::fabs(a - b) <= 1e-5 * std::fabs(b); }

bool isMean(const LossTerm &term, int64_t batch) {
  if (term.counted || std::fmod(term.elements, static_cast<double>(batch)) != 0)
    return true; // the batch is not what is summed here
  double count = batch > 1 ? static_cast<double>(batch) : term.elements;
  auto counts = [&](double factor) {
    double multiple = std::round(1 / std::fabs(factor) / count);
    return count > 1 && multiple >= 1 && isNear(1 / std::fabs(factor), multiple * count);
  };
  return counts(term.factor) || llvm::any_of(term.constants, counts);
}

} // namespace

llvm::SmallVector<LossTerm> termsOf(Value loss) {
  TermFinder finder;
  finder.find(loss, {});
  return finder.terms;
}

std::optional<LossScaling> compareScaling(llvm::ArrayRef<LossTerm> once, llvm::ArrayRef<LossTerm> twice) {
  std::optional<LossScaling> scaling;
  if (once.size() != twice.size())
    return std::nullopt;
  for (auto [small, large] : llvm::zip_equal(once, twice)) {
    double growth = large.factor * large.elements / (small.factor * small.elements);
    std::optional<LossScaling> of;
    if (small.counted || isNear(growth, 1))
      of = LossScaling::Mean;
    else if (isNear(growth, 2))
      of = LossScaling::Sum;
    if (!of || (scaling && *scaling != *of))
      return std::nullopt;
    scaling = of;
  }
  return scaling;
}

LossScaling guessScaling(llvm::ArrayRef<LossTerm> terms, int64_t batch) {
  return llvm::any_of(terms, [&](const LossTerm &term) { return isMean(term, batch); }) ? LossScaling::Mean
                                                                                        : LossScaling::Sum;
}

} // namespace cleave
