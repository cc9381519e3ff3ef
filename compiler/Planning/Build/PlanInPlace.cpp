#include "compiler/Codegen/Loops/LinalgForm.h"
#include "compiler/Planning/Build/InPlace.h"
#include "compiler/Planning/Passes.h"

using namespace mlir;

namespace cleave::plan {

#define GEN_PASS_DEF_PLANINPLACE
#include "compiler/Planning/Passes.h.inc"

namespace {

struct PlanInPlace : impl::PlanInPlaceBase<PlanInPlace> {
  void getDependentDialects(DialectRegistry &registry) const override { addLinalgFormDialects(registry); }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    ValueFamilies families(function.getBody().front());
    function.walk([&](cleave::KernelOp kernel) {
      llvm::SmallVector<int64_t> ties = chooseTies(kernel, families);
      if (llvm::any_of(ties, [](int64_t tie) { return tie >= 0; }))
        kernel.setTied(ties);
      else
        kernel.removeTiedAttr();
    });
  }
};

} // namespace
} // namespace cleave::plan
