// `cleave diff A B`: shows how two plans differ, side by side: memory and state of the rank that needs the most memory;
// arithmetic, traffic and instructions of all ranks together; kernels; and the options with which they were compiled.
#ifndef CLEAVE_COMPILER_INSPECT_DIFF_H
#define CLEAVE_COMPILER_INSPECT_DIFF_H

#include "runtime/plan/Plan_generated.h"

#include <string>

namespace cleave::view {

// `nameA` and `nameB` are the names of the files.
std::string diffText(const rt::fb::Plan &a, const std::string &nameA, const rt::fb::Plan &b, const std::string &nameB);

} // namespace cleave::view

#endif
