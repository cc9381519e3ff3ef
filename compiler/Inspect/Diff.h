// `cleave diff A B`: in what two plans differ, side by side: memory and state of the rank that needs most, arithmetic,
// traffic and instructions of all ranks together, kernels, and the options that they were compiled with.
#ifndef CLEAVE_COMPILER_INSPECT_DIFF_H
#define CLEAVE_COMPILER_INSPECT_DIFF_H

#include "runtime/plan/Plan_generated.h"

#include <string>

namespace cleave::view {

// The names are those of the files.
std::string diffText(const rt::fb::Plan &a, const std::string &nameA, const rt::fb::Plan &b, const std::string &nameB);

} // namespace cleave::view

#endif
