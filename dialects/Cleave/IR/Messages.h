// Translates MLIR's diagnostics for a user who has a model and does not know MLIR. Every message of the program is made
// here.
//
//   loc(fused["node 's' (MatMul)"]): ... got: 'tensor<8x3xf32>'     MLIR's form
//   node 's' (MatMul): ... got: f32[8, 3]                           Cleave's form
//
// The importer names each op's location by its node. Passes fuse such locations and wrap them in calls.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_NODENAME_H
#define CLEAVE_DIALECTS_CLEAVE_IR_NODENAME_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

#include <string>

namespace cleave {

// Returns the description of the node. For a fused location it is the first that has a name. Empty if there is none.
std::string nodeNameOf(mlir::Location location);

// Returns nodeNameOf(), or FILE:LINE:COLUMN if the program was written as MLIR text. Empty if nothing is known.
std::string placeOf(mlir::Location location);

// Returns a tensor's type as `f32[8, 3]`, a scalar's as `f32`; other types as MLIR prints them.
std::string describeType(mlir::Type type);

// Returns the text of the diagnostic without its place.
std::string textOf(mlir::Diagnostic &diagnostic);
// Returns the text with its place: PLACE: TEXT.
std::string messageOf(mlir::Diagnostic &diagnostic);

} // namespace cleave

#endif
