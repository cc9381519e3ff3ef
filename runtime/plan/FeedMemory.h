// How many frames of inputs are fed for a run of an entry program, and how much host memory feeds them to a device that has
// its own memory.
//
// Each rank has two batches in page-locked memory of the host. One is gathered while the device computes on the other
// (BatchReader.h). A GPU copies from page-locked memory by itself, without the host.
//
// This memory is no region of the plan, because the command decides which programs are fed. `train` feeds train_step,
// and also evaluate if there is validation data.
#ifndef CLEAVE_RUNTIME_PLAN_FEEDMEMORY_H
#define CLEAVE_RUNTIME_PLAN_FEEDMEMORY_H

#include "runtime/plan/Alignment.h"
#include "runtime/plan/Plan_generated.h"

#include <cstdint>

namespace cleave::rt {

// Returns how many frames of inputs the host feeds for one run of an entry program. For train_step, there is one for
// each micro-batch of the plan. For others, there is one, or one for each micro-batch that the program calls bodies
// for. If kinds of ranks differ, this is the largest number.
unsigned inputFrames(const fb::Plan &plan, const fb::Program &program);

inline constexpr uint64_t kBatchesInMemory = 2;

// The bytes that an input of this size takes in a batch. Inputs are aligned as buffers are.
constexpr uint64_t bytesOfInput(uint64_t bytes) { return paddedBytes(bytes); }

// Returns the bytes of both batches of one rank: for the inputs of `program`, an entry program of one kind. 0 if the
// device shares the host's memory.
uint64_t feedBytes(const fb::Plan &plan, const fb::Program &program);

} // namespace cleave::rt

#endif
