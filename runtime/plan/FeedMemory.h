// How many inputs a run of an entry program reads, and the memory from which they are brought to a device that does not
// share the host's: two batches of a rank, in page-locked memory of the host. One is gathered while the device computes on
// the other (BatchReader.h), and a GPU copies from it without the host.
//
// It is no region: which programs are fed depends on the command. `train` feeds train_step, and evaluate where there are
// validation data.
#ifndef CLEAVE_RUNTIME_PLAN_FEEDMEMORY_H
#define CLEAVE_RUNTIME_PLAN_FEEDMEMORY_H

#include "runtime/plan/Plan_generated.h"

#include <cstdint>

namespace cleave::rt {

// How many frames of inputs one run of an entry program reads: one, or as many as it calls bodies for. Some kinds of
// ranks may call fewer than others.
unsigned inputFrames(const fb::Plan &plan, const fb::Program &program);

inline constexpr uint64_t kBatchesInMemory = 2;

// What an input of so many bytes takes of a batch.
constexpr uint64_t bytesOfPlace(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// For the inputs of a kind's entry program, on each of its ranks; 0 where the device shares the host's memory.
uint64_t feedBytes(const fb::Plan &plan, const fb::Program &program);

} // namespace cleave::rt

#endif
