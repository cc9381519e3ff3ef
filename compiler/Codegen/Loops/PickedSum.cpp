#include "compiler/Codegen/Loops/PickedSum.h"

#include "compiler/Codegen/Loops/GenericMatch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace cleave;

using IsInside = llvm::function_ref<bool(Operation *)>;

static linalg::GenericOp makerInside(Value value, IsInside isInside) {
  linalg::GenericOp op = elementwiseMaker(value);
  return op && isInside(op) ? op : linalg::GenericOp();
}

// Pairs of a value and a dimension that were examined. Each is examined once, since many ops may read one value.
using Asked = llvm::DenseSet<std::pair<Value, int64_t>>;

// True if elements that differ only in their index of dimension `dim` may differ. False for pairs in `asked`.
static bool variesAlong(Value value, int64_t dim, IsInside isInside, Asked &asked) {
  if (!asked.insert({value, dim}).second)
    return false;
  if (SplatElementsAttr number; matchPattern(value, m_Constant(&number)))
    return false;
  linalg::GenericOp op = makerInside(value, isInside);
  if (!op)
    return true;
  bool varies = false;
  op.getBody()->walk([&](linalg::IndexOp index) { varies |= index.getDim() == static_cast<uint64_t>(dim); });
  for (auto [number, map] : llvm::enumerate(op.getIndexingMapsArray()))
    for (auto [position, expr] : llvm::enumerate(map.getResults()))
      if (!varies && int64_t(number) < op.getNumDpsInputs() && expr.isFunctionOfDim(dim))
        varies = !isa<AffineDimExpr>(expr) || variesAlong(op->getOperand(number), position, isInside, asked);
  return varies || !op.getBody()->getArguments().back().use_empty();
}

static bool variesAlong(Value value, int64_t dim, IsInside isInside) {
  Asked asked;
  return variesAlong(value, dim, isInside, asked);
}

// True if each element is the first element along `dim` plus the index there, in integers of its width.
static bool countsAlong(Value value, int64_t dim, IsInside isInside) {
  linalg::GenericOp op = makerInside(value, isInside);
  if (!op)
    return false;
  Value element = yieldedOf(op);
  if (auto narrow = element.getDefiningOp<arith::TruncIOp>())
    element = narrow.getIn();
  if (auto sum = element.getDefiningOp<arith::AddIOp>()) {
    auto origin = dyn_cast<BlockArgument>(sum.getRhs());
    if (!origin || op.getIndexingMapsArray()[origin.getArgNumber()].getNumResults() != 0)
      return false;
    element = sum.getLhs();
  }
  auto number = element.getDefiningOp<arith::IndexCastOp>();
  auto index = number ? number.getIn().getDefiningOp<linalg::IndexOp>() : linalg::IndexOp();
  int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(dim);
  unsigned width = cast<RankedTensorType>(value.getType()).getElementTypeBitWidth();
  return index && index.getDim() == static_cast<uint64_t>(dim) && (width >= 63 || size < int64_t(1) << (width - 1));
}

static bool isZero(Value value) {
  SplatElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return false;
  Attribute number = constant.getSplatValue<Attribute>();
  if (auto real = dyn_cast<FloatAttr>(number))
    return real.getValue().isPosZero();
  return cast<IntegerAttr>(number).getValue().isZero();
}

std::optional<PickedSum> cleave::findPickedSum(linalg::GenericOp sum, IsInside isInside) {
  Terms terms = sum.getNumReductionLoops() == 1 ? termsOf(sum) : Terms();
  if (llvm::is_contained(sum.getStaticLoopRanges(), 0))
    return std::nullopt; // a row without elements has no term to pick
  if (!isa_and_nonnull<arith::AddFOp, arith::AddIOp>(terms.combiner))
    return std::nullopt;
  linalg::GenericOp choice = makerInside(terms.tensor, isInside);
  auto select = choice ? yieldedOf(choice).getDefiningOp<arith::SelectOp>() : arith::SelectOp();
  if (!select)
    return std::nullopt;
  Value hit = operandOf(choice, select.getCondition()), other = operandOf(choice, select.getFalseValue());
  linalg::GenericOp comparison = hit ? makerInside(hit, isInside) : linalg::GenericOp();
  auto compare = comparison ? yieldedOf(comparison).getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq || !other || !isZero(other))
    return std::nullopt;
  auto iterators = sum.getIteratorTypesArray();
  unsigned loop = llvm::find(iterators, utils::IteratorType::reduction) - iterators.begin();
  Value left = operandOf(comparison, compare.getLhs()), right = operandOf(comparison, compare.getRhs());
  for (auto [counter, label] : {std::pair(left, right), std::pair(right, left)})
    if (counter && label && countsAlong(counter, loop, isInside) && !variesAlong(label, loop, isInside))
      return PickedSum{loop, counter, label};
  return std::nullopt;
}
