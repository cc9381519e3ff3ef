#include "compiler/Codegen/Loops/LinalgForm.h"

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace cleave;

void cleave::addLinalgFormDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect, math::MathDialect,
                  tensor::TensorDialect>();
}

void cleave::loadLinalgFormDialects(MLIRContext &context) {
  context
      .loadDialect<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect, math::MathDialect,
                   tensor::TensorDialect>();
}

static bool isTensor(Value value) { return isa<RankedTensorType>(value.getType()); }

// Returns why code cannot be generated for the generic. A body must be scalar code without control flow, on the
// generic's own operands. Maps of results must name loops.
static std::string whyNotGeneric(linalg::GenericOp op) {
  for (Operation &inner : *op.getBody()) {
    if (inner.getNumRegions() != 0)
      return "its body has ops with regions";
    for (Value operand : inner.getOperands())
      if (operand.getParentRegion() != &op.getRegion())
        return "its body uses values from outside of it";
  }
  for (OpOperand &init : op.getDpsInitsMutable())
    if (!op.getMatchingIndexingMap(&init).isProjectedPermutation(/*allowZeroInResults=*/true))
      return "the map of a result does not name loops";
  return {};
}

// Returns why code generators do not know such an op (Loops/ElementEmitter.h); empty if they do.
static std::string whyNotForm(Operation *op) {
  bool hasTensors = llvm::any_of(op->getOperands(), isTensor) || llvm::any_of(op->getResults(), isTensor);
  if (!hasTensors && op->getNumRegions() == 0)
    return {};
  return TypeSwitch<Operation *, std::string>(op)
      .Case([](linalg::GenericOp generic) { return whyNotGeneric(generic); })
      .Case([](tensor::ExtractSliceOp slice) {
        return slice.getOffsets().empty() && slice.getStrides().empty() ? "" : "it takes a slice at computed places";
      })
      .Case([](tensor::InsertSliceOp insert) {
        bool isStatic = insert.getOffsets().empty() && insert.getStrides().empty();
        bool sameRank = insert.getSourceType().getRank() == insert.getType().getRank();
        return isStatic && sameRank ? "" : "it inserts at computed places, or a tensor of another rank";
      })
      .Case([](tensor::PadOp pad) {
        Value padding = pad.getConstantPaddingValue();
        bool isStatic = pad.getLow().empty() && pad.getHigh().empty();
        return isStatic && padding && matchPattern(padding, m_Constant()) ? "" : "it pads with computed values or sizes";
      })
      .Case([](arith::ConstantOp constant) {
        return isa<DenseElementsAttr>(constant.getValue()) ? "" : "it is a constant without dense elements";
      })
      .Case([](UnrealizedConversionCastOp cast) {
        return cast->getNumOperands() == 1 && cast->getNumResults() == 1 ? "" : "it casts several values at once";
      })
      .Case<tensor::EmptyOp, tensor::ConcatOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::BitcastOp,
            tensor::ExtractOp>([](Operation *) { return ""; })
      .Default([](Operation *other) { return ("kernels cannot be made of " + other->getName().getStringRef()).str(); });
}

// Makes a generic op of a named linalg op, so that code generators see only one form.
static Operation *generalize(Operation *op, SmallVectorImpl<Value> &results) {
  auto named = dyn_cast<linalg::LinalgOp>(op);
  if (!named || isa<linalg::GenericOp>(op))
    return op;
  IRRewriter rewriter(op->getContext());
  rewriter.setInsertionPoint(op);
  SmallVector<Value> old(op->getResults());
  FailureOr<linalg::GenericOp> generic = linalg::generalizeNamedOp(rewriter, named);
  if (failed(generic))
    return op;
  for (Value &result : results)
    if (auto place = llvm::find(old, result); place != old.end())
      result = generic->getResult(place - old.begin());
  return *generic;
}

// Erases ops without users, last first, except those of `results`. Returns the others.
static SmallVector<Operation *> eraseUnused(ArrayRef<Operation *> made, ArrayRef<Value> results) {
  SmallVector<Operation *> kept;
  for (Operation *op : llvm::reverse(made)) {
    bool isResult = llvm::any_of(op->getResults(), [&](Value value) { return llvm::is_contained(results, value); });
    if (isResult || !op->use_empty())
      kept.push_back(op);
    else
      op->erase();
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

FailureOr<SmallVector<Operation *>> cleave::lowerToLinalg(OpBuilder &builder, Operation *op, IRMapping &mapping,
                                                          std::string &why) {
  auto compute = dyn_cast<ComputeOpInterface>(op);
  ComputeKind kind = compute ? compute.getComputeKind() : ComputeKind::Kernel;
  if (kind != ComputeKind::Fusible && kind != ComputeKind::View) {
    why = "only fusible ops and views can be compiled into a kernel; run decompose-composites first";
    return failure();
  }
  Block *block = builder.getInsertionBlock();
  Operation *before = builder.getInsertionPoint() == block->begin() ? nullptr : &*std::prev(builder.getInsertionPoint());
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(mapping.lookup(operand));
  SmallVector<Value> results = compute.buildLinalg(builder, operands);
  SmallVector<Operation *> made;
  for (auto it = before ? std::next(before->getIterator()) : block->begin(); it != builder.getInsertionPoint(); ++it)
    made.push_back(&*it);
  if (results.size() != op->getNumResults()) {
    why = "it has no linalg form";
    return failure();
  }
  for (Operation *&one : made)
    one = generalize(one, results);
  made = eraseUnused(made, results);
  for (Operation *one : made)
    if (why = whyNotForm(one); !why.empty())
      return failure();
  mapping.map(op->getResults(), ArrayRef<Value>(results));
  return made;
}
