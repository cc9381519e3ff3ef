// Which values that one group makes and others read are not worth storing: the readers compute them again, from less.
//
//   %s = cast %x     bf16, kept for the backward pass          {..., %s, %w, ...} writes %s and %w, {%y} reads %w
//   %w = cast %s     f32                                   =>  {..., %s, %w, ...} writes %s, {%w', %y} reads %s
//   %y = mul %w, ...
//
// A value is told by a *frontier*: values of which the readers can compute it with a few reproducible ops. The
// frontier is moved away from the value op by op, and the one with the least traffic is taken, the value alone where
// no other is better. Traffic is what is written and read: a frontier's value costs nothing where it is in memory
// anyway, and where a reader reads it already. A frontier never has more bytes than the value, so that no more memory
// is taken between the groups.
//
// This is decided when groups are known, not before: a value whose readers are all in its group is never stored, and
// copies that are made in advance keep readers apart that could have been one kernel.
#ifndef CLEAVE_COMPILER_CODEGEN_FUSION_REPEATVALUES_H
#define CLEAVE_COMPILER_CODEGEN_FUSION_REPEATVALUES_H

#include "compiler/Codegen/Fusion/FormedOps.h"
#include "compiler/Codegen/Fusion/Grouping.h"

namespace cleave {

// Changes the groups of one block, and gives them copies of each other's ops. Returns ops that nobody needs then: they
// are in no group, and have no operands. `forms` has the forms of all ops.
llvm::SmallVector<mlir::Operation *> repeatValues(std::vector<FusionGroup> &groups, const FormedOps &forms);

} // namespace cleave

#endif
