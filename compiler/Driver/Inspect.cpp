#include "compiler/Driver/Artefact.h"
#include "compiler/Driver/Commands.h"
#include "runtime/plan/PlanPrinter.h"
#include "runtime/plan/PlanSummary.h"

using namespace cleave;

llvm::Error cleave::inspect(llvm::StringRef path, InspectForm form, llvm::raw_ostream &out) {
  llvm::Expected<Artefact> artefact = Artefact::open(path);
  if (!artefact)
    return artefact.takeError();
  const rt::fb::Plan &plan = artefact->plan();
  switch (form) {
  case InspectForm::Text:
    out << rt::printPlan(plan);
    break;
  case InspectForm::Json:
    out << rt::summaryJson(plan, rt::summarize(plan)) << "\n";
    break;
  case InspectForm::Summary:
    out << rt::printSummary(plan, rt::summarize(plan)) << rt::printUnits(plan) << rt::printPorts(plan);
    break;
  }
  return llvm::Error::success();
}
