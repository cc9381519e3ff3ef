#include "compiler/Sharding/Collectives.h"

#include "compiler/Sharding/DistributionRules.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/IR/Reason.h"

#include "mlir/IR/BuiltinOps.h"

using namespace cleave;
using mlir::Location;
using mlir::OpBuilder;
using mlir::RankedTensorType;
using mlir::Value;
namespace shard = mlir::shard;

Collectives::Collectives(mlir::ModuleOp module, MeshAttr mesh) : module(module), mesh(mesh) {
  if (mesh.getNumRanks() == 1 || module.lookupSymbol(kGrid))
    return;
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  shard::GridOp::create(builder, module.getLoc(), kGrid, mesh.getSizes());
}

static shard::ReductionKind reductionKind(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return shard::ReductionKind::Sum;
  case ReduceKind::Max:
    return shard::ReductionKind::Max;
  case ReduceKind::Min:
    return shard::ReductionKind::Min;
  case ReduceKind::Product:
    return shard::ReductionKind::Product;
  }
  return shard::ReductionKind::Sum;
}

mlir::Operation *Collectives::build(OpBuilder &builder, Location loc, const ReshardCollective &collective, Value input,
                                    RankedTensorType result) {
  llvm::SmallVector<shard::GridAxis> axes;
  for (llvm::StringRef axis : collective.axes)
    axes.push_back(mesh.getIndex(axis));
  llvm::SmallVector<int64_t> owner(axes.size(), 0); // the owner's coordinates
  llvm::APInt dim(64, collective.dim);
  switch (collective.kind) {
  case ReshardKind::AllReduce:
    return shard::AllReduceOp::create(builder, loc, result, kGrid, axes, input, reductionKind(collective.reduction));
  case ReshardKind::ReduceScatter:
    return shard::ReduceScatterOp::create(builder, loc, result, kGrid, axes, input, reductionKind(collective.reduction),
                                          dim);
  case ReshardKind::AllGather:
    return shard::AllGatherOp::create(builder, loc, result, kGrid, axes, input, dim);
  case ReshardKind::AllSlice:
    return shard::AllSliceOp::create(builder, loc, mlir::Type(result), input, llvm::StringRef(kGrid), axes,
                                     collective.dim);
  case ReshardKind::AllToAll:
    break; // see move()
  case ReshardKind::Reduce:
    return shard::ReduceOp::create(builder, loc, result, kGrid, axes, input, reductionKind(collective.reduction), owner,
                                   mlir::ValueRange());
  case ReshardKind::Broadcast:
    return shard::BroadcastOp::create(builder, loc, result, kGrid, axes, input, owner, mlir::ValueRange());
  }
  return nullptr;
}

// Returns `type` with dimension `dim` moved to the front.
static RankedTensorType moveFirst(RankedTensorType type, int64_t dim) {
  llvm::SmallVector<int64_t> shape(type.getShape());
  std::rotate(shape.begin(), shape.begin() + dim, shape.begin() + dim + 1);
  return RankedTensorType::get(shape, type.getElementType());
}

static llvm::SmallVector<int64_t> permutationOf(int64_t rank, int64_t from, int64_t to) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (from < to)
    std::rotate(order.begin() + from, order.begin() + from + 1, order.begin() + to + 1);
  else
    std::rotate(order.begin() + to, order.begin() + from, order.begin() + from + 1);
  return order;
}

Value Collectives::move(OpBuilder &builder, Location loc, ReshardCollective collective, Value value,
                        RankedTensorType result, mlir::DictionaryAttr reason) {
  auto input = llvm::cast<RankedTensorType>(value.getType());
  if (collective.kind == ReshardKind::AllToAll) {
    ReshardCollective gather = collective, slice = collective;
    gather.kind = ReshardKind::AllGather;
    gather.dim = collective.concatDim;
    slice.kind = ReshardKind::AllSlice;
    llvm::SmallVector<int64_t> shape(input.getShape());
    shape[gather.dim] = result.getDimSize(gather.dim);
    value = move(builder, loc, gather, value, RankedTensorType::get(shape, result.getElementType()), reason);
    return move(builder, loc, slice, value, result, reason);
  }
  RankedTensorType whole = collective.kind == ReshardKind::AllGather ? result : input;
  int64_t dim = collective.dim;
  bool isOutermost = dim < 0 || llvm::all_of(whole.getShape().take_front(dim), [](int64_t size) { return size == 1; });
  if (!isOutermost) {
    value = TransposeOp::create(builder, loc, value, permutationOf(input.getRank(), dim, 0));
    collective.dim = 0;
  }
  mlir::Operation *moved = build(builder, loc, collective, value, isOutermost ? result : moveFirst(result, dim));
  moved->setAttr(kInstanceAttr, builder.getI64IntegerAttr(nextInstance++));
  moved->setAttr(kReasonAttr, reason);
  if (collective.kind == ReshardKind::AllReduce && !collective.result.isReplicated())
    moved->setAttr(kPartAttr, builder.getUnitAttr());
  value = moved->getResult(0);
  return isOutermost ? value : TransposeOp::create(builder, loc, value, permutationOf(input.getRank(), 0, dim));
}

// Returns the reason of one of several collectives: all say how the ranks have the tensor before it and after it. The
// last one also says who needs it.
static mlir::DictionaryAttr stepReason(mlir::DictionaryAttr reason, bool isFirst, ShardingAttr before, bool isLast,
                                       ShardingAttr after) {
  auto text = [&](llvm::StringRef key) { return reason.getAs<mlir::StringAttr>(key).getValue(); };
  return makeReason(reason.getContext(), text("tensor"), isFirst ? text("made").str() : describeSharding(before),
                    isLast ? text("used").str() : describeSharding(after));
}

llvm::FailureOr<Value> Collectives::reshard(OpBuilder &builder, Location loc, Value value, RankedTensorType type,
                                            ShardingAttr made, ShardingAttr used, mlir::DictionaryAttr reason) {
  if (made.hasSplitFactor() || used.hasSplitFactor())
    return reshardSplitFactors(builder, loc, value, type, made, used, reason);
  auto collectives = planReshard(made, used);
  if (mlir::failed(collectives))
    return mlir::emitError(loc, "no collective leads from ") << made << " to " << used << ", needed for " << reason;
  ShardingAttr before = made;
  size_t end = collectives->size(); // of those that exchange something: a slice does not
  while (end > 1 && (*collectives)[end - 1].kind == ReshardKind::AllSlice)
    --end;
  for (auto [i, collective] : llvm::enumerate(*collectives)) {
    auto step = stepReason(reason, i == 0, before, i + 1 >= end, collective.result);
    value = move(builder, loc, collective, value, collective.result.getLocalType(type, mesh), step);
    before = collective.result;
  }
  return value;
}

// Makes two dimensions of a dimension of blocks, in a type and in a sharding: the blocks, which all ranks have, and the
// elements of one block.
static RankedTensorType expand(RankedTensorType type, llvm::ArrayRef<int64_t> blocks) {
  llvm::SmallVector<int64_t> shape;
  for (auto [size, count] : llvm::zip_equal(type.getShape(), blocks)) {
    if (count > 1)
      shape.push_back(count);
    shape.push_back(size / count);
  }
  return RankedTensorType::get(shape, type.getElementType());
}

static ShardingAttr expand(ShardingAttr sharding, llvm::ArrayRef<int64_t> blocks) {
  mlir::MLIRContext *context = sharding.getContext();
  llvm::SmallVector<mlir::Attribute> dims;
  for (auto [dim, count] : llvm::enumerate(blocks)) {
    if (count > 1)
      dims.push_back(ShardingAttr::getDim(context, 1, {}));
    dims.push_back(ShardingAttr::getDim(context, 1, sharding.getDimAxes(dim)));
  }
  return sharding.withDims(mlir::ArrayAttr::get(context, dims));
}

// If both split a dimension, in different blocks, it is made whole in between.
llvm::FailureOr<Value> Collectives::reshardSplitFactors(OpBuilder &builder, Location loc, Value value,
                                                        RankedTensorType type, ShardingAttr made, ShardingAttr used,
                                                        mlir::DictionaryAttr reason) {
  if (ShardingAttr between = withEqualSplitFactors(made, used); between != made) {
    auto whole = reshard(builder, loc, value, type, made, between, stepReason(reason, true, made, false, between));
    return mlir::failed(whole)
               ? whole
               : reshard(builder, loc, *whole, type, between, used, stepReason(reason, false, between, true, used));
  }
  llvm::SmallVector<int64_t> blocks;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    blocks.push_back(std::max(made.getSplitFactor(dim), used.getSplitFactor(dim)));
  RankedTensorType expanded = expand(type, blocks);
  ShardingAttr from = expand(made, blocks), to = expand(used, blocks);
  auto partOf = [&](Value value, RankedTensorType whole, ShardingAttr sharding) {
    auto part = ReshapeOp::create(builder, loc, sharding.getLocalType(whole, mesh), value);
    part->setAttr(kWholeAttr, mlir::TypeAttr::get(whole));
    return part.getResult();
  };
  auto moved = reshard(builder, loc, partOf(value, expanded, from), expanded, from, to, reason);
  if (mlir::failed(moved))
    return mlir::failure();
  return partOf(*moved, type, used);
}

Value Collectives::coordinate(OpBuilder &builder, Location loc, llvm::StringRef axis) {
  std::string name = ("coordinate." + axis).str();
  auto scalar = RankedTensorType::get({}, builder.getI64Type());
  if (!module.lookupSymbol(name)) {
    auto top = OpBuilder::atBlockBegin(module.getBody());
    auto init = InitAttr::get(module.getContext(), InitKind::Coordinate, builder.getStringAttr(axis), nullptr);
    auto segment =
        SegmentAttr::get(module.getContext(), builder.getStringAttr(name), scalar, 0, 0, init, mlir::ArrayAttr());
    StateOp::create(top, module.getLoc(), builder.getStringAttr(name), mlir::TypeAttr::get(scalar),
                    RoleAttr::get(module.getContext(), Role::Coordinate), builder.getArrayAttr(segment),
                    mlir::StringAttr(), ShardingAttr::replicated(module.getContext(), 0), mlir::UnitAttr());
  }
  return ReadOp::create(builder, loc, scalar, llvm::StringRef(name));
}

// For a dimension that is split over a and b, the first index is (c_a * size(b) + c_b) * local size.
Value Collectives::origin(OpBuilder &builder, Location loc, ShardingAttr sharding, RankedTensorType local) {
  auto scalar = RankedTensorType::get({}, builder.getI64Type()),
       single = RankedTensorType::get({1}, builder.getI64Type());
  llvm::SmallVector<Value> parts;
  for (int64_t dim = 0; dim < local.getRank(); ++dim) {
    Value block = splat(builder, loc, scalar, 0);
    for (llvm::StringRef axis : sharding.getDimAxes(dim)) {
      Value size = splat(builder, loc, scalar, mesh.getSize(axis));
      block = AddOp::create(builder, loc, MulOp::create(builder, loc, block, size), coordinate(builder, loc, axis));
    }
    Value first = MulOp::create(builder, loc, block, splat(builder, loc, scalar, local.getDimSize(dim)));
    parts.push_back(ReshapeOp::create(builder, loc, single, first));
  }
  return ConcatOp::create(builder, loc, parts, 0);
}
