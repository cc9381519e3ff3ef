// The numbers that an indexing kernel accepts, on every device.
#ifndef CLEAVE_KERNELS_INDEXING_NUMBERRANGE_H
#define CLEAVE_KERNELS_INDEXING_NUMBERRANGE_H

#include "runtime/plan/KernelDefs.h"

#include <cstdint>
#include <string>

namespace cleave::rt {

// Numbers from `first` to `end` - 1, or `other`.
struct NumberRange {
  int64_t first, end, other;

  // For check_index, the range in its parameters. For other kernels, positions in a dimension of `rows`, counted from
  // its begin or its end.
  static NumberRange of(const KernelArgs &args) {
    if (args.def().name == "check_index")
      return {args["first"], args["end"], args["other"]};
    return {-args["rows"], args["rows"], 0};
  }
  bool holds(int64_t number) const { return (number >= first && number < end) || number == other; }
  std::string describe() const {
    bool hasOther = other < first || other >= end;
    return std::to_string(first) + " to " + std::to_string(end - 1) +
           (hasOther ? ", or " + std::to_string(other) : std::string());
  }
};

} // namespace cleave::rt

#endif
