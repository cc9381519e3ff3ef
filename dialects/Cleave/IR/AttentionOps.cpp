// cleave.attention and cleave.attention_grad: types, loops, cost, kernels.
#include "dialects/Cleave/IR/Attention.h"
#include "dialects/Cleave/IR/OpSupport.h"

using namespace cleave;
using llvm::ArrayRef;
using mlir::RankedTensorType;
using mlir::Type;
using mlir::Value;
using mlir::utils::IteratorType;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

namespace {
// The operands that both ops begin with.
struct Operands {
  Value query, key, value, mask, seed, stream, first;
  bool hasFill;
  std::optional<llvm::APFloat> rate;

  // Returns the violated rule; empty if there is none.
  std::string findError() const {
    RankedTensorType q = tensorTypeOf(query), k = tensorTypeOf(key), v = tensorTypeOf(value);
    if (q.getRank() != 4 || k.getRank() != 4 || v.getRank() != 4)
      return "expects query, key and value of rank 4";
    if (q.getElementType() != k.getElementType() || q.getElementType() != v.getElementType())
      return "expects query, key and value of one element type";
    ArrayRef<int64_t> qs = q.getShape(), ks = k.getShape(), vs = v.getShape();
    if (qs.take_front(2) != ks.take_front(2) || qs.take_front(2) != vs.take_front(2))
      return "expects query, key and value to agree in batch and heads";
    if (qs[3] != ks[3])
      return "expects query and key of one depth, their last dimension";
    if (ks[2] != vs[2])
      return "expects as many keys as values";
    std::string error = findMaskError({qs[0], qs[1], qs[2], ks[2]}, computeElementType(q.getElementType()));
    return error.empty() ? findDropoutError() : error;
  }

  std::string findMaskError(ArrayRef<int64_t> scores, Type computed) const {
    if (!mask)
      return hasFill ? "expects a mask of i1 where there is a fill" : "";
    RankedTensorType type = tensorTypeOf(mask);
    bool fits = type.getRank() == 4;
    for (int d = 0; fits && d < 4; ++d)
      fits = type.getDimSize(d) == scores[d] || type.getDimSize(d) == 1;
    if (!fits)
      return "expects a mask of rank 4 whose sizes are the scores' [batch, heads, rows, columns] or 1";
    if (type.getElementType().isInteger(1))
      return hasFill ? "" : "expects a fill for a mask of i1";
    if (type.getElementType() != computed)
      return "expects a mask of i1 or of the type that scores are computed in";
    return hasFill ? "expects no fill for a mask that is added" : "";
  }

  std::string findDropoutError() const {
    if (!seed != !stream || !seed != !first)
      return "expects seed, stream and first indices together";
    if (!seed)
      return rate ? "expects no rate without dropout" : "";
    if (!rate || !(rate->convertToDouble() > 0 && rate->convertToDouble() < 1))
      return "expects a rate above 0 and below 1 where there is dropout";
    if (tensorTypeOf(seed).getRank() != 0 || tensorTypeOf(stream).getRank() != 0)
      return "expects a seed and a stream that are scalars";
    return shapeOf(first) == shapeOf(query).take_front(2) ? "" : "expects first indices of the shape [batch, heads]";
  }

  RankedTensorType resultType() const {
    ArrayRef<int64_t> q = shapeOf(query);
    return tensorTypeOf(query).clone({q[0], q[1], q[2], shapeOf(value)[3]});
  }
  RankedTensorType statisticType() const {
    return RankedTensorType::get(shapeOf(query).take_front(3),
                                 computeElementType(tensorTypeOf(query).getElementType()));
  }
};
} // namespace

template <typename Op> static Operands operandsOf(Op op) {
  return {op.getQuery(), op.getKey(),    op.getValue(), op.getMask(),
          op.getSeed(),  op.getStream(), op.getFirst(), op.getFill().has_value(),
          op.getRate()};
}

static llvm::LogicalResult check(const Operands &operands, llvm::StringRef name,
                                 std::optional<mlir::Location> location) {
  std::string error = operands.findError();
  if (error.empty())
    return mlir::success();
  auto typeOf = [](Value value) { return value ? value.getType() : Type(); };
  std::string got;
  llvm::raw_string_ostream stream(got);
  stream << typeOf(operands.query) << ", " << typeOf(operands.key) << ", " << typeOf(operands.value);
  if (operands.mask)
    stream << " and the mask " << typeOf(operands.mask);
  if (operands.seed && operands.stream && operands.first)
    stream << " and the dropout " << operands.seed.getType() << ", " << operands.stream.getType() << ", "
           << operands.first.getType();
  if (operands.rate)
    stream << " and the rate " << operands.rate->convertToDouble();
  return mlir::emitOptionalError(location, "'", name, "' op ", error, "; got: ", got);
}

llvm::LogicalResult AttentionOp::inferReturnTypes(mlir::MLIRContext *, std::optional<mlir::Location> location,
                                                  mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                                                  mlir::OpaqueProperties properties, mlir::RegionRange regions,
                                                  llvm::SmallVectorImpl<Type> &types) {
  Operands given = operandsOf(Adaptor(operands, attributes, properties, regions));
  if (mlir::failed(check(given, getOperationName(), location)))
    return mlir::failure();
  types.assign({given.resultType(), given.statisticType(), given.statisticType()});
  return mlir::success();
}

llvm::LogicalResult AttentionGradOp::inferReturnTypes(mlir::MLIRContext *, std::optional<mlir::Location> location,
                                                      mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                                                      mlir::OpaqueProperties properties, mlir::RegionRange regions,
                                                      llvm::SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  Operands given = operandsOf(op);
  if (mlir::failed(check(given, getOperationName(), location)))
    return mlir::failure();
  if (op.getResultGrad().getType() != given.resultType())
    return mlir::emitOptionalError(location, "'", getOperationName(), "' op expects a result_grad of type ",
                                   given.resultType(), "; got: ", op.getResultGrad().getType());
  for (Value statistic : {op.getMaximum(), op.getSum(), op.getDelta()})
    if (statistic.getType() != given.statisticType())
      return mlir::emitOptionalError(location, "'", getOperationName(), "' op expects maximum, sum and delta of type ",
                                     given.statisticType(), "; got: ", statistic.getType());
  types.assign({given.query.getType(), given.key.getType(), given.value.getType()});
  return mlir::success();
}

//===----------------------------------------------------------------------===//
// Loops: each head of each sample is computed alone and whole
//===----------------------------------------------------------------------===//

static SmallVector<AffineMap> headMaps(mlir::Operation *op) {
  SmallVector<AffineMap> maps;
  auto add = [&](Value value) {
    ArrayRef<int64_t> shape = shapeOf(value);
    SmallVector<int64_t> loops(shape.size(), kWhole);
    ArrayRef<int64_t> heads = shapeOf(op->getOperand(0)).take_front(2);
    for (size_t d = 0; d < std::min<size_t>(2, shape.size()); ++d) // seed and stream are scalars
      if (shape[d] == heads[d])                                    // a mask may have one for all of them
        loops[d] = static_cast<int64_t>(d);
    maps.push_back(loopMap(op->getContext(), 2, loops));
  };
  llvm::for_each(op->getOperands(), add);
  llvm::for_each(op->getResults(), add);
  return maps;
}

// The cost of `products` products of rows with all columns; half of it if attention is causal.
template <typename Op> static OpCost costOf(Op op, double products) {
  ArrayRef<int64_t> q = shapeOf(op.getQuery()), v = shapeOf(op.getValue());
  double scores = static_cast<double>(q[0] * q[1]) * static_cast<double>(q[2]) * static_cast<double>(v[2]);
  double flops = scores * static_cast<double>(q[3] + v[3]) * products * (op.getCausal() ? 0.5 : 1);
  if (op.getRate()) // the ten rounds of Philox for each four scores
    flops += scores * 25;
  return costWithFlops(op, static_cast<int64_t>(std::min(flops, 0x1p58)));
}

static llvm::StringRef kernelName(bool hasMask, bool hasDropout, bool isGradient) {
  const char *names[2][2][2] = {{{"attention", "attention_grad"}, {"attention_dropout", "attention_dropout_grad"}},
                                {{"attention_masked", "attention_masked_grad"},
                                 {"attention_masked_dropout", "attention_masked_dropout_grad"}}};
  return names[hasMask][hasDropout][isGradient];
}

template <typename Op> static KernelSpec specOf(Op op, bool isGradient) {
  ArrayRef<int64_t> q = shapeOf(op.getQuery()), v = shapeOf(op.getValue());
  Type element = tensorTypeOf(op.getQuery()).getElementType();
  auto bits = [](const llvm::APFloat &number) { return static_cast<int64_t>(number.bitcastToAPInt().getZExtValue()); };
  KernelSpec spec = {kernelName(op.getMask() != nullptr, op.getRate().has_value(), isGradient),
                     {{"batch", {q[0]}},
                      {"heads", {q[1]}},
                      {"rows", {q[2]}},
                      {"columns", {v[2]}},
                      {"depth", {q[3]}},
                      {"width", {v[3]}},
                      {"causal", {op.getCausal()}},
                      {"scale", {bits(op.getScale())}}},
                     {{"dtype", element}, {"sum_dtype", computeElementType(element)}}};
  if (op.getRate())
    spec.params.push_back({"rate", {bits(*op.getRate())}});
  if (Value mask = op.getMask()) {
    ArrayRef<int64_t> sizes = shapeOf(mask);
    const char *names[] = {"mask_batch", "mask_heads", "mask_rows", "mask_columns"};
    for (int d = 0; d < 4; ++d)
      spec.params.push_back({names[d], {sizes[d]}});
    spec.params.push_back({"fill", {op.getFill() ? bits(*op.getFill()) : 0}});
    spec.types.push_back({"mask_dtype", tensorTypeOf(mask).getElementType()});
  }
  return spec;
}

#define CLEAVE_ATTENTION(Op, products, isGradient)                                                                     \
  SmallVector<IteratorType> Op::getLoopIteratorTypes() { return {IteratorType::parallel, IteratorType::parallel}; }    \
  SmallVector<ReductionKind> Op::getReductionLoopIteratorKinds() { return {}; }                                        \
  SmallVector<AffineMap> Op::getIndexingMaps() { return headMaps(*this); }                                             \
  ComputeKind Op::getComputeKind() { return ComputeKind::Kernel; }                                                     \
  OpCost Op::getCost() { return costOf(*this, products); }                                                             \
  KernelSpec Op::getKernelSpec() { return specOf(*this, isGradient); }
CLEAVE_ATTENTION(AttentionOp, 2, false)
CLEAVE_ATTENTION(AttentionGradOp, 5, true)
#undef CLEAVE_ATTENTION
