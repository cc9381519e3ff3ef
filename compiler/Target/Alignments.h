// On which multiples the buffers of a plan's generated kernels begin: code may access 16 bytes at a time where all launches
// allow it.
#ifndef CLEAVE_COMPILER_TARGET_ALIGNMENTS_H
#define CLEAVE_COMPILER_TARGET_ALIGNMENTS_H

#include "runtime/plan/Plan_generated.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cleave {

// Of each kernel, by name, for each buffer: a power of two up to 16, the largest that divides its address in all launches
// of all kinds of ranks, at all frames and shares. Regions begin on multiples of 64 at least.
using KernelAlignments = std::map<std::string, std::vector<uint32_t>>;

KernelAlignments alignmentsOf(const rt::fb::Plan &plan);

} // namespace cleave

#endif
