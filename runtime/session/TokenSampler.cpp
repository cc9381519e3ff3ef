#include "runtime/session/TokenSampler.h"

#include "runtime/base/NumberRange.h"
#include "runtime/base/OptionText.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace cleave::rt {
namespace {

// Returns the ids that top-k and top-p keep. `weights` are the values of softmax up to a common factor.
std::vector<size_t> keptTokens(const std::vector<double> &logits, const std::vector<double> &weights,
                               const Sampling &sampling) {
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  auto isLikelier = [&](size_t a, size_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; };
  if (sampling.topK != 0 && sampling.topK < order.size()) {
    std::nth_element(order.begin(), order.begin() + static_cast<ptrdiff_t>(sampling.topK), order.end(), isLikelier);
    order.resize(sampling.topK);
  }
  if (sampling.topP < 1) {
    std::sort(order.begin(), order.end(), isLikelier);
    double sum = 0, part = 0;
    for (size_t id : order)
      sum += weights[id];
    size_t count = 0;
    while (count < order.size() && part < sampling.topP * sum)
      part += weights[order[count++]];
    order.resize(count);
  }
  std::sort(order.begin(), order.end());
  return order;
}

} // namespace

Status checkSampling(const Sampling &sampling) {
  if (!isNumberFrom(sampling.temperature, 0))
    return invalidArgument("--temperature: expected a number of 0 or more (in f32); got: " +
                           realText(sampling.temperature));
  if (!(sampling.topP > 0 && sampling.topP <= 1))
    return invalidArgument("--top-p: expected a number above 0 and at most 1; got: " + realText(sampling.topP));
  return Status::ok();
}

Status drawToken(const std::vector<double> &logits, const Sampling &sampling, double uniform, uint64_t *token) {
  auto likeliest = std::max_element(logits.begin(), logits.end());
  bool isNumber = std::none_of(logits.begin(), logits.end(), [](double logit) { return std::isnan(logit); });
  if (!isNumber || !std::isfinite(*likeliest))
    return invalidArgument(
        "the model returned NaN or infinity for the last token, so no token can be drawn; check that "
        "training ended with a finite loss");
  *token = static_cast<uint64_t>(likeliest - logits.begin());
  if (sampling.temperature == 0)
    return Status::ok();
  std::vector<double> weights(logits.size());
  for (size_t i = 0; i < logits.size(); ++i)
    weights[i] = std::exp((logits[i] - *likeliest) / sampling.temperature);
  std::vector<size_t> kept = keptTokens(logits, weights, sampling);
  double rest = 0;
  for (size_t id : kept)
    rest += weights[id];
  rest *= uniform;
  for (size_t id : kept)
    if ((rest -= weights[id]) < 0) {
      *token = id;
      break;
    }
  return Status::ok();
}

} // namespace cleave::rt
