// Predicts the step time of a plan on a machine: for `inspect`, and as properties that `compile` writes into the plan.
#ifndef CLEAVE_COMPILER_DRIVER_REPORT_PREDICTEDSTEP_H
#define CLEAVE_COMPILER_DRIVER_REPORT_PREDICTEDSTEP_H

#include "compiler/Driver/Report/TargetMachineOption.h"
#include "compiler/Inspect/Prediction.h"
#include "compiler/Inspect/Profile.h"

#include <map>
#include <memory>

namespace cleave {

struct MachinePrediction {
  ChosenMachine chosen;
  plan::InstructionCosts costs;
  view::Prediction prediction;
  view::MachineCosts shown() const { return {chosen.machine, costs, prediction.seconds}; }
};

// Returns null if no machine is chosen (chooseMachine()).
llvm::Expected<std::unique_ptr<MachinePrediction>> predictOn(const rt::fb::Plan &plan, llvm::StringRef option);

// The properties predicted.seconds and predicted.machine, and a line of text. Both are empty if no machine is chosen.
struct PredictedFacts {
  std::map<std::string, std::string> facts;
  std::string text;
};
llvm::Expected<PredictedFacts> predictedFacts(const rt::fb::Plan &plan, llvm::StringRef option);

} // namespace cleave

#endif
