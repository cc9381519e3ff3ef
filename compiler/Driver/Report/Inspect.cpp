#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Files/Artefact.h"
#include "compiler/Driver/Files/InputGuard.h"
#include "compiler/Driver/Report/MeasuredTimeline.h"
#include "compiler/Driver/Report/PredictedStep.h"
#include "compiler/Inspect/Diff.h"
#include "compiler/Inspect/Human.h"
#include "compiler/Inspect/Page.h"
#include "compiler/Inspect/Parameters.h"
#include "compiler/Inspect/Prediction.h"
#include "compiler/Inspect/Profile.h"
#include "compiler/Inspect/Summary.h"
#include "compiler/Inspect/Timeline.h"
#include "compiler/Inspect/TracedInstructions.h"
#include "compiler/Simulator/StepTimeline.h"
#include "compiler/Simulator/Walk.h"
#include "compiler/Support/Error.h"
#include "compiler/Support/Usage.h"
#include "runtime/base/AtomicFile.h"
#include "runtime/plan/PlanPrinter.h"
#include "runtime/plan/PlanSummary.h"
#include "runtime/plan/RankKinds.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <map>

using namespace cleave;

// Describes the residuals between forward and backward passes: "values of up to 3 micro-batches, 1.5 MiB".
static std::string describeFrames(const rt::fb::Plan &kind) {
  uint32_t frames = 0;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < rt::lengthOf(kind.regions()); ++i)
    if (const rt::fb::Region &region = *kind.regions()->Get(i); region.kind() == rt::fb::RegionKind::residual) {
      frames = std::max(frames, region.frames());
      bytes += region.frames() * region.bytes();
    }
  return "values of up to " + std::to_string(frames) + " micro-batches, " + view::bytesText(bytes);
}

constexpr size_t kColumns = 100;

// Returns each task's share of the stage's time: "0F 31.0 %, 0B 62.5 %, U 6.5 %".
static std::string describeShares(const plan::KindTimeline &kind) {
  std::map<std::string, double> busy;
  for (const plan::BodySpan &body : kind.bodies)
    busy[plan::taskOf(body)] += body.busy;
  std::string text;
  for (const auto &[task, seconds] : busy)
    text += llvm::formatv("{0}{1} {2:f1} %", text.empty() ? "" : ", ", task, seconds / kind.busy * 100).str();
  return text;
}

static double busiest(const plan::StepTimeline &timeline) {
  double most = 0;
  for (const plan::KindTimeline &kind : timeline.kinds)
    most = std::max(most, kind.busy);
  return most;
}

// Draws the step of a run below the step that the cost model has predicted. Then prints what each stage computes in
// both.
static void drawMeasured(const plan::StepTimeline &predicted, const view::Measured &measured, llvm::raw_ostream &out) {
  const plan::StepTimeline &timeline = measured.timeline;
  out << llvm::formatv("measured, {0}: {1:f3} ms, {2:f1} % of it idle\n", measured.source, timeline.duration * 1e3,
                       timeline.idleShare() * 100)
      << plan::drawTimeline(timeline, kColumns)
      << "what each stage computes, as a part of the busiest stage's time and by task\n";
  for (size_t kind = 0; kind < timeline.kinds.size(); ++kind)
    for (const plan::StepTimeline *one : {&predicted, &timeline}) {
      const plan::KindTimeline &stage = one->kinds[kind];
      out << llvm::formatv("  {0} {1} {2:f2}: {3}\n", stage.kind, one == &predicted ? "predicted" : "measured ",
                           stage.busy / busiest(*one), describeShares(stage));
    }
}

// True if the plan has stages of a training step to draw.
static bool isPipeline(const rt::fb::Plan &plan) {
  return plan::programNamed(plan, "train_step") &&
         llvm::any_of(rt::kindsOf(plan), [](const rt::fb::Plan *kind) { return rt::lengthOf(kind->events()) != 0; });
}

// Draws the order of a step on the stages of a pipeline. `on` and `measured` may be null.
static void drawPipeline(const rt::fb::Plan &plan, const MachinePrediction *on, const view::Measured *measured,
                         llvm::raw_ostream &out) {
  std::optional<plan::StepTimeline> timeline =
      on ? on->prediction.timeline : plan::timelineOf(plan, "train_step", plan::plainCosts(plan));
  if (!timeline)
    return;
  out << llvm::formatv("stages of a step, {0:f3} ms by the cost model on {1}, {2:f1} % of it idle\n",
                       timeline->duration * 1e3, view::machineText(on ? &on->chosen.machine : nullptr),
                       timeline->idleShare() * 100)
      << "0F1 = chunk 0, forward, micro-batch 1; B backward (I: of inputs, W: of weights); G gather; U update\n"
      << plan::drawTimeline(*timeline, kColumns);
  if (measured)
    drawMeasured(*timeline, *measured, out);
  for (const rt::fb::Plan *kind : rt::kindsOf(plan))
    out << "  " << rt::textOf(kind->kind()) << " keeps " << describeFrames(*kind) << "\n";
}

// Reads the step from the trace of a run. Returns nullopt if no trace is given.
static llvm::Expected<std::optional<view::Measured>> readMeasured(const rt::fb::Plan &plan,
                                                                  const InspectOptions &options) {
  if (options.trace.empty())
    return std::nullopt;
  if (options.form != InspectForm::Summary)
    return usageError("--trace", "it is for the summary and for --html; leave out the other form");
  if (options.html.empty() && !isPipeline(plan))
    return usageError("--trace", "there are no stages of a training step to draw; it is for programs compiled with "
                                 "--train and an axis pp in --mesh, and for --html FILE");
  llvm::Expected<view::Measured> measured = measuredStep(plan, options.trace);
  if (!measured)
    return measured.takeError();
  rt::Status found = view::findInstructions(plan, &*measured);
  if (!found.isOk() && measured->isOfOneProcess)
    return makeError(options.trace + ": " + found.message());
  return std::move(*measured);
}

static llvm::Error writePage(const rt::fb::Plan &plan, const std::string &path, const view::PageParts &parts,
                             llvm::raw_ostream &out) {
  if (rt::Status status = rt::writeFileAtomically(path, view::pageOf(plan, parts)); !status.isOk())
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

// Prints the prediction for the summary or for --json, which describe a whole step.
static llvm::Error printPrediction(const rt::fb::Plan &plan, const InspectOptions &options, const MachinePrediction &on,
                                   llvm::raw_ostream &out) {
  if (!options.trace.empty())
    return usageError("--target-machine", "it predicts without a run; leave out --trace, or give --html or --profile");
  if (options.form != InspectForm::Summary && options.form != InspectForm::Json)
    return usageError("--target-machine", "it is for the summary, --json, --html and --profile; leave out the other "
                                          "form");
  if (options.form == InspectForm::Json)
    out << view::predictionJson(plan, on.chosen.machine, on.costs, on.prediction) << "\n";
  else
    out << view::predictionText(plan, on.chosen.machine, on.costs, on.prediction);
  return llvm::Error::success();
}

// The option of a form that shows no profile. Null for the summary.
static const char *optionOf(InspectForm form) {
  switch (form) {
  case InspectForm::Summary:
    return nullptr;
  case InspectForm::Details:
    return "--details";
  case InspectForm::Parameters:
    return "--parameters";
  case InspectForm::Timeline:
    return "--timeline";
  case InspectForm::Text:
    return "--text";
  case InspectForm::Json:
    return "--json";
  }
  llvm_unreachable("a form without an option");
}

// Shows each kernel of a traced step: as text, or as a part of the page.
static llvm::Error showProfile(const rt::fb::Plan &plan, const InspectOptions &options, const MachinePrediction *on,
                               llvm::raw_ostream &out) {
  const char *form = optionOf(options.form), *other = options.trace.empty() ? form : "--trace";
  if (other)
    return usageError("--profile",
                      "it shows a traced step as tables or, with --html, as a page; leave out " +
                          (other == form || !form ? std::string(other) : std::string(other) + " and " + form));
  llvm::Expected<view::Measured> measured = measuredStep(plan, options.profile);
  if (!measured)
    return measured.takeError();
  if (rt::Status status = view::findInstructions(plan, &*measured); !status.isOk())
    return makeError(options.profile + ": " + status.message());
  view::Profile profile = view::profileOf(plan, *measured, on ? &on->costs : nullptr);
  std::optional<view::MachineCosts> machine;
  if (on)
    machine.emplace(on->shown());
  if (!options.html.empty())
    return writePage(plan, options.html,
                     {&*measured, &profile, machine ? &*machine : nullptr, on ? &on->prediction.timeline : nullptr},
                     out);
  out << view::profileText(plan, *measured, profile, machine ? &*machine : nullptr);
  return llvm::Error::success();
}

llvm::Error cleave::inspect(llvm::StringRef path, const InspectOptions &options, llvm::raw_ostream &out) {
  llvm::Expected<Artefact> artefact = Artefact::open(path);
  if (!artefact)
    return artefact.takeError();
  const rt::fb::Plan &plan = artefact->plan();
  std::vector<ReadFile> files = {{path.str(), "the program or plan"}};
  for (const auto &[file, option] : {std::pair(options.trace, "--trace"), std::pair(options.profile, "--profile")})
    if (!file.empty())
      files.push_back({file, std::string("the file of ") + option});
  if (!options.html.empty())
    if (llvm::Error error = checkInputsAreKept("--html", {options.html}, files))
      return error;
  // Times are those of this machine, also without --target-machine, if it was calibrated.
  bool isDrawn = options.form == InspectForm::Summary && isPipeline(plan);
  bool isWanted = isDrawn || !options.machine.empty() || !options.profile.empty() || !options.html.empty();
  llvm::Expected<std::unique_ptr<MachinePrediction>> on =
      isWanted ? predictOn(plan, options.machine) : std::unique_ptr<MachinePrediction>();
  if (!on)
    return on.takeError();
  if (!options.profile.empty())
    return showProfile(plan, options, on->get(), out);
  if (!options.machine.empty() && *on && options.html.empty())
    return printPrediction(plan, options, **on, out);
  llvm::Expected<std::optional<view::Measured>> read = readMeasured(plan, options);
  if (!read)
    return read.takeError();
  const view::Measured *measured = *read ? &**read : nullptr;
  if (!options.html.empty()) {
    std::optional<view::MachineCosts> machine;
    if (*on)
      machine.emplace((*on)->shown());
    return writePage(plan, options.html,
                     {measured, nullptr, machine ? &*machine : nullptr, *on ? &(*on)->prediction.timeline : nullptr},
                     out);
  }
  switch (options.form) {
  case InspectForm::Text:
    out << rt::printPlan(plan);
    break;
  case InspectForm::Json:
    out << rt::summaryJson(plan, rt::summarize(plan)) << "\n";
    break;
  case InspectForm::Summary:
    out << view::summaryText(plan);
    if (isDrawn)
      drawPipeline(plan, on->get(), measured, out);
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
