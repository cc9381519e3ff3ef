#include "dialects/Cleave/Transforms/Passes.h"
#include "dialects/Cleave/Transforms/ReferenceBodies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace cleave {
#define GEN_PASS_DEF_CONVERTCLEAVETOLINALG
#include "dialects/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

using namespace cleave;
using mlir::Value;
using Values = llvm::SmallVector<Value>;

// Replaces a kernel by its body, because the reference does not depend on what is computed together.
static void inlineKernel(KernelOp kernel) {
  mlir::Block &body = kernel.getBody().front();
  mlir::Operation *yield = body.getTerminator();
  mlir::IRMapping mapping;
  mapping.map(body.getArguments(), kernel.getInputs());
  mlir::OpBuilder builder(kernel);
  for (mlir::Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  for (auto [result, value] : llvm::zip_equal(kernel.getResults(), yield->getOperands()))
    result.replaceAllUsesWith(mapping.lookup(value));
  kernel.erase();
}

// Builds plain loops, or the ops that define the op if its kernel has no reference body (attention).
static Values buildReference(mlir::ImplicitLocOpBuilder &builder, ComputeOpInterface op) {
  KernelSpec spec = op.getKernelSpec();
  ReferenceBody body = findReferenceBody(spec.name);
  if (!body) {
    if (Values parts = op.decompose(builder, op->getOperands()); !parts.empty())
      return parts;
    op.emitOpError("has no reference body for its kernel '") << spec.name << "'";
    return {};
  }
  LoopWriter nest(builder);
  Values operands;
  for (Value operand : op->getOperands())
    operands.push_back(nest.flatten(operand));
  auto type = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  Value flat = body(nest, KernelParams(spec), operands, LoopWriter::wide(type.getElementType()));
  return {nest.finish(flat, type)};
}

static llvm::LogicalResult convert(mlir::Operation *op) {
  if (auto kernel = mlir::dyn_cast<KernelOp>(op)) {
    inlineKernel(kernel);
    return mlir::success();
  }
  auto compute = mlir::dyn_cast<ComputeOpInterface>(op);
  if (!compute)
    return op->emitOpError("cannot be lowered to linalg: the reference has neither state nor collectives");
  mlir::ImplicitLocOpBuilder builder(op->getLoc(), op);
  Values values;
  switch (compute.getComputeKind()) {
  case ComputeKind::View:
  case ComputeKind::Fusible:
    values = compute.buildLinalg(builder, op->getOperands());
    break;
  case ComputeKind::Composite:
    values = compute.decompose(builder, op->getOperands());
    break;
  case ComputeKind::Kernel:
    values = buildReference(builder, compute);
    break;
  }
  if (values.size() != op->getNumResults())
    return op->emitOpError("gave no lowering for its compute kind");
  op->replaceAllUsesWith(values);
  op->erase();
  return mlir::success();
}

namespace {
struct ConvertCleaveToLinalg : impl::ConvertCleaveToLinalgBase<ConvertCleaveToLinalg> {
  // Decompositions and inlined kernels leave cleave ops, so the walk is repeated until it finds none.
  void runOnOperation() override {
    while (true) {
      llvm::SmallVector<mlir::Operation *> ops;
      getOperation().walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
        if (!mlir::isa_and_present<CleaveDialect>(op->getDialect()) && !mlir::isa<ComputeOpInterface>(op))
          return mlir::WalkResult::advance();
        ops.push_back(op);
        return mlir::WalkResult::skip();
      });
      if (ops.empty())
        return;
      for (mlir::Operation *op : ops)
        if (mlir::failed(convert(op)))
          return signalPassFailure();
    }
  }
};
} // namespace
