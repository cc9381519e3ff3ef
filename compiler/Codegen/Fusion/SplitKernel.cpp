#include "compiler/Codegen/Fusion/SplitKernel.h"

#include "dialects/Cleave/IR/BlockMarks.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace cleave;

static bool isConstant(Operation *op) { return op && op->hasTrait<OpTrait::ConstantLike>(); }

// Makes a kernel of `op` alone, with the constants that it reads. `outside` maps its other operands to the values
// outside.
static KernelOp kernelOf(OpBuilder &builder, Operation *op, const IRMapping &outside) {
  llvm::SetVector<Value> reads(op->operand_begin(), op->operand_end());
  SmallVector<Value> read, inputs;
  for (Value operand : reads)
    if (!isConstant(operand.getDefiningOp())) {
      read.push_back(operand);
      inputs.push_back(outside.lookup(operand));
    }
  auto kernel = KernelOp::create(builder, op->getLoc(), op->getResultTypes(), inputs, /*label=*/nullptr,
                                 /*tied=*/nullptr);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&kernel.getBody());
  IRMapping inside;
  for (Value value : read)
    inside.map(value, body->addArgument(value.getType(), value.getLoc()));
  for (Value operand : reads)
    if (isConstant(operand.getDefiningOp()))
      builder.clone(*operand.getDefiningOp(), inside);
  Operation *alone = builder.clone(*op, inside);
  YieldOp::create(builder, kernel.getLoc(), alone->getResults());
  return kernel;
}

SmallVector<KernelOp> cleave::splitKernel(KernelOp kernel) {
  OpBuilder builder(kernel);
  Block &body = kernel.getBody().front();
  SmallVector<Value> yielded(body.getTerminator()->getOperands());
  IRMapping outside;
  outside.map(body.getArguments(), kernel.getInputs());
  SmallVector<KernelOp> parts;
  for (Operation &op : body.without_terminator()) {
    bool leaves = llvm::any_of(op.getResults(), [&](Value result) { return llvm::is_contained(yielded, result); });
    if (isConstant(&op) && !leaves)
      continue;
    parts.push_back(kernelOf(builder, &op, outside));
    setBlockMark(parts.back(), getBlockMark(kernel));
    outside.map(op.getResults(), parts.back().getResults());
  }
  for (auto [result, value] : llvm::zip(kernel.getResults(), yielded))
    result.replaceAllUsesWith(outside.lookup(value));
  kernel.erase();
  return parts;
}
