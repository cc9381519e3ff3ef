#include "compiler/Driver/Artefact.h"
#include "compiler/Driver/Commands.h"
#include "compiler/Inspect/Diff.h"
#include "compiler/Inspect/Page.h"
#include "compiler/Inspect/Parameters.h"
#include "compiler/Inspect/Summary.h"
#include "compiler/Inspect/Timeline.h"
#include "compiler/Planning/StepTimeline.h"
#include "compiler/Support/Error.h"
#include "runtime/state/AtomicFile.h"
#include "runtime/plan/Kinds.h"
#include "runtime/plan/PlanPrinter.h"
#include "runtime/plan/PlanSummary.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace cleave;

// What lies between forward and backward passes: "up to 3 micro-batches, 1.5 MiB".
static std::string describeFrames(const rt::fb::Plan &kind) {
  uint32_t frames = 0;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < rt::lengthOf(kind.regions()); ++i)
    if (const rt::fb::Region &region = *kind.regions()->Get(i); region.kind() == rt::fb::RegionKind::residual) {
      frames = std::max(frames, region.frames());
      bytes += region.frames() * region.bytes();
    }
  return "values of up to " + std::to_string(frames) + " micro-batches, " + std::to_string(bytes) + " bytes";
}

// The order of a step on the stages of a pipeline, by the plan and the cost model.
static void drawPipeline(const rt::fb::Plan &plan, llvm::raw_ostream &out) {
  std::vector<const rt::fb::Plan *> kinds = rt::kindsOf(plan);
  bool isPipeline = llvm::any_of(kinds, [](const rt::fb::Plan *kind) { return rt::lengthOf(kind->events()) != 0; });
  auto timeline = isPipeline ? plan::timelineOf(plan, "train_step", plan::modelledSeconds) : std::nullopt;
  if (!timeline)
    return;
  constexpr size_t columns = 100;
  out << llvm::formatv("stages of a step, {0:f3} ms by the cost model, {1:f1} % of it idle (chunk, F forward, B backward, "
                       "I of inputs, W of weights, micro-batch; U update)\n",
                       timeline->duration * 1e3, timeline->idleShare() * 100)
      << plan::drawTimeline(*timeline, columns);
  for (const rt::fb::Plan *kind : kinds)
    out << "  " << rt::textOf(kind->kind()) << " keeps " << describeFrames(*kind) << "\n";
}

static llvm::Error writePage(const rt::fb::Plan &plan, const std::string &path, llvm::raw_ostream &out) {
  if (rt::Status status = rt::writeFileAtomically(path, view::pageOf(plan, nullptr)); !status.isOk())
    return makeError("--html: " + status.message());
  out << "wrote " << path << ", a page to be opened in a browser\n";
  return llvm::Error::success();
}

llvm::Error cleave::diff(llvm::StringRef a, llvm::StringRef b, llvm::raw_ostream &out) {
  llvm::Expected<Artefact> one = Artefact::open(a);
  if (!one)
    return one.takeError();
  llvm::Expected<Artefact> other = Artefact::open(b);
  if (!other)
    return other.takeError();
  out << view::diffText(one->plan(), a.str(), other->plan(), b.str());
  return llvm::Error::success();
}

llvm::Error cleave::inspect(llvm::StringRef path, const InspectOptions &options, llvm::raw_ostream &out) {
  llvm::Expected<Artefact> artefact = Artefact::open(path);
  if (!artefact)
    return artefact.takeError();
  const rt::fb::Plan &plan = artefact->plan();
  if (!options.html.empty())
    return writePage(plan, options.html, out);
  switch (options.form) {
  case InspectForm::Text:
    out << rt::printPlan(plan);
    break;
  case InspectForm::Json:
    out << rt::summaryJson(plan, rt::summarize(plan)) << "\n";
    break;
  case InspectForm::Summary:
    out << view::summaryText(plan);
    drawPipeline(plan, out);
    break;
  case InspectForm::Details:
    out << rt::printSummary(plan, rt::summarize(plan)) << rt::printUnits(plan) << rt::printPorts(plan);
    break;
  case InspectForm::Parameters:
    out << view::parametersText(plan);
    break;
  case InspectForm::Timeline:
    out << view::timelineText(plan);
    break;
  }
  return llvm::Error::success();
}
