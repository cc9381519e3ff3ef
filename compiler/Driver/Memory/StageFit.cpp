#include "compiler/Driver/Memory/StageFit.h"

#include "compiler/Driver/Lowering.h"
#include "compiler/Driver/Memory/MemoryLimit.h"
#include "compiler/Driver/Memory/PlanTrial.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "runtime/base/HumanUnits.h"

#include <algorithm>
#include <set>

using namespace cleave;

namespace {

constexpr int kTrials = 8;

// A cut, and the needs of its plan.
struct Trial {
  std::vector<int64_t> begins;               // first nodes of the chunks
  std::vector<int64_t> states, activations;  // estimates for the chunks
  std::vector<uint64_t> plannedStates, rest; // of the stages
  uint64_t largest = 0;
};

std::vector<int64_t> numbersOf(mlir::ModuleOp module, llvm::StringRef name) {
  auto numbers = module->getAttrOfType<mlir::DenseI64ArrayAttr>(name);
  return numbers ? numbers.asArrayRef().vec() : std::vector<int64_t>();
}

class StageFitter {
public:
  StageFitter(mlir::ModuleOp imported, const PipelineRequest &pipeline, const CompileOptions &options,
              PlanningOf planningOf)
      : imported(imported), pipeline(pipeline), options(options), planningOf(planningOf) {}

  llvm::Error run(llvm::raw_ostream &log) {
    auto limit = static_cast<uint64_t>(*options.memoryLimit);
    auto first = plan();
    if (!first)
      return first.takeError();
    if (first->largest <= limit)
      return llvm::Error::success();
    Trial best = *first, last = *first;
    std::set<std::vector<int64_t>> known{first->begins};
    double target = static_cast<double>(limit);
    for (int trial = 1; trial < kTrials && best.largest > limit; ++trial) {
      request(last, static_cast<int64_t>(target));
      auto next = plan();
      if (!next) { // no cut is expected to fit
        llvm::consumeError(next.takeError());
        break;
      }
      if (!known.insert(next->begins).second)
        target *= 0.97; // the estimate was slightly too low
      if (next->largest < best.largest)
        best = *next;
      last = std::move(*next);
    }
    clear();
    imported->setAttr(kStageBeginsAttr, mlir::Builder(imported.getContext()).getDenseI64ArrayAttr(best.begins));
    if (best.largest <= limit)
      log << "stages: cut for --memory-limit; the cut of equal times needs " << rt::bytesText(first->largest)
          << " on its largest stage, this one " << rt::bytesText(best.largest) << "\n";
    return llvm::Error::success();
  }

private:
  llvm::Expected<Trial> plan() {
    CompileOptions silent = options;
    silent.dumpPhases.clear();
    silent.stopAfter = Phase::Link;
    mlir::OwningOpRef<mlir::ModuleOp> copy = imported.clone();
    (*copy)->setAttr(kStageBytesAttr, mlir::DenseI64ArrayAttr::get(copy->getContext(), {}));
    auto lowered = lowerToKernels(*copy, silent, llvm::nulls());
    if (!lowered)
      return lowered.takeError();
    Trial trial;
    trial.begins = numbersOf(*copy, kStageBeginsAttr);
    std::vector<int64_t> bytes = numbersOf(*copy, kStageBytesAttr);
    for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
      trial.states.push_back(bytes[i]);
      trial.activations.push_back(bytes[i + 1]);
    }
    plan::PlanningOptions planning = planningOf();
    leaveNoTrace(silent, planning);
    auto recompute = chooseRecompute(*copy, silent, planning, llvm::nulls());
    if (!recompute)
      return recompute.takeError();
    silent.recompute = *recompute;
    auto summary = tryPlan(*copy, silent, planning);
    if (!summary)
      return summary.takeError();
    measure(*summary, trial);
    return trial;
  }

  // Measures the largest kind of ranks of each stage: "stage1", or "stage1.worker".
  void measure(const rt::PlanSummary &summary, Trial &trial) const {
    trial.plannedStates.assign(pipeline.stages, 0);
    trial.rest.assign(pipeline.stages, 0);
    auto add = [&](const rt::PlanSummary &kind) {
      llvm::StringRef name = kind.kind;
      size_t stage = 0;
      if (!name.consume_front("stage") || name.consumeInteger(10, stage) || stage >= trial.rest.size())
        return;
      auto states = kind.bytesByKind.find("persistent");
      uint64_t held = states == kind.bytesByKind.end() ? 0 : states->second;
      if (kind.totalBytes > trial.plannedStates[stage] + trial.rest[stage]) {
        trial.plannedStates[stage] = held;
        trial.rest[stage] = kind.totalBytes - held;
      }
      trial.largest = std::max(trial.largest, kind.totalBytes);
    };
    add(summary);
    for (const rt::PlanSummary &other : summary.others)
      add(other);
  }

  // Requests a cut by corrected estimates. A stage's chunks share its memory, so each estimate is multiplied by their
  // number.
  void request(const Trial &trial, int64_t limit) {
    clear();
    std::vector<int64_t> states(pipeline.stages, 0), activations(pipeline.stages, 0), chunks(pipeline.stages, 0);
    for (size_t chunk = 0; chunk < trial.states.size(); ++chunk) {
      int stage = pipeline.rankOfChunk[chunk];
      states[stage] += trial.states[chunk];
      activations[stage] += trial.activations[chunk];
      ++chunks[stage];
    }
    std::vector<double> scales;
    for (size_t chunk = 0; chunk < trial.states.size(); ++chunk) {
      int stage = pipeline.rankOfChunk[chunk];
      auto scale = [&](uint64_t planned, int64_t estimated) {
        return static_cast<double>(chunks[stage]) * static_cast<double>(planned) /
               static_cast<double>(std::max<int64_t>(estimated, 1));
      };
      // A stage without states may get some in the next cut. They need their estimate.
      bool hasStates = states[stage] > 0;
      scales.push_back(hasStates ? scale(trial.plannedStates[stage], states[stage]) : 1);
      scales.push_back(scale(trial.rest[stage], activations[stage]));
    }
    mlir::Builder builder(imported.getContext());
    imported->setAttr(kStageLimitAttr, builder.getI64IntegerAttr(limit));
    imported->setAttr(kStageScalesAttr, builder.getDenseF64ArrayAttr(scales));
  }

  void clear() {
    for (llvm::StringRef name : {kStageLimitAttr, kStageScalesAttr, kStageBeginsAttr})
      imported->removeAttr(name);
  }

  mlir::ModuleOp imported;
  const PipelineRequest &pipeline;
  const CompileOptions &options;
  PlanningOf planningOf;
};

} // namespace

bool cleave::searchesCut(const CompileOptions &options) {
  return options.train && options.memoryLimit && options.axisSize("pp") > 1 &&
         llvm::StringRef(options.stageSplit).split(',').first == "auto";
}

llvm::Error cleave::fitStages(mlir::ModuleOp imported, const PipelineRequest &pipeline, const CompileOptions &options,
                              PlanningOf planningOf, llvm::raw_ostream &log) {
  if (!searchesCut(options))
    return llvm::Error::success();
  return StageFitter(imported, pipeline, options, planningOf).run(log);
}
