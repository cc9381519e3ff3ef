// Draws the next token from the logits of a language model.
//
//   softmax(logits / temperature)
//     -> of these, the k likeliest tokens (top-k)
//     -> of these, the fewest whose probabilities add up to p (top-p)
//     -> one of these, by its probability
//
// Hugging Face's transformers apply these three settings in the same order. The draw goes through the kept tokens in
// the order of their ids, until the sum of their weights exceeds uniform * (sum of all kept weights). So the token
// depends only on the logits and on one number in [0, 1). If two logits are equal, the lower id counts as the likelier.
#ifndef CLEAVE_RUNTIME_SESSION_TOKENSAMPLER_H
#define CLEAVE_RUNTIME_SESSION_TOKENSAMPLER_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <vector>

namespace cleave::rt {

struct Sampling {
  double temperature = 0.8; // 0: always the likeliest token
  uint64_t topK = 0;        // 0: all tokens
  double topP = 1;          // 1: all tokens
};

// Error messages begin with the name of the option.
Status checkSampling(const Sampling &sampling);

// Needs at least one logit, and a `uniform` in [0, 1). Fails if a logit is NaN or the largest one is infinite.
Status drawToken(const std::vector<double> &logits, const Sampling &sampling, double uniform, uint64_t *token);

} // namespace cleave::rt

#endif
