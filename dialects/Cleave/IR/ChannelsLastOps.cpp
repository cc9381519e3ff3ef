// cleave.last_convolution and cleave.last_pool. Checks are written for the plain types of their tensors, [n, c, s...].
#include "dialects/Cleave/IR/ChannelsLast.h"
#include "dialects/Cleave/IR/WindowSupport.h"

using namespace cleave;
using llvm::ArrayRef;
using mlir::RankedTensorType;
using mlir::Value;
using mlir::utils::IteratorType;

static RankedTensorType plainTypeOf(Value value) { return toChannelsFirst(tensorTypeOf(value)); }

static Window windowOf(LastConvolutionOp op) {
  return {op.getFilter().getType().getShape().drop_front(2), op.getStrides(), op.getDilations(), op.getPadLow(),
          op.getPadHigh()};
}
static Window windowOf(LastPoolOp op) {
  return {op.getWindow(), op.getStrides(), op.getDilations(), op.getPadLow(), op.getPadHigh()};
}

// Checks that the result has `channels` channels, and the spatial sizes that the window leaves (`output`).
template <typename Op, typename Output>
static llvm::LogicalResult verifyResult(Op op, int64_t channels, Output output) {
  auto emitError = [&] { return op.emitOpError(); };
  RankedTensorType x = plainTypeOf(op.getInput());
  llvm::FailureOr<SmallVector<int64_t>> out = output(windowOf(op), x.getShape().drop_front(2), emitError);
  if (mlir::failed(out))
    return mlir::failure();
  SmallVector<int64_t> shape = {x.getDimSize(0), channels};
  llvm::append_range(shape, *out);
  if (RankedTensorType expected = toChannelsLast(x.clone(shape)); op.getType() != expected)
    return emitError() << "expects the result " << expected << "; got: " << op.getType();
  return mlir::success();
}

llvm::LogicalResult LastConvolutionOp::verify() {
  RankedTensorType x = getInput().getType(), w = getFilter().getType();
  if (x.getRank() < 3 || w.getRank() != x.getRank() || x.getElementType() != w.getElementType())
    return emitOpError()
           << "expects an input [n, in..., ic] and a filter [oc, ic/groups, kernel...] of one element type and equal "
              "rank, 3 or more; got: "
           << x << " and " << w;
  int64_t ic = x.getShape().back(), oc = w.getDimSize(0), groups = static_cast<int64_t>(getGroups());
  if (groups < 1 || ic % groups || oc % groups || w.getDimSize(1) != ic / groups)
    return emitOpError() << "expects groups that divide the channels, and a filter over the channels of one; got: "
                         << groups << " groups, " << x << " and " << w;
  if (getBias() && tensorTypeOf(getBias()) != x.clone({oc}))
    return emitOpError() << "expects a bias for each of the " << oc << " channels; got: " << getBias().getType();
  return verifyResult(*this, oc, windowOutput);
}

llvm::LogicalResult LastPoolOp::verify() {
  if (getInput().getType().getRank() < 3)
    return emitOpError() << "expects an input [n, in..., c] of rank 3 or more; got: " << getInput().getType();
  return verifyResult(*this, getInput().getType().getShape().back(), poolOutput);
}

//===----------------------------------------------------------------------===//
// Loops: as those of the ops with channels first
//===----------------------------------------------------------------------===//

namespace {
enum Loop : int64_t { N, OutChannel, InChannel }; // of a convolution
} // namespace

// The map in which the loops `first` and `last` walk the first and the last dimension.
static AffineMap endsMap(Value value, int64_t numLoops, int64_t first, int64_t last) {
  SmallVector<int64_t> loops(tensorTypeOf(value).getRank(), kWhole);
  loops.front() = first;
  loops.back() = last;
  return loopMap(value.getContext(), numLoops, loops);
}

SmallVector<IteratorType> LastConvolutionOp::getLoopIteratorTypes() {
  return {IteratorType::parallel, IteratorType::parallel, IteratorType::reduction};
}
SmallVector<ReductionKind> LastConvolutionOp::getReductionLoopIteratorKinds() { return {ReductionKind::Sum}; }
SmallVector<AffineMap> LastConvolutionOp::getIndexingMaps() {
  int64_t in = getGroups() == 1 ? int64_t(InChannel) : kWhole, out = getGroups() == 1 ? int64_t(OutChannel) : kWhole;
  SmallVector<int64_t> filter(getFilter().getType().getRank(), kWhole);
  filter[0] = out;
  filter[1] = in;
  SmallVector<AffineMap> maps = {endsMap(getInput(), 3, N, in), loopMap(getContext(), 3, filter)};
  if (getBias())
    maps.push_back(loopMap(getContext(), 3, {out}));
  maps.push_back(endsMap(getResult(), 3, N, out));
  return maps;
}

SmallVector<IteratorType> LastPoolOp::getLoopIteratorTypes() {
  return {IteratorType::parallel, IteratorType::parallel};
}
SmallVector<ReductionKind> LastPoolOp::getReductionLoopIteratorKinds() { return {}; }
SmallVector<AffineMap> LastPoolOp::getIndexingMaps() {
  return {endsMap(getInput(), 2, 0, 1), endsMap(getResult(), 2, 0, 1)};
}

//===----------------------------------------------------------------------===//
// Cost and kernel
//===----------------------------------------------------------------------===//

OpCost LastConvolutionOp::getCost() {
  RankedTensorType w = getFilter().getType();
  double each = 2.0 * static_cast<double>(w.getDimSize(1)) * static_cast<double>(product(w.getShape().drop_front(2)));
  return costWithFlops(*this,
                       static_cast<int64_t>(std::min(each * static_cast<double>(getType().getNumElements()), 0x1p58)));
}
OpCost LastPoolOp::getCost() { return costWithFlops(*this, getType().getNumElements() * product(getWindow())); }

ComputeKind LastConvolutionOp::getComputeKind() { return ComputeKind::Kernel; }
ComputeKind LastPoolOp::getComputeKind() { return ComputeKind::Kernel; }

KernelSpec LastConvolutionOp::getKernelSpec() {
  RankedTensorType x = plainTypeOf(getInput()), y = plainTypeOf(getResult());
  KernelSpec spec = {getBias() ? "convolution_bias" : "convolution",
                     {{"n", {x.getDimSize(0)}},
                      {"ic", {x.getDimSize(1)}},
                      {"oc", {y.getDimSize(1)}},
                      {"groups", {static_cast<int64_t>(getGroups())}},
                      {"channels_last", {1}}},
                     {{"dtype", x.getElementType()}}};
  appendWindowParams(spec, windowOf(*this), x.getShape().drop_front(2), y.getShape().drop_front(2));
  return spec;
}

KernelSpec LastPoolOp::getKernelSpec() {
  RankedTensorType x = plainTypeOf(getInput()), y = plainTypeOf(getResult());
  KernelSpec spec = {getMean() ? "avg_pool" : "max_pool",
                     {{"n", {x.getDimSize(0)}}, {"c", {x.getDimSize(1)}}, {"channels_last", {1}}},
                     {{"dtype", x.getElementType()}}};
  if (getMean())
    spec.params.push_back({"count_pad", {getCountPad()}});
  appendWindowParams(spec, windowOf(*this), x.getShape().drop_front(2), y.getShape().drop_front(2));
  return spec;
}

// In f32 the library adds a bias while the result is in registers. In other types the product would have to be rounded
// before the sum.
Value LastConvolutionOp::withEpilogue(mlir::OpBuilder &builder, Value bias) {
  if (getBias() || !getType().getElementType().isF32() ||
      tensorTypeOf(bias) != getType().clone({getType().getShape().back()}))
    return {};
  return LastConvolutionOp::create(builder, getLoc(), getType(), getInput(), getFilter(), bias, getStrides(),
                                   getDilations(), getPadLow(), getPadHigh(), getGroups());
}
