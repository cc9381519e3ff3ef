#include "compiler/Driver/Artefact.h"
#include "compiler/Driver/Commands.h"
#include "compiler/Planning/PlanVerifier.h"
#include "compiler/Support/Error.h"
#include "runtime/plan/PlanSummary.h"

using namespace cleave;

llvm::Error cleave::verify(llvm::StringRef path, llvm::raw_ostream &out) {
  llvm::Expected<Artefact> artefact = Artefact::open(path);
  if (!artefact)
    return artefact.takeError();
  std::vector<plan::Finding> findings = plan::verifyPlan(artefact->plan());
  if (findings.empty()) {
    rt::PlanSummary summary = rt::summarize(artefact->plan());
    out << path << ": proved for " << summary.ranks << (summary.ranks == 1 ? " rank" : " ranks")
        << ": no deadlock, no race, nothing read before it is written, replicas equal, every address inside its "
           "region, "
           "every kernel inside its buffers\n";
    return llvm::Error::success();
  }
  std::string text;
  for (const plan::Finding &finding : findings)
    text += "\n  " + finding.rule + ": " + finding.text;
  return makeError(path + ": " + llvm::Twine(findings.size()) + " findings" + text);
}
