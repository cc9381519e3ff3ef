// Folders of the elementwise ops: neutral elements, double negation, and small constants. `x * 0` is not folded for
// floating point (0 * inf and 0 * NaN are NaN). `x + 0` is folded, although it makes +0 of -0.
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/Folding.h"

#include "mlir/Dialect/CommonFolders.h"
#include "llvm/ADT/APSInt.h"

using namespace cleave;
using llvm::APFloat;
using llvm::APInt;
using mlir::Attribute;
using mlir::OpFoldResult;

// True if all operands are small constants, and the budget has enough left to evaluate the op on them.
static bool areFoldable(mlir::Operation *op, llvm::ArrayRef<Attribute> operands) {
  int64_t elements = 1;
  for (Attribute operand : operands) {
    auto constant = llvm::dyn_cast_if_present<mlir::DenseElementsAttr>(operand);
    if (!isFoldable(constant))
      return false;
    elements = constant.isSplat() ? elements : constant.getNumElements();
  }
  return drawFolding(op, elements);
}

// The upstream folders read elements as the given kind of attribute, without a check.
static bool isFloatConstant(Attribute operand) {
  return llvm::isa<mlir::FloatType>(llvm::cast<mlir::DenseElementsAttr>(operand).getElementType());
}

template <typename FloatFn, typename IntFn>
static Attribute foldBinary(mlir::Operation *op, llvm::ArrayRef<Attribute> operands, FloatFn onFloats, IntFn onInts) {
  if (!areFoldable(op, operands))
    return nullptr;
  if (isFloatConstant(operands[0]))
    return mlir::constFoldBinaryOp<mlir::FloatAttr, APFloat, void>(operands, onFloats);
  return mlir::constFoldBinaryOp<mlir::IntegerAttr, APInt, void>(operands, onInts);
}

OpFoldResult NegOp::fold(FoldAdaptor adaptor) {
  if (auto inner = getOperand().getDefiningOp<NegOp>())
    return inner.getOperand();
  if (!areFoldable(*this, adaptor.getOperands()))
    return nullptr;
  if (isFloatConstant(adaptor.getOperand()))
    return mlir::constFoldUnaryOp<mlir::FloatAttr, APFloat, void>(adaptor.getOperands(),
                                                                  [](const APFloat &x) { return -x; });
  return mlir::constFoldUnaryOp<mlir::IntegerAttr, APInt, void>(adaptor.getOperands(),
                                                                [](const APInt &x) { return -x; });
}

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 0))
    return getLhs();
  if (isSplatOf(adaptor.getLhs(), 0))
    return getRhs();
  return foldBinary(
      *this, adaptor.getOperands(), [](const APFloat &a, const APFloat &b) { return a + b; },
      [](const APInt &a, const APInt &b) { return a + b; });
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 0))
    return getLhs();
  return foldBinary(
      *this, adaptor.getOperands(), [](const APFloat &a, const APFloat &b) { return a - b; },
      [](const APInt &a, const APInt &b) { return a - b; });
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 1))
    return getLhs();
  if (isSplatOf(adaptor.getLhs(), 1))
    return getRhs();
  if (llvm::isa<mlir::IntegerType>(getResult().getType().getElementType()) && isSplatOf(adaptor.getRhs(), 0))
    return adaptor.getRhs();
  return foldBinary(
      *this, adaptor.getOperands(), [](const APFloat &a, const APFloat &b) { return a * b; },
      [](const APInt &a, const APInt &b) { return a * b; });
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 1))
    return getLhs();
  mlir::Type element = getResult().getType().getElementType();
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  return foldBinary(
      *this, adaptor.getOperands(), [](const APFloat &a, const APFloat &b) { return a / b; },
      [&](const APInt &a, const APInt &b) {
        if (b.isZero())
          return b;
        return isUnsigned ? a.udiv(b) : a.sdiv(b);
      });
}

namespace {
struct ElementKind {
  mlir::Type type;
  bool isFloat() const { return llvm::isa<mlir::FloatType>(type); }
  bool isUnsigned() const { return type.isUnsignedInteger() || type.isInteger(1); }
  unsigned width() const { return type.getIntOrFloatBitWidth(); }
  const llvm::fltSemantics &semantics() const { return llvm::cast<mlir::FloatType>(type).getFloatSemantics(); }
};
} // namespace

// Converts through f32 to the types of 16 bits, as the op does, with both roundings.
static APFloat toFloat(const APInt &x, ElementKind from, ElementKind to) {
  APFloat converted(to.width() < 32 ? APFloat::IEEEsingle() : to.semantics());
  converted.convertFromAPInt(x, !from.isUnsigned(), APFloat::rmNearestTiesToEven);
  bool losesInfo;
  converted.convert(to.semantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return converted;
}
// convertToInteger saturates and makes 0 of NaN, as the op does.
static APInt toInt(const APFloat &x, ElementKind to) {
  if (to.type.isInteger(1))
    return APInt(1, !x.isZero());
  llvm::APSInt converted(to.width(), to.isUnsigned());
  bool exact;
  x.convertToInteger(converted, APFloat::rmTowardZero, &exact);
  return converted;
}
static APInt resized(const APInt &x, ElementKind from, ElementKind to) {
  if (to.type.isInteger(1))
    return APInt(1, !x.isZero());
  return from.isUnsigned() ? x.zextOrTrunc(to.width()) : x.sextOrTrunc(to.width());
}
static APFloat rounded(APFloat x, ElementKind to) {
  bool losesInfo;
  x.convert(to.semantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return x;
}

// True if the result's type has every number of the operand's type, so that casting there and back changes nothing.
static bool keepsFloats(CastOp cast) {
  ElementKind from{cast.getOperand().getType().getElementType()}, to{cast.getResult().getType().getElementType()};
  return from.isFloat() && to.isFloat() && llvm::APFloat::isRepresentableBy(from.semantics(), to.semantics());
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getResult().getType())
    return getOperand();
  if (auto widening = getOperand().getDefiningOp<CastOp>();
      widening && widening.getOperand().getType() == getResult().getType() && keepsFloats(widening))
    return widening.getOperand();
  if (!areFoldable(*this, adaptor.getOperands()))
    return nullptr;
  auto constant = llvm::cast<mlir::DenseElementsAttr>(adaptor.getOperand());
  ElementKind from{getOperand().getType().getElementType()}, to{getResult().getType().getElementType()};
  if (from.isFloat() && to.isFloat())
    return llvm::cast<mlir::DenseFPElementsAttr>(constant).mapValues(
        to.type, [&](const APFloat &x) { return rounded(x, to).bitcastToAPInt(); });
  if (from.isFloat())
    return llvm::cast<mlir::DenseFPElementsAttr>(constant).mapValues(to.type,
                                                                     [&](const APFloat &x) { return toInt(x, to); });
  auto ints = llvm::cast<mlir::DenseIntElementsAttr>(constant);
  if (to.isFloat())
    return ints.mapValues(to.type, [&](const APInt &x) { return toFloat(x, from, to).bitcastToAPInt(); });
  return ints.mapValues(to.type, [&](const APInt &x) { return resized(x, from, to); });
}
