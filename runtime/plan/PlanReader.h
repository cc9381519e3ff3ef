// From bytes to a plan that can be trusted.
//
// A plan comes from a file, so it may be damaged or hostile. openPlan() proves everything that later code relies on:
// every table lies inside the buffer, every index names something, every byte range lies inside its region, opcodes
// and kernels are those of this build with the right number of fields, each kernel is launched on buffers of the bytes
// that it touches, which overlap only where it works in place, calls do not recurse, and a program's own event is
// recorded before it is waited for. What it does not prove is that the plan computes something sensible, nor that ranks
// agree: that is `cleave verify`. Of generated code it knows what the plan says.
#ifndef CLEAVE_RUNTIME_PLAN_PLANREADER_H
#define CLEAVE_RUNTIME_PLAN_PLANREADER_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan_generated.h"

#include <cstddef>
#include <string_view>

namespace cleave::rt {

// `*plan` points into `bytes`, which must be aligned to 8 bytes and outlive it.
Status openPlan(const void *bytes, size_t size, const fb::Plan **plan);

// The ranks of the whole mesh.
uint64_t meshSize(const fb::Plan &plan);
// The ranks that differ only on `axes` (null: one).
uint64_t axesSize(const fb::Plan &plan, const flatbuffers::Vector<uint32_t> *axes);
// The members of a group.
uint64_t groupSize(const fb::Plan &plan, const fb::Group &group);
// The coordinates on an axis that the group has members at; null: all of them.
const fb::AxisPlaces *placesOn(const fb::Group &group, uint32_t axis);
// The bytes that one rank holds of a state.
uint64_t stateShardBytes(const fb::Plan &plan, const fb::State &state);

// The first byte after those that a buffer may be on any rank of its group; shares end where the last one does.
uint64_t bufferEnd(const fb::Plan &plan, const fb::Buffer &buffer);
// The largest power of two, up to 64, that divides the buffer's address on all ranks and in all frames: regions begin on
// multiples of 64.
uint64_t bufferAlignment(const fb::Plan &plan, const fb::Buffer &buffer);
// Whether two buffers may share bytes. Shares of one group and stride lie apart alike on every rank.
bool buffersOverlap(const fb::Plan &plan, const fb::Buffer &a, const fb::Buffer &b);

// Reduction kinds of the field `reduction`.
enum class Reduction : int64_t { Sum = 0, Max = 1, Min = 2 };

// The length of an optional vector.
template <typename Vector> size_t lengthOf(const Vector *vector) { return vector ? vector->size() : 0; }
inline std::string_view textOf(const flatbuffers::String *text) {
  return text ? std::string_view(text->c_str(), text->size()) : std::string_view();
}

} // namespace cleave::rt

#endif
