// Which memory a value is stored in: a mark beside its sharding.
//
//   cleave.state @w.exp_avg : tensor<8192xf32> {cleave.offloaded, ...}                        every read and write goes
//   there %1 = cleave.reshape %0 {cleave.offloaded} : tensor<8x64xf32> -> tensor<8x64xf32>         %1 is %0, stored
//   there
//
// The first is made by `assign-shardings` (--offload params, grads, optimizer), the second by `offload-values`. Nothing
// but planning asks for it: copies are the difference of where a value is stored and where it is used, and made there.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_PLACEMENT_H
#define CLEAVE_DIALECTS_CLEAVE_IR_PLACEMENT_H

#include "llvm/ADT/StringRef.h"

namespace cleave {

// What carries it is stored in host memory.
inline constexpr llvm::StringLiteral kOffloaded = "cleave.offloaded";

} // namespace cleave

#endif
