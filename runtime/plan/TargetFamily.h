// The part of a target's name that says what kind of device runs its plans.
#ifndef CLEAVE_RUNTIME_PLAN_TARGETFAMILY_H
#define CLEAVE_RUNTIME_PLAN_TARGETFAMILY_H

#include <string_view>

namespace cleave::rt {

// "host" for "host" and "host:avx512", "cuda" for "cuda:sm_90".
inline std::string_view targetFamily(std::string_view target) { return target.substr(0, target.find(':')); }

} // namespace cleave::rt

#endif
