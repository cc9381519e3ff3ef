// Instructions that a PTX target does not have. The emulated driver refuses them, as ptxas does.
#pragma once
#include "test/cuda/emulated/ptx/Syntax.h"
#include <string>

namespace cleave::emulated {

// "sm_90a" is 90, exact. "sm_80" is 80. The capability is 0 if the text is no target of a device.
struct Target {
  int capability = 0;
  bool exact = false; // runs on this capability only
};
Target parseTarget(const std::string &target);

// Returns the first instruction of the module that needs a newer target than the module names, or an empty string.
std::string newerThanTarget(const ptx::Module &module);

} // namespace cleave::emulated
