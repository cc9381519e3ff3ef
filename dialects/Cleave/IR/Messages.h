// MLIR's diagnostics in the words of a user, who has a model and no MLIR: every message of the program is made here.
//
//   loc(fused["node 's' (MatMul)"]): ... got: 'tensor<8x3xf32>'     MLIR's form
//   node 's' (MatMul): ... got: f32[8, 3]                           ours
//
// The importer names each op's location by its node. Passes fuse such locations and wrap them in calls.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_NODENAME_H
#define CLEAVE_DIALECTS_CLEAVE_IR_NODENAME_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

#include <string>

namespace cleave {

// The description of the node: of a fused location the first one that has a name. Empty where there is none.
std::string nodeNameOf(mlir::Location location);

// As nodeNameOf; where the program was written in MLIR's text, FILE:LINE:COLUMN. Empty where nothing is known.
std::string placeOf(mlir::Location location);

// A tensor's type as `f32[8, 3]`, a scalar's as `f32`; other types as MLIR has them.
std::string describeType(mlir::Type type);

// What the diagnostic says, without its place.
std::string textOf(mlir::Diagnostic &diagnostic);
// With it: PLACE: TEXT.
std::string messageOf(mlir::Diagnostic &diagnostic);

} // namespace cleave

#endif
