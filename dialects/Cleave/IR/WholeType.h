// The note on a reshape of the whole of which its result is a part, `cleave.whole = tensor<...>`: on a rank that has one
// element of a dimension, shapes do not tell which dimension is split. `partition` writes it, `verify-sharded` reads it
// (compiler/Sharding/Rationale.md). A noted reshape that changes no shape on the rank does change that of the whole, and
// is not folded away.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_WHOLETYPE_H
#define CLEAVE_DIALECTS_CLEAVE_IR_WHOLETYPE_H

#include "llvm/ADT/StringRef.h"

namespace cleave {

inline constexpr llvm::StringLiteral kWholeAttr = "cleave.whole";

} // namespace cleave

#endif
