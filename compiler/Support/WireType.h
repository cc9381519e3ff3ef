// The number of an element type in a plan (runtime/plan/Plan.fbs, DType).
#ifndef CLEAVE_COMPILER_SUPPORT_WIRETYPE_H
#define CLEAVE_COMPILER_SUPPORT_WIRETYPE_H

#include "runtime/plan/Plan_generated.h"

#include "mlir/IR/Types.h"

#include <optional>

namespace cleave {

// Empty for types that plans do not have.
std::optional<rt::fb::DType> wireType(mlir::Type type);

} // namespace cleave

#endif
