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

namespace {
template <typename Op> struct Decides : DecisionOpInterface::ExternalModel<Decides<Op>, Op> {};
} // namespace

template <typename... Ops> static void attach(mlir::MLIRContext &context) {
  (Ops::template attachInterface<Decides<Ops>>(context), ...);
}

void cleave::attachDecisions(mlir::MLIRContext &context) {
  attach<SignOp, FloorOp, CeilOp, RoundOp, StopGradientOp>(context);
}
