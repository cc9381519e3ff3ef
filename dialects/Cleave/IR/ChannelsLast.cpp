// The channels-last forms of ops.
#include "dialects/Cleave/IR/ChannelsLast.h"
#include "dialects/Cleave/IR/CutLoops.h"
#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "dialects/Cleave/IR/CleaveChannelsLast.cpp.inc"

using namespace cleave;
using llvm::cast;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::OpBuilder;
using mlir::RankedTensorType;
using mlir::Value;
using mlir::ValueRange;
using Form = std::optional<ChannelsLastForm>;

SmallVector<int64_t> cleave::channelsLastOrder(int64_t rank) {
  SmallVector<int64_t> order = {0};
  llvm::append_range(order, range(2, rank - 2));
  order.push_back(1);
  return order;
}

SmallVector<int64_t> cleave::channelsFirstOrder(int64_t rank) {
  SmallVector<int64_t> order = {0, rank - 1};
  llvm::append_range(order, range(1, rank - 2));
  return order;
}

static SmallVector<int64_t> permuted(ArrayRef<int64_t> values, ArrayRef<int64_t> order) {
  return llvm::map_to_vector(order, [&](int64_t from) { return values[from]; });
}

RankedTensorType cleave::toChannelsLast(RankedTensorType type) {
  return type.clone(permuted(type.getShape(), channelsLastOrder(type.getRank())));
}
RankedTensorType cleave::toChannelsFirst(RankedTensorType type) {
  return type.clone(permuted(type.getShape(), channelsFirstOrder(type.getRank())));
}

bool cleave::keepsBytes(RankedTensorType type, ArrayRef<int64_t> permutation) {
  int64_t last = -1;
  for (int64_t dim : permutation) {
    if (type.getDimSize(dim) == 1)
      continue;
    if (dim < last)
      return false;
    last = dim;
  }
  return true;
}

// Returns the position of a dimension after the change.
static int64_t movedDim(int64_t dim, int64_t rank) { return dim == 0 ? 0 : dim == 1 ? rank - 1 : dim - 1; }

static SmallVector<int64_t> movedDims(ArrayRef<int64_t> dims, int64_t rank) {
  auto moved = llvm::map_to_vector(dims, [&](int64_t dim) { return movedDim(dim, rank); });
  llvm::sort(moved);
  return moved;
}

// Returns whether a tensor that has some dimensions of a channels-last one, in that one's order, is channels-last
// itself (true) or plain (false). Nothing if it is neither. `dims` must ascend.
static std::optional<bool> isSubsetLast(ArrayRef<int64_t> dims) {
  const auto *channels = llvm::find(dims, 1);
  if (channels == dims.end() || channels + 1 == dims.end())
    return false;
  bool isTensor = channels == dims.begin() + 1; // dimension 0 is there as well
  return isTensor ? std::optional(true) : std::nullopt;
}

static bool hasChannels(Value value) { return tensorTypeOf(value).getRank() >= 3; }

// The form in which all tensors are channels-last; `build` makes the op with its attributes.
template <typename Build> static Form allLast(mlir::Operation *op, Build build) {
  if (op->getNumResults() != 1 || !hasChannels(op->getResult(0)) || !llvm::all_of(op->getOperands(), hasChannels))
    return std::nullopt;
  return ChannelsLastForm{SmallVector<bool>(op->getNumOperands(), true), true, 0, build};
}

//===----------------------------------------------------------------------===//
// Ops that compute each element from those at the same index
//===----------------------------------------------------------------------===//

static Form elementwiseForm(mlir::Operation *op) {
  return allLast(op, [op](OpBuilder &builder, ValueRange operands) -> Value {
    mlir::Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    Value result = copy->getResult(0);
    result.setType(toChannelsLast(tensorTypeOf(result)));
    return result;
  });
}

Form cleave::channelsLastForm(mlir::Operation *op) {
  if (auto known = llvm::dyn_cast<ChannelsLastOpInterface>(op))
    return known.channelsLastForm();
  return computesAtOwnIndex(op) ? elementwiseForm(op) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Reductions, and ops that move elements
//===----------------------------------------------------------------------===//

static Form formOf(ReduceOp op) {
  int64_t rank = tensorTypeOf(op.getOperand()).getRank();
  auto isLast = isSubsetLast(otherDims(rank, op.getDims()));
  if (rank < 3 || !isLast)
    return std::nullopt;
  return ChannelsLastForm{{true}, *isLast, 0, [=](OpBuilder &builder, ValueRange operands) mutable -> Value {
                            return ReduceOp::create(builder, op.getLoc(), op.getKind(), operands[0],
                                                    movedDims(op.getDims(), rank));
                          }};
}

static Form formOf(BroadcastOp op) {
  RankedTensorType type = op.getResult().getType();
  auto isLast = isSubsetLast(op.getDims());
  if (type.getRank() < 3 || !isLast)
    return std::nullopt;
  return ChannelsLastForm{{*isLast}, true, 0, [=](OpBuilder &builder, ValueRange operands) mutable -> Value {
                            return BroadcastOp::create(builder, op.getLoc(), toChannelsLast(type), operands[0],
                                                       movedDims(op.getDims(), type.getRank()));
                          }};
}

static Form formOf(SliceOp op) {
  return allLast(op, [=](OpBuilder &builder, ValueRange operands) mutable -> Value {
    auto order = channelsLastOrder(op.getStarts().size());
    return SliceOp::create(builder, op.getLoc(), operands[0], permuted(op.getStarts(), order),
                           permuted(op.getSizes(), order), permuted(op.getSteps(), order));
  });
}

static Form formOf(PadOp op) {
  return allLast(op, [=](OpBuilder &builder, ValueRange operands) mutable -> Value {
    auto order = channelsLastOrder(op.getLow().size());
    return PadOp::create(builder, op.getLoc(), operands[0], permuted(op.getLow(), order), permuted(op.getHigh(), order),
                         permuted(op.getInterior(), order), op.getValue());
  });
}

static Form formOf(ConcatOp op) {
  return allLast(op, [=](OpBuilder &builder, ValueRange operands) mutable -> Value {
    return ConcatOp::create(builder, op.getLoc(), operands,
                            movedDim(op.getDim(), tensorTypeOf(op.getResult()).getRank()));
  });
}

// The dimensions after the channels may change. A reshape with kWholeAttr has no form, because that is the type of the
// plain tensor.
static Form formOf(ReshapeOp op) {
  ArrayRef<int64_t> from = op.getOperand().getType().getShape(), to = op.getResult().getType().getShape();
  if (op->hasAttr(kWholeAttr) || from.size() < 3 || to.size() < 3 || from.take_front(2) != to.take_front(2))
    return std::nullopt;
  return allLast(op, [=](OpBuilder &builder, ValueRange operands) mutable -> Value {
    return ReshapeOp::create(builder, op.getLoc(), toChannelsLast(op.getResult().getType()), operands[0]);
  });
}

// The op itself may move the channels to their new place, and is then not needed.
static Form formOf(TransposeOp op) {
  RankedTensorType type = op.getOperand().getType();
  int64_t rank = type.getRank();
  if (rank < 3)
    return std::nullopt;
  int64_t bytes = keepsBytes(type, op.getPermutation()) ? 0 : 2 * byteSize(type);
  auto itself = [](OpBuilder &, ValueRange operands) -> Value { return operands[0]; };
  if (op.getPermutation() == ArrayRef(channelsLastOrder(rank)))
    return ChannelsLastForm{{true}, false, bytes, itself};
  if (op.getPermutation() == ArrayRef(channelsFirstOrder(rank)))
    return ChannelsLastForm{{false}, true, bytes, itself};
  return ChannelsLastForm{{true}, false, 0, [=](OpBuilder &builder, ValueRange operands) mutable -> Value {
                            auto order = llvm::map_to_vector(op.getPermutation(),
                                                             [&](int64_t dim) { return movedDim(dim, rank); });
                            return TransposeOp::create(builder, op.getLoc(), operands[0], order);
                          }};
}

//===----------------------------------------------------------------------===//
// Convolutions and pools
//===----------------------------------------------------------------------===//

// Libraries compute with channels last, or in blocks of channels. They copy plain tensors, and copies are written and
// read.
static Form formOf(ConvolutionOp op) {
  int64_t copied = 2 * (byteSize(op.getInput().getType()) + byteSize(op.getType()));
  auto build = [=](OpBuilder &builder, ValueRange operands) mutable -> Value {
    return LastConvolutionOp::create(builder, op.getLoc(), toChannelsLast(op.getType()), operands[0], operands[1],
                                     /*bias=*/Value(), op.getStrides(), op.getDilations(), op.getPadLow(),
                                     op.getPadHigh(), op.getGroups());
  };
  return ChannelsLastForm{{true, false}, true, copied, build};
}

template <typename Pool> static Form poolForm(Pool op, bool isMean, bool countsPad) {
  return allLast(op, [=](OpBuilder &builder, ValueRange operands) mutable -> Value {
    return LastPoolOp::create(builder, op.getLoc(), toChannelsLast(op.getType()), operands[0], isMean, countsPad,
                              op.getWindow(), op.getStrides(), op.getDilations(), op.getPadLow(), op.getPadHigh());
  });
}
static Form formOf(MaxPoolOp op) { return poolForm(op, /*isMean=*/false, /*countsPad=*/false); }
static Form formOf(AvgPoolOp op) { return poolForm(op, /*isMean=*/true, op.getCountPad()); }

namespace {
template <typename Op> struct HasForm : ChannelsLastOpInterface::ExternalModel<HasForm<Op>, Op> {
  Form channelsLastForm(mlir::Operation *op) const { return formOf(cast<Op>(op)); }
};

template <typename... Ops> void attach(mlir::MLIRContext &context) {
  (Ops::template attachInterface<HasForm<Ops>>(context), ...);
}
} // namespace

void cleave::attachChannelsLast(mlir::MLIRContext &context) {
  attach<ReduceOp, BroadcastOp, SliceOp, PadOp, ConcatOp, ReshapeOp, TransposeOp, ConvolutionOp, MaxPoolOp, AvgPoolOp>(
      context);
}
