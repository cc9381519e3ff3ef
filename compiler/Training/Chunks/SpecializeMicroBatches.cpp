#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/States.h"
#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/StepFunctions.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_SPECIALIZEMICROBATCHES
#include "compiler/Training/Passes.h.inc"

namespace {

// Folds the users of a zero: parts of it are zeros, and adding it changes nothing. (Only here may x + 0 become x in
// floating point, because the first term of an accumulator is the term itself.)
void foldZero(Value zero) {
  for (Operation *user : llvm::make_early_inc_range(zero.getUsers())) {
    OpBuilder builder(user);
    SmallVector<LinearOperand, 2> linear = linearOperands(user);
    if (addsTwoPlainly(user)) {
      const LinearOperand &rest = linear[user->getOperand(linear[0].number) == zero ? 1 : 0];
      if (rest.factor != 1)
        continue;
      user->getResult(0).replaceAllUsesWith(user->getOperand(rest.number));
      user->erase();
    } else if (linear.size() == 1 && !addsOperands(user) && !linear[0].scale && !linear[0].condition) {
      Value part = Arithmetic(builder, user->getLoc()).splat(tensorType(user->getResult(0)), 0);
      user->getResult(0).replaceAllUsesWith(part);
      user->erase();
      foldZero(part);
    }
  }
  if (zero.use_empty())
    zero.getDefiningOp()->erase();
}

void beginAtZero(const SymbolTable &symbols, func::FuncOp function) {
  for (ReadOp read : llvm::make_early_inc_range(function.getBody().front().getOps<ReadOp>())) {
    if (!isAccumulator(symbols.lookup<StateOp>(read.getState())))
      continue;
    OpBuilder builder(read);
    Value zero = Arithmetic(builder, read.getLoc()).splat(tensorType(read.getResult()), 0);
    read.replaceAllUsesWith(zero);
    read.erase();
    foldZero(zero);
  }
}

// The states with values from before the step are written only by its first micro-batch.
void eraseFirstWrites(const SymbolTable &symbols, func::FuncOp function) {
  for (WriteOp write : llvm::make_early_inc_range(function.getBody().front().getOps<WriteOp>()))
    if (symbols.lookup<StateOp>(write.getState()).getSlot() == kBeforeSlot)
      write.erase();
}

class SpecializeMicroBatchesPass : public impl::SpecializeMicroBatchesBase<SpecializeMicroBatchesPass> {
public:
  using SpecializeMicroBatchesBase::SpecializeMicroBatchesBase;

private:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (microBatches < 1) {
      module.emitError("a step has at least one micro-batch; got: ") << int64_t(microBatches);
      return signalPassFailure();
    }
    SymbolTable symbols(module); // for states: functions that are added later are not looked up
    SmallVector<unsigned> chunks = chunksOf(module);
    if (chunks.empty())
      chunks.push_back(0); // its absence is reported below
    for (unsigned chunk : chunks)
      for (StringRef half : {".fwd", ".bwd"}) {
        std::string name = chunkName(chunk) + half.str();
        func::FuncOp function = lookupFunction(module, name);
        if (!function) {
          module.emitError("expected a function @") << name << "; choose-residuals makes it";
          return signalPassFailure();
        }
        beginAtZero(symbols, microBatches == 1 ? function : cloneFirst(function));
        if (microBatches > 1)
          eraseFirstWrites(symbols, function);
      }
    Builder builder(&getContext());
    module->setAttr(kLevelAttr, builder.getStringAttr("step"));
    module->setAttr(kMicroBatchesAttr, builder.getI64IntegerAttr(microBatches));
  }

  func::FuncOp cloneFirst(func::FuncOp function) {
    OpBuilder builder(function);
    auto first = cast<func::FuncOp>(builder.clone(*function));
    first.setName((function.getSymName() + ".first").str());
    if (func::FuncOp forward = forwardOf(function))
      setForward(first, (forward.getSymName() + ".first").str());
    return first;
  }
};
} // namespace
} // namespace cleave
