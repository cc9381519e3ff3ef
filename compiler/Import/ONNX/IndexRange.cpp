#include "compiler/Import/ONNX/IndexRange.h"

#include "mlir/IR/Matchers.h"

using namespace cleave;
using namespace cleave::onnx_import;

namespace {

std::optional<int64_t> splatInteger(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast->getOperand(0);
  mlir::DenseElementsAttr constant;
  if (!mlir::matchPattern(value, mlir::m_Constant(&constant)) || !constant.isSplat() ||
      !llvm::isa<mlir::IntegerType>(constant.getElementType()))
    return std::nullopt;
  return constant.getSplatValue<llvm::APInt>().getSExtValue();
}

// `select(x == c, other, x)` and `select(x != c, x, other)`: where x comes from, and the c that it may also be.
struct Replacement {
  Value kept;
  int64_t replaced;
};
std::optional<Replacement> matchReplacement(SelectOp select) {
  Value condition = select->getOperand(0);
  bool negated = false;
  for (; condition.getDefiningOp<NotOp>(); negated = !negated)
    condition = condition.getDefiningOp()->getOperand(0);
  auto compare = condition.getDefiningOp<CompareOp>();
  if (!compare || (compare.getPredicate() != Predicate::Eq && compare.getPredicate() != Predicate::Ne))
    return std::nullopt;
  bool equal = (compare.getPredicate() == Predicate::Eq) != negated;
  Value kept = select->getOperand(equal ? 2 : 1);
  for (unsigned side : {0, 1})
    if (auto replaced = splatInteger(compare->getOperand(1 - side)); replaced && compare->getOperand(side) == kept)
      return Replacement{kept, *replaced};
  return std::nullopt;
}

struct Source {
  mlir::func::FuncOp function;
  unsigned argument;
  llvm::SmallVector<int64_t> others;
};

// The argument whose every element becomes an index, or is replaced.
std::optional<Source> findSource(Value indices) {
  Source source;
  while (mlir::Operation *op = indices.getDefiningOp()) {
    if (auto select = llvm::dyn_cast<SelectOp>(op)) {
      auto replacement = matchReplacement(select);
      if (!replacement)
        return std::nullopt;
      source.others.push_back(replacement->replaced);
      indices = replacement->kept;
    } else if (llvm::isa<CastOp, ReshapeOp, TransposeOp, BroadcastOp>(op)) {
      indices = op->getOperand(0);
      if (typeOf(indices).getElementType().isInteger(1)) // a cast of truth values changes them
        return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  auto argument = llvm::cast<mlir::BlockArgument>(indices);
  source.function = llvm::dyn_cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp());
  source.argument = argument.getArgNumber();
  return source.function && !isFloat(indices) ? std::optional(source) : std::nullopt;
}

void note(Source &source, llvm::StringRef name, llvm::ArrayRef<int64_t> range) {
  source.function.setArgAttr(source.argument, name, mlir::Builder(source.function.getContext()).getI64ArrayAttr(range));
}

} // namespace

void cleave::onnx_import::noteLabels(Value labels, int64_t classes, std::optional<int64_t> ignored) {
  auto source = findSource(labels);
  if (!source)
    return;
  llvm::SmallVector<int64_t> range = {classes};
  if (ignored)
    range.push_back(*ignored);
  range.append(source->others);
  note(*source, "cleave.labels", range);
}

void cleave::onnx_import::noteIndices(Value indices, int64_t size) {
  auto source = findSource(indices);
  if (!source)
    return;
  // Of several uses the smallest dimension counts.
  if (auto known = source->function.getArgAttrOfType<mlir::ArrayAttr>(source->argument, "cleave.indices");
      known && llvm::cast<mlir::IntegerAttr>(known[0]).getInt() <= size)
    return;
  llvm::SmallVector<int64_t> range = {size};
  range.append(source->others);
  note(*source, "cleave.indices", range);
}
