// What a state of each role may declare. Other code relies on it: checkpoints hold no terms of sums, the host reads and
// writes scalars by name on any rank, and a coordinate is known without a program that computes it. openPlan() refuses
// a plan in which a state declares something else.
#ifndef CLEAVE_RUNTIME_PLAN_STATEROLES_H
#define CLEAVE_RUNTIME_PLAN_STATEROLES_H

#include "runtime/plan/Plan_generated.h"
#include "runtime/plan/ScalarNames.h"

#include <string_view>

namespace cleave::rt {

struct StateRole {
  fb::Role role;
  bool maySplit;         // each rank may have a part of it
  bool mayBePartial;     // each rank may have its own term of a sum, which is reduced later in the step
  bool isCoordinate;     // it begins as the rank's coordinate on an axis; other states do not
  bool isNumber = false; // it has one element
};

// In the order of fb::Role: may split, may be partial, is a coordinate.
inline constexpr StateRole kStateRoles[] = {{fb::Role::parameter, true, false, false},   //
                                            {fb::Role::buffer, true, false, false},      //
                                            {fb::Role::gradient, true, true, false},     // until it is reduced
                                            {fb::Role::optimizer, true, false, false},   //
                                            {fb::Role::scalar, false, true, false},      // a sum within a step
                                            {fb::Role::constant, true, false, false},    //
                                            {fb::Role::coordinate, false, false, true}}; //
static_assert(sizeof kStateRoles / sizeof *kStateRoles == static_cast<size_t>(fb::Role::MAX) + 1);

// A scalar that the host knows is one number, and never a term.
constexpr StateRole stateRoleOf(fb::Role role, std::string_view name) {
  StateRole known = kStateRoles[static_cast<size_t>(role)];
  if (role == fb::Role::scalar && isScalarOfHost(name))
    known.mayBePartial = false, known.isNumber = true;
  return known;
}

} // namespace cleave::rt

#endif
