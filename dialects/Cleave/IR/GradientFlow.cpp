#include "dialects/Cleave/IR/GradientFlow.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/StopGradient.h"

using namespace cleave;

#include "dialects/Cleave/IR/CleaveDecisions.cpp.inc"

bool cleave::mayHaveGradient(mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type && llvm::isa<mlir::FloatType>(type.getElementType());
}

GradientFlow cleave::gradientFlow(mlir::Operation *op) {
  if (llvm::isa<DecisionOpInterface>(op) || llvm::none_of(op->getResults(), mayHaveGradient))
    return GradientFlow::Decision;
  return llvm::isa<DifferentiableOpInterface>(op) ? GradientFlow::Passes : GradientFlow::Missing;
}

bool cleave::givesZeroGradient(mlir::Operation *op) {
  auto decision = llvm::dyn_cast<DecisionOpInterface>(op);
  return decision && decision.hasZeroGradient();
}

namespace {
template <typename Op, bool isZero> struct Decides : DecisionOpInterface::ExternalModel<Decides<Op, isZero>, Op> {
  bool hasZeroGradient(mlir::Operation *) const { return isZero; }
};
} // namespace

template <bool isZero, typename... Ops> static void attach(mlir::MLIRContext &context) {
  (Ops::template attachInterface<Decides<Ops, isZero>>(context), ...);
}

void cleave::attachDecisions(mlir::MLIRContext &context) {
  attach</*isZero=*/true, SignOp, FloorOp, CeilOp, RoundOp>(context);
  attach</*isZero=*/false, StopGradientOp>(context);
}
