// Which token comes next: one draw from what a model says about each token of its vocabulary.
//
//   softmax(logits / temperature)
//     -> the top-k likeliest tokens of it
//     -> the fewest of these whose probabilities add up to top-p
//     -> one of these, by its probability
//
// That is the order in which Hugging Face's transformers apply the same three settings. The draw walks through the kept
// tokens by rising id until their weights exceed uniform * (sum of the weights). So a token follows from the logits and
// one number in [0, 1), and of equal logits the lower id counts as the likelier.
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

// Messages begin with the option.
Status checkSampling(const Sampling &sampling);

// At least one logit; fails where the largest is no number. `uniform` in [0, 1).
Status drawToken(const std::vector<double> &logits, const Sampling &sampling, double uniform, uint64_t *token);

} // namespace cleave::rt

#endif
