#include "compiler/Planning/Passes.h"
#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/StepFunctions.h"
#include "runtime/base/HumanUnits.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace cleave::plan {

#define GEN_PASS_DEF_OFFLOADVALUES
#include "compiler/Planning/Passes.h.inc"

namespace {

// True if the value is computed. Arguments and states have a place already, and views have the place of their whole.
bool isComputed(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<ReadOp, ConstantOp>(op) || isa<shard::ShardDialect>(op->getDialect()) ||
      llvm::any_of(byteViews(op), [&](const ByteView &view) { return view.part == value; }))
    return false;
  return isa<cleave::KernelOp>(op) || isa<ComputeOpInterface>(op);
}

OffloadOp offload(Value value) {
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  return OffloadOp::create(builder, value.getLoc(), value);
}

struct OffloadValues : impl::OffloadValuesBase<OffloadValues> {
  using OffloadValuesBase::OffloadValuesBase;

  void runOnOperation() override {
    numOffloaded = largestLeft = 0;
    llvm::SmallSetVector<func::FuncOp, 2> forwards;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      offloadReduced(function.getBody().front());
      if (func::FuncOp forward = forwardOf(function); forward && residuals)
        forwards.insert(forward);
    }
    for (func::FuncOp forward : forwards)
      offloadResiduals(forward.getBody().front());
    if (!forwards.empty() && numOffloaded == 0)
      explainNothing();
  }

  // Tells a user of --offload that nothing is stored, which would otherwise show only in the memory report.
  void explainNothing() {
    InFlightDiagnostic remark = getOperation().emitRemark("--offload activations stores nothing in host memory: ");
    if (largestLeft > 0)
      remark << "the largest value that the forward pass keeps for the backward pass has "
             << rt::exactBytesText(static_cast<uint64_t>(largestLeft)) << ", and what has fewer than "
             << rt::exactBytesText(uint64_t(minBytes)) << " stays on the device";
    else
      remark << "the forward pass keeps nothing that it computes, the backward pass computes all of it again";
  }

  // Offloads residuals. Views of one value share its copy.
  void offloadResiduals(Block &block) {
    llvm::DenseMap<Value, Value> stored;
    for (OpOperand &residual : block.getTerminator()->getOpOperands()) {
      Value value = throughReshapes(residual.get());
      bool isEdge = !edgeOfResult(cast<func::FuncOp>(block.getParentOp()), residual.getOperandNumber()).empty();
      if (isEdge || !isComputed(value)) // the next chunk reads an edge on the device
        continue;
      if (int64_t bytes = byteSize(value.getType()); bytes < static_cast<int64_t>(minBytes)) {
        largestLeft = std::max(largestLeft, bytes);
        continue;
      }
      ++numOffloaded;
      Value &host = stored[value];
      if (!host)
        host = offload(value);
      if (residual.get() != value) {
        OpBuilder builder(block.getTerminator());
        residual.set(ReshapeOp::create(builder, value.getLoc(), residual.get().getType(), host));
      } else {
        residual.set(host);
      }
    }
  }

  // An accumulator on the host is brought to the device, reduced, and stored on the host again. So the device does not
  // keep the result from one use (the norm) to another (the update).
  void offloadReduced(Block &block) {
    SymbolTable symbols(getOperation());
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (!isa<shard::AllReduceOp, shard::ReduceScatterOp>(op))
        continue;
      auto read = throughReshapes(op.getOperand(0)).getDefiningOp<ReadOp>();
      auto state = read ? symbols.lookup<cleave::StateOp>(read.getState()) : nullptr;
      Value result = op.getResult(0);
      if (!state || !state->hasAttr(kOffloadedAttr) || result.hasOneUse() || result.use_empty())
        continue;
      OffloadOp host = offload(result);
      result.replaceAllUsesExcept(host, host);
    }
  }

  int64_t numOffloaded = 0, largestLeft = 0; // residuals, and bytes of the largest one that is too small
};

} // namespace
} // namespace cleave::plan
