// The alignments of the buffers of a plan's generated kernels. If all launches permit it, code accesses 16 bytes at a
// time.
#ifndef CLEAVE_COMPILER_TARGET_ALIGNMENTS_H
#define CLEAVE_COMPILER_TARGET_ALIGNMENTS_H

#include "runtime/plan/Plan_generated.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cleave {

// For each kernel, by name, and each of its buffers: the largest power of two, up to 16, that divides the buffer's
// address in all launches of all kinds of ranks, for all frames and shares. Regions begin at multiples of at least 64.
using KernelAlignments = std::map<std::string, std::vector<uint32_t>>;

KernelAlignments alignmentsOf(const rt::fb::Plan &plan);

} // namespace cleave

#endif
