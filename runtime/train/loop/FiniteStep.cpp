#include "runtime/train/loop/FiniteStep.h"

#include <cmath>

namespace cleave::rt {

static std::string whatItIs(double value) { return std::isnan(value) ? "not a number" : "infinite"; }

bool isUndefined(double loss, std::optional<double> gradNorm) {
  return std::isnan(loss) && gradNorm && std::isfinite(*gradNorm);
}

Status checkFinite(double loss, std::optional<double> gradNorm, std::optional<double> lossScale,
                   const std::function<std::string()> &badInput, const std::function<std::string()> &badWeight) {
  if (lossScale || isUndefined(loss, gradNorm))
    return Status::ok();
  if (std::isfinite(loss) && (!gradNorm || std::isfinite(*gradNorm)))
    return Status::ok();
  std::string input = badInput ? badInput() : "", weight = input.empty() && badWeight ? badWeight() : "";
  if (!weight.empty())
    return dataLoss("the loss" +
                    (std::isfinite(loss) ? "'s gradient is " + whatItIs(*gradNorm) : " is " + whatItIs(loss)) +
                    ", because " + weight + "; begin with other weights");
  if (!std::isfinite(loss))
    return dataLoss("the loss is " + whatItIs(loss) + "; " +
                    (input.empty() ? "" : input + ": take such samples out of the data. Where this is meant so, ") +
                    "give a smaller learning rate (--lr) or limit of the gradients' norm (--clip-grad-norm)" +
                    (input.empty() ? ", and look for such values in the data" : ""));
  std::string lost = "the loss is finite, but the norm of its gradients is " + whatItIs(*gradNorm) +
                     ", so the updated parameters are lost; ";
  if (!input.empty())
    return dataLoss(lost + input + ": take such samples out of the data");
  return dataLoss(lost +
                  "look for a sample at which the model has no derivative (the square root or a norm of zeros, a "
                  "division by zero, the logarithm of zero), and add a small epsilon there");
}

} // namespace cleave::rt
