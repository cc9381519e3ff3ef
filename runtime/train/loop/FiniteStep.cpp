#include "runtime/train/loop/FiniteStep.h"

#include <cmath>

namespace cleave::rt {

bool isUndefined(double loss, std::optional<double> gradNorm) {
  return std::isnan(loss) && gradNorm && std::isfinite(*gradNorm);
}

Status checkFinite(double loss, std::optional<double> gradNorm, std::optional<double> lossScale,
                   const std::function<NonFiniteValue()> &badInput, const std::function<std::string()> &badWeight) {
  if (lossScale || isUndefined(loss, gradNorm))
    return Status::ok();
  if (std::isfinite(loss) && (!gradNorm || std::isfinite(*gradNorm)))
    return Status::ok();
  NonFiniteValue input = badInput();
  std::string weight = input.text.empty() ? badWeight() : "";
  if (!weight.empty())
    return dataLoss("the loss" +
                    (std::isfinite(loss) ? "'s gradient is " + whatItIs(*gradNorm) : " is " + whatItIs(loss)) +
                    ", because " + weight + "; begin with other weights");
  const std::string smallerSteps =
      "give a smaller learning rate (--lr) or limit of the gradients' norm (--clip-grad-norm)";
  const std::string takeOut = ": take such samples out of the data, or replace the value";
  if (!std::isfinite(loss) && input.text.empty())
    return dataLoss("the loss is " + whatItIs(loss) + "; " +
                    (input.sawAll ? "the values of the step's data are finite, so "
                                  : "check that the values of the step's inputs are finite; if they are, ") +
                    smallerSteps);
  if (!std::isfinite(loss)) // masks hold infinite values on purpose
    return dataLoss("the loss is " + whatItIs(loss) + "; " + input.text + takeOut +
                    (input.isInfinite ? ". If it is a mask, " + smallerSteps : ""));
  std::string lost = "the loss is finite, but the norm of its gradients is " + whatItIs(*gradNorm) +
                     ", so the updated parameters are lost; ";
  if (!input.text.empty())
    return dataLoss(lost + input.text + takeOut);
  return dataLoss(lost +
                  "look for a sample at which the model has no derivative (the square root or a norm of zeros, a "
                  "division by zero, the logarithm of zero), and add a small epsilon there");
}

} // namespace cleave::rt
