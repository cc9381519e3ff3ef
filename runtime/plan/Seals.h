// The seals of a plan: two numbers that stand in an artefact next to the machine code, after the kernels' facts
// (KernelFacts.h). They bind the plan to the program that it came with. A file that contains only a plan has nothing to
// be compared with.
//
// *bytes*: a checksum over the bytes of the plan. It finds damage: by a disk, a copy, or a tool that edits the file.
//
// *meaning*: a hash over everything that a plan states about its own meaning. `cleave verify` compares what the
// instructions do with what the plan states: the expressions of the values that its programs leave (Program.meaning),
// and its declarations (Plan.declared). Both statements are in the plan itself. Somebody who changes instructions and
// statements together would have a plan that is proved, but computes something else.
//
// The runtime, `cleave verify` and `cleave inspect` refuse a plan with other seals.
#ifndef CLEAVE_RUNTIME_PLAN_SEALS_H
#define CLEAVE_RUNTIME_PLAN_SEALS_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan_generated.h"

#include <array>

namespace cleave::rt {

// Over all kinds of ranks.
uint64_t meaningSeal(const fb::Plan &plan);
Status checkMeaningSeal(const fb::Plan &plan, uint64_t seal);

// The size in the upper 32 bits, a CRC-32C (Crc32c.h) in the lower ones.
uint64_t bytesSeal(const void *plan, size_t size);
Status checkBytesSeal(const void *plan, size_t size, uint64_t seal);

// The numbers after the facts in cleave_model.kernel_facts, in their order there.
enum Seal : size_t { kMeaningSeal, kBytesSeal, kSeals };
// `plan` is an opened plan of `size` bytes, which begin at `bytes`.
std::array<uint64_t, kSeals> sealsOf(const fb::Plan &plan, const void *bytes, size_t size);

} // namespace cleave::rt

#endif
