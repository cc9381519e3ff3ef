#include "compiler/Driver/Artefact.h"
#include "compiler/Driver/Commands.h"
#include "compiler/Planning/Verify/PlanVerifier.h"
#include "compiler/Support/Error.h"
#include "compiler/Target/Target.h"
#include "runtime/base/Counted.h"
#include "runtime/plan/InstructionView.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/PlanSummary.h"
#include "runtime/plan/RankKinds.h"

using namespace cleave;

// What the libraries of this machine ask for, against what the plan gives them: a smaller buffer would be overrun.
static void findSmallScratch(const rt::fb::Plan &plan, std::vector<plan::Finding> &findings) {
  auto target = parseTarget(rt::textOf(plan.target()));
  if (!target) {
    findings.push_back({"scratch", llvm::toString(target.takeError())});
    return;
  }
  for (const rt::fb::Plan *kind : rt::kindsOf(plan))
    for (size_t i = 0; i < rt::lengthOf(kind->kernels()); ++i) {
      const rt::fb::Kernel &kernel = *kind->kernels()->Get(static_cast<unsigned>(i));
      const rt::KernelDef *def = rt::findKernelDef(rt::textOf(kernel.name()));
      if (kernel.kind() == rt::fb::KernelKind::generated || !def || !def->hasScratch())
        continue;
      llvm::ArrayRef<int64_t> params(kernel.params()->data(), kernel.params()->size());
      llvm::Expected<uint64_t> needed = (*target)->scratch(kernel.name()->str(), params, kind->threads());
      std::string name = "kernel " + std::to_string(i) + " (" + kernel.name()->str() + ")";
      if (!needed)
        findings.push_back({"scratch", name + ": " + llvm::toString(needed.takeError())});
      else if (*needed > kernel.scratch())
        findings.push_back({"scratch", name + " needs " + std::to_string(*needed) +
                                           " bytes of scratch on this machine; the plan gives it " +
                                           std::to_string(kernel.scratch())});
    }
}

// One line for each theorem, and one for each thing that it rests on (compiler/Planning/Rationale.md).
static constexpr llvm::StringLiteral kProved =
    "  every state and output gets the value that the model computes, in each order in which streams can run\n"
    "  no deadlock, no race, nothing read before it is written, replicas equal\n"
    "  every address inside its region, every kernel inside its buffers\n"
    "assumed:\n"
    "  sharding and differentiation gave the right values to plan\n"
    "  generated code and libraries compute what the kernel table says\n"
    "  transports deliver, and the host feeds what ports and states declare\n";

llvm::Error cleave::verify(llvm::StringRef path, llvm::raw_ostream &out) {
  llvm::Expected<Artefact> artefact = Artefact::open(path);
  if (!artefact)
    return artefact.takeError();
  std::vector<plan::Finding> findings = plan::verifyPlan(artefact->plan());
  findSmallScratch(artefact->plan(), findings);
  if (findings.empty()) {
    rt::PlanSummary summary = rt::summarize(artefact->plan());
    out << path << ": proved for " << summary.ranks << (summary.ranks == 1 ? " rank" : " ranks") << ":\n" << kProved;
    return llvm::Error::success();
  }
  std::string text;
  for (const plan::Finding &finding : findings)
    text += "\n  " + finding.rule + ": " + finding.text;
  return makeError(path + ": " + rt::counted(findings.size(), "finding") + text);
}
