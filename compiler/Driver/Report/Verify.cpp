#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Files/Artefact.h"
#include "compiler/Planning/Verify/PlanVerifier.h"
#include "compiler/Planning/Verify/Rules/DeclaredTypes.h"
#include "compiler/Planning/Verify/Rules/TrainingNames.h"
#include "compiler/Support/Error.h"
#include "compiler/Target/Target.h"
#include "runtime/base/Counted.h"
#include "runtime/plan/InstructionView.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/PlanSummary.h"
#include "runtime/plan/RankKinds.h"

using namespace cleave;

// Finds kernels whose scratch buffer in the plan is smaller than the libraries of this machine need, because the buffer
// would be overrun. The libraries of a GPU choose their algorithm by its size, and so the order in which they add.
static void findOtherScratch(const rt::fb::Plan &plan, std::vector<plan::Finding> &findings) {
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
      else if ((*target)->needsHostKernels() ? *needed > kernel.scratch() : *needed != kernel.scratch())
        findings.push_back({"scratch", name + " needs " + std::to_string(*needed) +
                                           " bytes of scratch on this machine; the plan gives it " +
                                           std::to_string(kernel.scratch())});
    }
}

// Finds generated kernels whose traffic is not the bytes that they access. For other kernels, only the compiler knows
// the cost of their ops.
static void findOtherTraffic(const rt::fb::Plan &plan, std::vector<plan::Finding> &findings) {
  for (const rt::fb::Plan *kind : rt::kindsOf(plan))
    for (uint32_t i = 0; i < rt::lengthOf(kind->kernels()); ++i) {
      const rt::fb::Kernel &kernel = *kind->kernels()->Get(i);
      uint64_t touched = 0;
      for (uint32_t o = 0; o < rt::lengthOf(kernel.operands()); ++o)
        touched += kernel.operands()->Get(o)->bytes();
      if (kernel.kind() == rt::fb::KernelKind::generated && kernel.bytes() != touched)
        findings.push_back({"traffic", "kernel " + std::to_string(i) + " (" + kernel.name()->str() +
                                           ") is said to move " + std::to_string(kernel.bytes()) +
                                           " bytes; expected the " + std::to_string(touched) + " of its operands"});
    }
}

// The theorem of compiler/Planning/Verify/Rationale.md. The seal next to the machine code covers what the model
// computes, and the bytes that its kernels access. A plan in a .plan file can only be compared with itself ("Forged
// plans" there).
static constexpr llvm::StringLiteral kProved =
    "  every state and output gets the value that the model computes, in each order in which streams can run\n";
static constexpr llvm::StringLiteral kProvedOfPlan =
    "  every state and output gets the value that this file states for it, in each order in which streams can run\n";
static constexpr llvm::StringLiteral kProvedOfAll =
    "  no deadlock, no race, nothing read before it is written, replicas equal\n"
    "  every address inside its region, every kernel inside its buffers\n";
static constexpr llvm::StringLiteral kNotCompared =
    "not compared:\n"
    "  a .plan file has no machine code: nothing outside of it says which bytes kernels touch, or what the model\n"
    "    computes; `cleave verify` of the program or library that was compiled compares both\n";

// Facts that do not affect any run ("What no rule compares" there).
static constexpr llvm::StringLiteral kForPredictions =
    "only for predictions, not compared:\n"
    "  operations of kernels, bytes that library and built-in "
    "kernels move, and how much of a peak each kind of value takes\n";

// The assumptions of the theorem, in the order of compiler/Planning/Verify/Rationale.md (test/e2e/inspect/verify.test).
static constexpr llvm::StringLiteral kAssumed =
    "assumed:\n"
    "  the program given to the planner is right: import, gradients and fusion are tested, not proved\n"
    "  generated code computes what its kernel's body says, and a library's kernel of one name and parameters one\n"
    "    function of its operands; both touch only the bytes that the kernel table lists\n"
    "  transports deliver the data that collectives describe\n"
    "  the host feeds inputs, does not touch states while a program runs, and does what the plan's properties say\n"
    "    (which labels and indices it accepts, how it averages an evaluation)\n"
    "  two different expressions never have the same number of 128 bits\n";

static void printProof(const Artefact &artefact, llvm::StringRef path, llvm::raw_ostream &out) {
  rt::PlanSummary summary = rt::summarize(artefact.plan());
  out << path << ": proved for " << rt::counted(summary.ranks, "rank") << ":\n";
  out << (artefact.hasCode() ? kProved : kProvedOfPlan) << kProvedOfAll;
  out << (artefact.hasCode() ? "" : kNotCompared) << kForPredictions << kAssumed;
}

static llvm::Error errorOf(llvm::StringRef path, const std::vector<plan::Finding> &findings) {
  std::string text;
  for (const plan::Finding &finding : findings)
    text += "\n  " + finding.rule + ": " + finding.text;
  return findings.empty() ? llvm::Error::success()
                          : makeError(path + ": " + rt::counted(findings.size(), "finding") + text);
}

llvm::Error cleave::verifyKernelTable(const rt::fb::Plan &plan, llvm::StringRef path) {
  std::vector<plan::Finding> findings;
  findOtherScratch(plan, findings);
  findOtherTraffic(plan, findings);
  return errorOf(path, findings);
}

llvm::Error cleave::verify(llvm::StringRef path, llvm::raw_ostream &out) {
  llvm::Expected<Artefact> artefact = Artefact::open(path);
  if (!artefact)
    return artefact.takeError();
  std::vector<plan::Finding> findings = plan::verifyPlan(artefact->plan());
  plan::checkTrainingNames(artefact->plan(), &findings);
  plan::checkDeclaredTypes(artefact->plan(), &findings);
  findOtherScratch(artefact->plan(), findings);
  findOtherTraffic(artefact->plan(), findings);
  if (llvm::Error error = errorOf(path, findings))
    return error;
  printProof(*artefact, path, out);
  return llvm::Error::success();
}
