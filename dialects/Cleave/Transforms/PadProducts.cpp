#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/Transforms/Passes.h"

#include "llvm/Support/MathExtras.h"

namespace cleave {
#define GEN_PASS_DEF_PADPRODUCTS
#include "dialects/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

using namespace cleave;
using llvm::SmallVector;
using mlir::Value;

// A matrix product of fewer multiplications takes no longer than the copies that padding makes.
static constexpr uint64_t kLeastProducts = uint64_t{1} << 29;
// A padded operand is copied once, so each of its elements must be used at least this often.
static constexpr uint64_t kLeastUses = 128;

// Returns `value` with `more` zeros at the end of dimension `dim`.
static Value padded(mlir::OpBuilder &builder, Value value, int64_t dim, int64_t more) {
  if (!value || more == 0)
    return value;
  SmallVector<int64_t> shape(tensorTypeOf(value).getShape()), none(shape.size(), 0), high(shape.size(), 0);
  high[dim] = more;
  shape[dim] += more;
  return PadOp::create(builder, value.getLoc(), tensorTypeOf(value).clone(shape), value, none, high, none,
                       llvm::APFloat(0.0));
}

// Returns the first `columns` elements of each row.
static Value sliced(mlir::OpBuilder &builder, Value value, int64_t columns) {
  SmallVector<int64_t> shape(tensorTypeOf(value).getShape()), starts(shape.size(), 0), steps(shape.size(), 1);
  shape.back() = columns;
  return SliceOp::create(builder, value.getLoc(), tensorTypeOf(value).clone(shape), value, starts, shape, steps);
}

// Replaces uses of `old`. A reshape that keeps the rows stays a view of `value`: the slice is made after it.
static void replaceSliced(mlir::OpBuilder &builder, Value old, Value value) {
  int64_t columns = tensorTypeOf(old).getShape().back();
  for (mlir::Operation *user : llvm::make_early_inc_range(old.getUsers())) {
    auto reshape = llvm::dyn_cast<ReshapeOp>(user);
    if (!reshape || reshape.getType().getRank() == 0 || reshape.getType().getShape().back() != columns)
      continue;
    SmallVector<int64_t> shape(reshape.getType().getShape());
    shape.back() = tensorTypeOf(value).getShape().back();
    builder.setInsertionPoint(reshape);
    Value rows = ReshapeOp::create(builder, reshape.getLoc(), reshape.getType().clone(shape), value);
    replaceSliced(builder, reshape, rows);
    reshape.erase();
  }
  if (old.use_empty())
    return;
  builder.setInsertionPointAfterValue(value);
  old.replaceAllUsesWith(sliced(builder, value, columns));
}

static void padProduct(MatmulOp product, int64_t multiple) {
  auto result = tensorTypeOf(product.getResult()), left = tensorTypeOf(product.getLhs()),
       right = tensorTypeOf(product.getRhs());
  int64_t leftK = left.getRank() - (product.getTransposeLhs() ? 2 : 1);
  int64_t rightK = right.getRank() - (product.getTransposeRhs() ? 1 : 2);
  int64_t rightN = right.getRank() - (product.getTransposeRhs() ? 2 : 1);
  int64_t n = result.getShape().back(), k = left.getDimSize(leftK);
  int64_t moreN = llvm::alignTo(n, multiple) - n, moreK = llvm::alignTo(k, multiple) - k;
  auto products = llvm::SaturatingMultiply<uint64_t>(k, result.getNumElements());
  if (products < kLeastProducts) // also if a tensor has no elements
    return;
  uint64_t usesOfLeft = products / left.getNumElements(), usesOfRight = products / right.getNumElements();
  if (usesOfRight < kLeastUses)
    return;
  if (usesOfLeft < kLeastUses)
    moreK = 0;
  if (moreN == 0 && moreK == 0)
    return;
  mlir::OpBuilder builder(product);
  Value lhs = padded(builder, product.getLhs(), leftK, moreK);
  Value rhs = padded(builder, padded(builder, product.getRhs(), rightK, moreK), rightN, moreN);
  Value bias = padded(builder, product.getBias(), 0, moreN);
  SmallVector<int64_t> shape(result.getShape());
  shape.back() += moreN;
  auto whole = MatmulOp::create(builder, product.getLoc(), result.clone(shape), lhs, rhs, bias,
                                product.getTransposeLhs(), product.getTransposeRhs());
  whole->setDiscardableAttrs(product->getDiscardableAttrDictionary());
  if (moreN == 0)
    product.getResult().replaceAllUsesWith(whole.getResult());
  else
    replaceSliced(builder, product.getResult(), whole.getResult());
  product.erase();
}

namespace {
struct PadProducts : impl::PadProductsBase<PadProducts> {
  using PadProductsBase::PadProductsBase;

  void runOnOperation() override {
    SmallVector<MatmulOp> products;
    getOperation().walk([&](MatmulOp product) {
      auto type = product.getResult().getType();
      if (type.hasStaticShape() && type.getElementTypeBitWidth() == 16)
        products.push_back(product);
    });
    if (multiple > 1)
      for (MatmulOp product : products)
        padProduct(product, multiple);
  }
};
} // namespace
