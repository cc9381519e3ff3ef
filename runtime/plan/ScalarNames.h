// The names of the scalars: states of one number by which the host and the step talk. The compiler makes a scalar only if
// the step uses it. ScalarStates.h says which ones the host writes and reads.
#ifndef CLEAVE_RUNTIME_PLAN_SCALARNAMES_H
#define CLEAVE_RUNTIME_PLAN_SCALARNAMES_H

#include <string_view>

namespace cleave::rt {

inline constexpr char kScalarPrefix[] = "scalar.";

// Written by the host before a step.
inline constexpr char kRateScalar[] = "scalar.lr";
inline constexpr char kStepScalar[] = "scalar.step"; // from 1
inline constexpr char kSeedScalar[] = "scalar.seed";
inline constexpr char kClipNormScalar[] = "scalar.clip_norm"; // +inf: off

// Left by the step.
inline constexpr char kLossScalar[] = "scalar.loss";
inline constexpr char kGradNormScalar[] = "scalar.grad_norm";
inline constexpr char kLossScaleScalar[] = "scalar.loss_scale";
inline constexpr char kSkippedScalar[] = "scalar.skipped";      // steps whose gradients overflowed
inline constexpr char kGoodStepsScalar[] = "scalar.good_steps"; // since the loss scale has changed

// Of the micro-batches of a step: sums, and their number (scalar.micro.c1 is that of chunk 1).
inline constexpr char kLossSumScalar[] = "scalar.loss_sum";
inline constexpr char kLossCountScalar[] = "scalar.loss_count";
inline constexpr char kMicroScalar[] = "scalar.micro";

// Sums of an evaluation.
inline constexpr char kEvalLossSumScalar[] = "scalar.eval_loss_sum";
inline constexpr char kEvalCountScalar[] = "scalar.eval_count";
inline constexpr char kEvalCorrectScalar[] = "scalar.eval_correct";
inline constexpr char kEvalPredictionsScalar[] = "scalar.eval_predictions";

// True if the name is that of a scalar. No other state has such a name.
constexpr bool isScalarName(std::string_view name) {
  constexpr std::string_view prefix = kScalarPrefix;
  return name.substr(0, prefix.size()) == prefix;
}

// True for the sums that `evaluate` adds up.
constexpr bool isSumOfEvaluation(std::string_view name) {
  return name == kEvalLossSumScalar || name == kEvalCountScalar || name == kEvalCorrectScalar ||
         name == kEvalPredictionsScalar;
}

// True for the scalars that the host writes, reads, or finds in checkpoints. The others are sums within a step.
constexpr bool isScalarOfHost(std::string_view name) {
  for (std::string_view known : {kRateScalar, kStepScalar, kSeedScalar, kClipNormScalar, kLossScalar, kGradNormScalar,
                                 kLossScaleScalar, kSkippedScalar, kGoodStepsScalar})
    if (name == known)
      return true;
  return isSumOfEvaluation(name);
}

} // namespace cleave::rt

#endif
