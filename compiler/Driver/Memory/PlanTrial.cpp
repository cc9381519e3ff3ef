#include "compiler/Driver/Memory/PlanTrial.h"

#include "compiler/Driver/Lowering.h"
#include "compiler/Planning/Build/PlanWriter.h"
#include "compiler/Support/StatusError.h"
#include "runtime/plan/PlanReader.h"

using namespace cleave;

void cleave::leaveNoTrace(CompileOptions &options, plan::PlanningOptions &planning) {
  options.dumpPhases.clear();
  options.stopAfter = Phase::Link;
  planning.constants = [](llvm::StringRef, mlir::DenseElementsAttr) {};
}

llvm::Expected<rt::PlanSummary> cleave::summarizeModule(mlir::ModuleOp planned) {
  auto bytes = plan::writePlan(planned);
  if (!bytes)
    return bytes.takeError();
  const rt::fb::Plan *opened = nullptr;
  if (rt::Status status = rt::openPlan(bytes->data(), bytes->size(), &opened); !status.isOk())
    return toError(status);
  return rt::summarize(*opened);
}

llvm::Expected<rt::PlanSummary> cleave::tryPlan(mlir::ModuleOp kernels, CompileOptions options,
                                                plan::PlanningOptions planning) {
  leaveNoTrace(options, planning);
  mlir::OwningOpRef<mlir::ModuleOp> copy = kernels.clone();
  auto planned = lowerToPlan(*copy, options, planning, llvm::nulls());
  if (!planned)
    return planned.takeError();
  return summarizeModule(*copy);
}

llvm::Expected<rt::PlanSummary> cleave::tryCompile(mlir::ModuleOp imported, CompileOptions options,
                                                   plan::PlanningOptions planning) {
  leaveNoTrace(options, planning);
  mlir::OwningOpRef<mlir::ModuleOp> copy = imported.clone();
  auto lowered = lowerToKernels(*copy, options, llvm::nulls());
  if (!lowered)
    return lowered.takeError();
  return tryPlan(*copy, std::move(options), std::move(planning));
}
