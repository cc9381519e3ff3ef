// `cleave inspect --target-machine`: predicts how long a step takes on a machine, by the cost model and the plan's own
// streams and events (compiler/Simulator/StepTimeline.h). Nothing runs for it, and each line that it prints says so.
#ifndef CLEAVE_COMPILER_INSPECT_PREDICTION_H
#define CLEAVE_COMPILER_INSPECT_PREDICTION_H

#include "compiler/CostModel/MachineModel.h"
#include "compiler/Simulator/InstructionCosts.h"
#include "compiler/Simulator/StepTimeline.h"

#include <string>
#include <vector>

namespace cleave::view {

// All launches of one kernel by one kind of ranks.
struct PredictedKernel {
  size_t kind = 0, kernel = 0;
  uint64_t launches = 0;
  double seconds = 0; // of all launches
  std::string node;   // the model's node of the first launch
  size_t nodes = 0;   // number of different nodes
};

struct PredictedStream {
  std::string name;
  double compute = 0, communication = 0; // seconds; idle in the rest of the step
};

struct PredictedKind {
  double seconds = 0;                    // until its last instruction ends
  double communication = 0, exposed = 0; // on any stream; the part while no stream computes
  std::vector<PredictedStream> streams;
};

struct Prediction {
  std::string entry;
  double seconds = 0;               // of the slowest kind
  uint64_t samples = 0, tokens = 0; // of a run on all ranks; 0: not known
  std::vector<PredictedKind> kinds;
  std::vector<PredictedKernel> kernels; // the most expensive first
  plan::StepTimeline timeline;
};

// The plan must have passed plan::checkMachine(). Fails if it has no entry, or runs more than is examined.
rt::Status predict(const rt::fb::Plan &plan, const plan::InstructionCosts &costs, Prediction *prediction);

// Return the samples and the tokens that all ranks read in a run of the plan's main entry; 0 if the plan does not tell,
// or reads no tokens (Tokens.h).
uint64_t samplesOf(const rt::fb::Plan &plan);
uint64_t tokensOf(const rt::fb::Plan &plan);

// "compute", "memory", "launch"
const char *boundText(plan::Bound bound);

// Names the machine of a time, for the text next to it. Null is plainMachine(), an assumed machine.
std::string machineText(const MachineModel *machine);

// Returns a text for people, with the assumptions at the end.
std::string predictionText(const rt::fb::Plan &plan, const MachineModel &machine, const plan::InstructionCosts &costs,
                           const Prediction &prediction);
// Returns the output of `inspect --json`: the figures of the plan (rt::summaryJson), and `predicted`.
std::string predictionJson(const rt::fb::Plan &plan, const MachineModel &machine, const plan::InstructionCosts &costs,
                           const Prediction &prediction);

} // namespace cleave::view

#endif
