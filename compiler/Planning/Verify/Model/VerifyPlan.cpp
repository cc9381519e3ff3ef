#include "compiler/Planning/Build/PlanWriter.h"
#include "compiler/Planning/Passes.h"
#include "compiler/Planning/Verify/PlanVerifier.h"
#include "runtime/plan/PlanReader.h"

using namespace mlir;

namespace cleave::plan {

#define GEN_PASS_DEF_VERIFYPLAN
#include "compiler/Planning/Passes.h.inc"

namespace {

struct VerifyPlan : impl::VerifyPlanBase<VerifyPlan> {
  using VerifyPlanBase::VerifyPlanBase;
  void runOnOperation() override {
    llvm::Expected<std::string> bytes = writePlan(getOperation());
    if (!bytes) {
      getOperation().emitError(llvm::toString(bytes.takeError()));
      return signalPassFailure();
    }
    const rt::fb::Plan *plan = nullptr;
    if (rt::Status status = rt::openPlan(bytes->data(), bytes->size(), &plan); !status.isOk()) {
      getOperation().emitError(status.message());
      return signalPassFailure();
    }
    for (const Finding &finding : verifyPlan(*plan, byHand ? Check::ButStated : Check::All)) {
      getOperation().emitError(finding.rule) << ": " << finding.text;
      signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace cleave::plan
