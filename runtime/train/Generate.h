// `generate`: text from a byte-level language model, one byte at a time.
//
// Any model with an integer input [batch, context] and a floating-point output [batch, context, 256] will do, as long
// as it is causal: what stands at position i depends on positions 0 to i only. That is tried out before the first byte.
#ifndef CLEAVE_RUNTIME_TRAIN_GENERATE_H
#define CLEAVE_RUNTIME_TRAIN_GENERATE_H

#include "runtime/train/Session.h"

namespace cleave::rt {

struct GenerateOptions {
  std::string input;  // empty: the only integer input of two dimensions
  std::string output; // empty: the first output [batch, context, 256]
  std::string prompt = "\n";
  uint64_t bytes = 200;
  double temperature = 0.8; // 0: always the likeliest byte
  uint64_t seed = 0;
};

// Calls `show` with each byte as it comes.
Status generate(Session &session, const GenerateOptions &options, const std::function<void(char)> &show);

} // namespace cleave::rt

#endif
