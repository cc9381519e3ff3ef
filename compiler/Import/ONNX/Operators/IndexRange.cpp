#include "compiler/Import/ONNX/Operators/IndexRange.h"
#include "compiler/Import/ONNX/Operators/TorchGradients.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Budget.h"
#include "dialects/Cleave/IR/Scatter.h"

#include "mlir/IR/Matchers.h"

#include <array>

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

// Matches `select(x == c, other, x)` and `select(x != c, x, other)`: `kept` is x, `replaced` is c.
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

// True if the conversion keeps every integer. Narrow types wrap around, and casts of truth values and of floating-point
// numbers give other numbers.
bool keepsNumbers(Value from, Value to) {
  auto source = llvm::dyn_cast<mlir::IntegerType>(elementOf(from)),
       target = llvm::dyn_cast<mlir::IntegerType>(elementOf(to));
  if (!source || !target || source.isInteger(1))
    return false;
  return source == target || (source.getWidth() < target.getWidth() && !target.isUnsigned());
}

struct Source {
  mlir::func::FuncOp function;
  unsigned argument;
  llvm::SmallVector<int64_t> others;
};

// Returns the function argument whose elements all become indices, or are replaced before. Returns nullopt if there is
// none.
std::optional<Source> findSource(Value indices) {
  Source source;
  Budget &budget = Budget::of(indices.getContext());
  while (mlir::Operation *op = indices.getDefiningOp()) {
    if (!budget.draw(Budget::Kind::Work, 1))
      return std::nullopt;
    if (auto select = llvm::dyn_cast<SelectOp>(op)) {
      auto replacement = matchReplacement(select);
      if (!replacement)
        return std::nullopt;
      source.others.push_back(replacement->replaced);
      indices = replacement->kept;
    } else if (llvm::isa<CastOp, ReshapeOp, TransposeOp, BroadcastOp>(op)) {
      if (!keepsNumbers(op->getOperand(0), indices))
        return std::nullopt;
      indices = op->getOperand(0);
    } else {
      return std::nullopt;
    }
  }
  auto argument = llvm::cast<mlir::BlockArgument>(indices);
  source.function = llvm::dyn_cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp());
  source.argument = argument.getArgNumber();
  return source.function && !isFloat(indices) ? std::optional(source) : std::nullopt;
}

// The numbers from `first` to `size - 1`, and some others.
struct Range {
  int64_t first, size;
  llvm::SmallVector<int64_t> others;
  bool allows(int64_t number) const { return (number >= first && number < size) || llvm::is_contained(others, number); }
};

// Adds a range to the argument. If the argument has one from another use, the numbers that both uses permit are noted.
void note(Source &source, llvm::StringRef name, Range range) {
  if (auto noted = source.function.getArgAttrOfType<mlir::ArrayAttr>(source.argument, name)) {
    llvm::SmallVector<int64_t> known;
    for (auto number : noted.getAsRange<mlir::IntegerAttr>())
      known.push_back(number.getInt());
    Range before{range.first == 0 ? 0 : -known[0], known[0], llvm::SmallVector<int64_t>(llvm::drop_begin(known))};
    llvm::SmallVector<int64_t> both;
    for (const Range *one : {&before, &range})
      for (int64_t number : one->others)
        if (before.allows(number) && range.allows(number) && !llvm::is_contained(both, number))
          both.push_back(number);
    range.size = std::min(range.size, before.size);
    range.others = both;
  }
  range.others.insert(range.others.begin(), range.size);
  // MLIR copies the list of all arguments' attributes when one of them changes.
  auto &budget = Budget::of(source.function.getContext());
  if (!budget.draw(Budget::Kind::Bytes, sizeof(void *) * source.function.getNumArguments()))
    return;
  mlir::Builder builder(source.function.getContext());
  source.function.setArgAttr(source.argument, name, builder.getI64ArrayAttr(range.others));
}

} // namespace

Value cleave::onnx_import::checkLabels(Emitter &emit, Value labels, int64_t classes, std::optional<int64_t> ignored) {
  if (auto source = findSource(labels)) {
    if (ignored)
      source->others.insert(source->others.begin(), *ignored);
    note(*source, kLabelsAttr, {0, classes, source->others});
    return labels;
  }
  if (mlir::matchPattern(labels, mlir::m_Constant()) || typeOf(labels).getNumElements() == 0)
    return labels;
  mlir::OpBuilder &b = emit.builder;
  return emit.make<CheckIndexOp>(typeOf(labels), labels, b.getI64IntegerAttr(0), b.getI64IntegerAttr(classes),
                                 ignored ? b.getI64IntegerAttr(*ignored) : mlir::IntegerAttr());
}

void cleave::onnx_import::noteIndices(Value indices, int64_t size, bool refusesNegative) {
  if (auto source = findSource(indices))
    note(*source, refusesNegative ? kRowsAttr : kIndicesAttr, {refusesNegative ? 0 : -size, size, source->others});
}

bool cleave::onnx_import::refusesNegativeIndices(const onnx::NodeProto &node) {
  TorchCall call = torchCallOf(node);
  return llvm::any_of(std::array{"aten.embedding.", "aten.gather.", "aten.index_select."},
                      [&](llvm::StringRef target) { return llvm::StringRef(call.target).starts_with(target); });
}
