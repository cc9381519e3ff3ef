// Which instructions a PTX target does not have: ptxas refuses them, so the emulated driver does, too.
#pragma once
#include "test/cuda/emulated/ptx/Syntax.h"
#include <string>

namespace cleave::emulated {

// "sm_90a" is 90, exact; "sm_80" is 80. 0: no target of a device.
struct Target {
  int capability = 0;
  bool exact = false; // runs on this capability only
};
Target parseTarget(const std::string &target);

// Empty, or the first instruction of the module that needs a newer target than the module names.
std::string newerThanTarget(const ptx::Module &module);

} // namespace cleave::emulated
