// Whether a model reads tokens: then progress, --metrics and predictions count tokens too, and not only samples.
//
// A sample of such a model is a sequence of integers, with further sequences of integers of the same length: labels, a
// mask, kinds of tokens. Inputs of one number per sample, such as its class or its weight, change nothing. So a
// recommender that reads integer features next to floating-point ones, or features of several lengths, is measured in
// samples.
#ifndef CLEAVE_RUNTIME_PLAN_TOKENS_H
#define CLEAVE_RUNTIME_PLAN_TOKENS_H

#include "runtime/plan/Plan_generated.h"

namespace cleave::rt {

// The length of the sequences that a program reads, or 0 if its samples are not sequences of tokens.
uint64_t tokensPerSample(const fb::Program &program);

} // namespace cleave::rt

#endif
