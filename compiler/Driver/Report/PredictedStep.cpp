#include "compiler/Driver/Report/PredictedStep.h"

#include "compiler/Inspect/Human.h"
#include "compiler/Support/Error.h"
#include "runtime/plan/Properties.h"

#include "llvm/Support/FormatVariadic.h"

using namespace cleave;

llvm::Expected<std::unique_ptr<MachinePrediction>> cleave::predictOn(const rt::fb::Plan &plan, llvm::StringRef option) {
  auto chosen = chooseMachine(option, plan);
  if (!chosen)
    return chosen.takeError();
  if (!*chosen)
    return nullptr;
  std::string where = option.empty() ? (*chosen)->file : "--target-machine " + option.str();
  if (rt::Status status = plan::checkMachine(plan, (*chosen)->machine); !status.isOk())
    return makeError(where + ": " + status.message());
  plan::InstructionCosts costs(plan, (*chosen)->machine);
  auto result = std::make_unique<MachinePrediction>(MachinePrediction{std::move(**chosen), std::move(costs), {}});
  if (rt::Status status = view::predict(plan, result->costs, &result->prediction); !status.isOk())
    return makeError(where + ": " + status.message());
  return result;
}

llvm::Expected<PredictedFacts> cleave::predictedFacts(const rt::fb::Plan &plan, llvm::StringRef option) {
  auto on = predictOn(plan, option);
  if (!on)
    return on.takeError();
  PredictedFacts result;
  if (!*on)
    return result;
  double seconds = (*on)->prediction.seconds;
  std::string machine = (*on)->chosen.machine.name + ": " + (*on)->chosen.machine.source;
  result.facts = {{rt::kPredictedSecondsProperty, llvm::formatv("{0:f9}", seconds).str()},
                  {rt::kPredictedMachineProperty, machine}};
  result.text = ((*on)->prediction.entry == "train_step" ? "predicted step time: " : "predicted time: ") +
                view::secondsText(seconds) + " on " + machine +
                ((*on)->chosen.file.empty() ? "" : ", in " + (*on)->chosen.file) + "\n";
  return result;
}
