// Which memory a state is stored in: a mark beside its sharding.
//
//   cleave.state @w.exp_avg : tensor<8192xf32> {cleave.offloaded, ...}          every read and write goes there
//
// `assign-shardings` makes it (--offload params, grads, optimizer). Of values `cleave.offload` says the same, which
// `offload-values` makes. Nothing but planning asks: copies are the difference of where a value is stored and where it
// is used, and made there.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_PLACEMENT_H
#define CLEAVE_DIALECTS_CLEAVE_IR_PLACEMENT_H

#include "llvm/ADT/StringRef.h"

namespace cleave {

// The state that carries it is stored in host memory.
inline constexpr llvm::StringLiteral kOffloaded = "cleave.offloaded";

} // namespace cleave

#endif
