#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Loss/Accuracy.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/States.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "runtime/plan/ScalarNames.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_BUILDEVALUATE
#include "compiler/Training/Passes.h.inc"

namespace {
class BuildEvaluatePass : public impl::BuildEvaluateBase<BuildEvaluatePass> {
  void runOnOperation() override {
    func::FuncOp function = lookupFunction(getOperation(), "model.eval");
    if (!function)
      return;
    unsigned results = function.getNumResults();
    if (results < 2 || !function.getResultAttr(results - 2, kLossSumAttr)) {
      function.emitError("expected the results of split-loss");
      return signalPassFailure();
    }
    function.setName("evaluate");
    Block &block = function.getBody().front();
    for (WriteOp write : llvm::make_early_inc_range(block.getOps<WriteOp>()))
      write.erase(); // an evaluation does not change running statistics
    mergeReads(function);
    Operation *terminator = block.getTerminator();
    Value sum = terminator->getOperand(results - 2), count = terminator->getOperand(results - 1);
    OpBuilder builder(terminator);
    addTo(builder, block, rt::kEvalLossSumScalar, sum);
    addTo(builder, block, rt::kEvalCountScalar, count);
    if (std::optional<AccuracySums> sums = buildAccuracy(builder, sum)) {
      addTo(builder, block, rt::kEvalCorrectScalar, sums->correct);
      addTo(builder, block, rt::kEvalPredictionsScalar, sums->predictions);
    }
    terminator->setOperands({});
    function.removeResAttrsAttr();
    function.setFunctionType(builder.getFunctionType(block.getArgumentTypes(), {}));
  }

  void addTo(OpBuilder &builder, Block &block, StringRef name, Value term) {
    Arithmetic a(builder, term.getLoc());
    StateOp state = getScalar(getOperation(), name, builder.getF32Type());
    OpBuilder atBegin = OpBuilder::atBlockBegin(&block);
    Value old = readState(atBegin, term.getLoc(), state);
    WriteOp::create(builder, term.getLoc(), a.add(old, a.cast(term, builder.getF32Type())), state.getSymName());
  }
};
} // namespace
} // namespace cleave
