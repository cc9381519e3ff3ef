// cleave.convolution and its two gradients.
//
// The three ops relate the same three tensors: x [n, ic, in...], w [oc, ic/groups, kernel...], y [n, oc, out...]. Each
// op makes one of them from the other two. Everything that they share (checks, loops, cost, parameters) is written
// once, for the triple.
#include "dialects/Cleave/IR/ConvolutionGradients.h"
#include "dialects/Cleave/IR/WindowSupport.h"

using namespace cleave;
using llvm::ArrayRef;
using mlir::RankedTensorType;
using mlir::Value;
using mlir::utils::IteratorType;

namespace {
struct Triple {
  RankedTensorType x, w, y;
  Window window;
  int64_t groups;
};
} // namespace

template <typename Op> static Window windowOf(Op op, RankedTensorType filter) {
  return {filter.getShape().drop_front(2), op.getStrides(), op.getDilations(), op.getPadLow(), op.getPadHigh()};
}

static Triple tripleOf(ConvolutionOp op) {
  RankedTensorType w = op.getFilter().getType();
  return {op.getInput().getType(), w, op.getType(), windowOf(op, w), static_cast<int64_t>(op.getGroups())};
}
static Triple tripleOf(ConvolutionInputGradOp op) {
  RankedTensorType w = op.getFilter().getType();
  return {op.getType(), w, op.getResultGrad().getType(), windowOf(op, w), static_cast<int64_t>(op.getGroups())};
}
static Triple tripleOf(ConvolutionWeightGradOp op) {
  RankedTensorType w = op.getType();
  return {op.getInput().getType(), w, op.getResultGrad().getType(), windowOf(op, w),
          static_cast<int64_t>(op.getGroups())};
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

// Returns the type of y for x and w. Fails if x and w do not fit together.
static llvm::FailureOr<RankedTensorType> resultType(const Triple &t, EmitError emitError) {
  if (t.x.getElementType() != t.w.getElementType())
    return emitError() << "expects input and filter of one element type; got: " << t.x.getElementType() << " and "
                       << t.w.getElementType();
  if (t.x.getRank() < 3 || t.w.getRank() != t.x.getRank())
    return emitError() << "expects an input [n, ic, in...] and a filter [oc, ic/groups, kernel...] of equal rank, 3 or "
                          "more; got: "
                       << t.x << " and " << t.w;
  int64_t ic = t.x.getDimSize(1), oc = t.w.getDimSize(0);
  if (t.groups < 1 || ic % t.groups || oc % t.groups)
    return emitError() << "expects groups that divide the " << ic << " input and " << oc
                       << " output channels; got: " << t.groups;
  if (t.w.getDimSize(1) != ic / t.groups)
    return emitError() << "expects a filter over ic/groups = " << ic / t.groups
                       << " channels; got: " << t.w.getDimSize(1);
  auto out = windowOutput(t.window, t.x.getShape().drop_front(2), emitError);
  if (mlir::failed(out))
    return mlir::failure();
  SmallVector<int64_t> shape = {t.x.getDimSize(0), oc};
  llvm::append_range(shape, *out);
  return t.x.clone(shape);
}

llvm::LogicalResult ConvolutionOp::inferReturnTypes(mlir::MLIRContext *context, std::optional<mlir::Location> location,
                                                    mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                                                    mlir::OpaqueProperties properties, mlir::RegionRange regions,
                                                    llvm::SmallVectorImpl<mlir::Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto emitError = [&] {
    return mlir::emitError(location.value_or(mlir::UnknownLoc::get(context))) << "'cleave.convolution' op ";
  };
  auto w = tensorTypeOf(op.getFilter());
  if (w.getRank() < 3)
    return emitError() << "expects a filter [oc, ic/groups, kernel...] of rank 3 or more; got: " << w;
  Triple triple = {tensorTypeOf(op.getInput()), w, {}, windowOf(op, w), static_cast<int64_t>(op.getGroups())};
  auto type = resultType(triple, emitError);
  if (mlir::failed(type))
    return mlir::failure();
  types.push_back(*type);
  return mlir::success();
}

template <typename Op> static llvm::LogicalResult verifyGradient(Op op, RankedTensorType filter) {
  auto emitError = [&] { return op.emitOpError(); };
  if (filter.getRank() < 3)
    return emitError() << "expects a filter [oc, ic/groups, kernel...] of rank 3 or more; got: " << filter;
  Triple triple = tripleOf(op);
  auto type = resultType(triple, emitError);
  return mlir::failed(type) ? mlir::failure() : checkForwardType(triple.y, *type, emitError);
}
llvm::LogicalResult ConvolutionInputGradOp::verify() { return verifyGradient(*this, getFilter().getType()); }
llvm::LogicalResult ConvolutionWeightGradOp::verify() { return verifyGradient(*this, getType()); }

llvm::LogicalResult ConvolutionOp::buildVJP(mlir::OpBuilder &builder, ArrayRef<Value> resultGrads,
                                            llvm::SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0])
    return mlir::success();
  operandGrads[0] =
      ConvolutionInputGradOp::create(builder, getLoc(), getInput().getType(), resultGrads[0], getFilter(), getStrides(),
                                     getDilations(), getPadLow(), getPadHigh(), getGroups());
  operandGrads[1] =
      ConvolutionWeightGradOp::create(builder, getLoc(), getFilter().getType(), getInput(), resultGrads[0],
                                      getStrides(), getDilations(), getPadLow(), getPadHigh(), getGroups());
  return mlir::success();
}

// x = input_grad(y, w) is linear in both, and <x, x'> = <y, convolution(x', w)> for all x'. So with x' as the gradient
// of x, the gradient of y is convolution(x', w), and that of w is the weight gradient of this convolution for y.
namespace {
struct InputGradGradient : DifferentiableOpInterface::ExternalModel<InputGradGradient, ConvolutionInputGradOp> {
  llvm::LogicalResult buildVJP(mlir::Operation *op, mlir::OpBuilder &builder, ArrayRef<Value> resultGrads,
                               llvm::SmallVectorImpl<Value> &operandGrads) const {
    auto grad = llvm::cast<ConvolutionInputGradOp>(op);
    if (!resultGrads[0])
      return mlir::success();
    Value y = grad.getResultGrad(), w = grad.getFilter();
    operandGrads[0] =
        ConvolutionOp::create(builder, op->getLoc(), y.getType(), resultGrads[0], w, grad.getStrides(),
                              grad.getDilations(), grad.getPadLow(), grad.getPadHigh(), grad.getGroups());
    operandGrads[1] =
        ConvolutionWeightGradOp::create(builder, op->getLoc(), w.getType(), resultGrads[0], y, grad.getStrides(),
                                        grad.getDilations(), grad.getPadLow(), grad.getPadHigh(), grad.getGroups());
    return mlir::success();
  }
};
} // namespace

void cleave::attachConvolutionGradients(mlir::MLIRContext &context) {
  ConvolutionInputGradOp::attachInterface<InputGradGradient>(context);
}

//===----------------------------------------------------------------------===//
// Loops: n, oc, ic. Spatial dimensions stay whole, because a split would need the neighbours' borders. With groups,
// channels stay whole too, because a rank's channels of x and w would have to match group by group.
//===----------------------------------------------------------------------===//

namespace {
enum Loop : int64_t { N, OutChannel, InChannel };
} // namespace

static SmallVector<IteratorType> loopTypes(Loop reduced) {
  SmallVector<IteratorType> types(3, IteratorType::parallel);
  types[reduced] = IteratorType::reduction;
  return types;
}

static AffineMap channelMap(const Triple &t, Loop first, Loop second) {
  auto splittable = [&](Loop loop) -> int64_t { return loop == N || t.groups == 1 ? loop : kWhole; };
  SmallVector<int64_t> loops(t.x.getRank(), kWhole);
  loops[0] = splittable(first);
  loops[1] = splittable(second);
  return loopMap(t.x.getContext(), 3, loops);
}
static AffineMap inputMap(const Triple &t) { return channelMap(t, N, InChannel); }
static AffineMap filterMap(const Triple &t) { return channelMap(t, OutChannel, InChannel); }
static AffineMap outputMap(const Triple &t) { return channelMap(t, N, OutChannel); }

SmallVector<IteratorType> ConvolutionOp::getLoopIteratorTypes() { return loopTypes(InChannel); }
SmallVector<IteratorType> ConvolutionInputGradOp::getLoopIteratorTypes() { return loopTypes(OutChannel); }
SmallVector<IteratorType> ConvolutionWeightGradOp::getLoopIteratorTypes() { return loopTypes(N); }

SmallVector<ReductionKind> ConvolutionOp::getReductionLoopIteratorKinds() { return {ReductionKind::Sum}; }
SmallVector<ReductionKind> ConvolutionInputGradOp::getReductionLoopIteratorKinds() { return {ReductionKind::Sum}; }
SmallVector<ReductionKind> ConvolutionWeightGradOp::getReductionLoopIteratorKinds() { return {ReductionKind::Sum}; }

SmallVector<AffineMap> ConvolutionOp::getIndexingMaps() {
  Triple t = tripleOf(*this);
  return {inputMap(t), filterMap(t), outputMap(t)};
}
SmallVector<AffineMap> ConvolutionInputGradOp::getIndexingMaps() {
  Triple t = tripleOf(*this);
  return {outputMap(t), filterMap(t), inputMap(t)};
}
SmallVector<AffineMap> ConvolutionWeightGradOp::getIndexingMaps() {
  Triple t = tripleOf(*this);
  return {inputMap(t), outputMap(t), filterMap(t)};
}

//===----------------------------------------------------------------------===//
// Cost and kernel
//===----------------------------------------------------------------------===//

// Every element of y is a dot product over ic/groups and the window. The gradients do the same multiplications.
static int64_t flopsOf(const Triple &t) {
  double each = 2.0 * static_cast<double>(t.w.getDimSize(1)) * static_cast<double>(product(t.window.kernel));
  return static_cast<int64_t>(std::min(each * static_cast<double>(t.y.getNumElements()), 0x1p58)); // as MatmulOp::getCost()
}
OpCost ConvolutionOp::getCost() { return costWithFlops(*this, flopsOf(tripleOf(*this))); }
OpCost ConvolutionInputGradOp::getCost() { return costWithFlops(*this, flopsOf(tripleOf(*this))); }
OpCost ConvolutionWeightGradOp::getCost() { return costWithFlops(*this, flopsOf(tripleOf(*this))); }

ComputeKind ConvolutionOp::getComputeKind() { return ComputeKind::Kernel; }
ComputeKind ConvolutionInputGradOp::getComputeKind() { return ComputeKind::Kernel; }
ComputeKind ConvolutionWeightGradOp::getComputeKind() { return ComputeKind::Kernel; }

static KernelSpec specOf(llvm::StringRef name, const Triple &t) {
  KernelSpec spec = {
      name,
      {{"n", {t.x.getDimSize(0)}}, {"ic", {t.x.getDimSize(1)}}, {"oc", {t.w.getDimSize(0)}}, {"groups", {t.groups}}},
      {{"dtype", t.x.getElementType()}}};
  appendWindowParams(spec, t.window, t.x.getShape().drop_front(2), t.y.getShape().drop_front(2));
  return spec;
}
KernelSpec ConvolutionOp::getKernelSpec() { return specOf("convolution", tripleOf(*this)); }
KernelSpec ConvolutionInputGradOp::getKernelSpec() { return specOf("convolution_input_grad", tripleOf(*this)); }
KernelSpec ConvolutionWeightGradOp::getKernelSpec() { return specOf("convolution_weight_grad", tripleOf(*this)); }
