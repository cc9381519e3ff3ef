// Opens a plan whose bytes come from a file, and answers questions about its tables.
//
// The bytes may be damaged or hostile. openPlan() proves everything that later code relies on:
//
// - Every table is inside the buffer, every index names an entry, and every byte range is inside its region.
// - Opcodes and kernels are those of this build, with the right number of fields.
// - Each kernel is launched on buffers with the sizes that it touches, which overlap only if it works in place.
// - Calls do not recurse. A program's own event is recorded before it is waited for.
//
// It does not prove that the plan computes something sensible, nor that ranks agree. `cleave verify` does that. About
// generated code it knows only what the plan says.
#ifndef CLEAVE_RUNTIME_PLAN_PLANREADER_H
#define CLEAVE_RUNTIME_PLAN_PLANREADER_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan_generated.h"

#include <cstddef>
#include <string_view>

namespace cleave::rt {

// `bytes` must be aligned to 8 bytes. `*plan` points into them, so they must outlive it.
Status openPlan(const void *bytes, size_t size, const fb::Plan **plan);

// The number of ranks in the whole mesh.
uint64_t meshSize(const fb::Plan &plan);
// The number of ranks that differ only on `axes`. 1 if `axes` is null.
uint64_t axesSize(const fb::Plan &plan, const flatbuffers::Vector<uint32_t> *axes);
// The number of members of a group.
uint64_t groupSize(const fb::Plan &plan, const fb::Group &group);
// Returns the coordinates of the group's members on an axis, or null if the group has members at all coordinates.
const fb::AxisPlaces *placesOn(const fb::Group &group, uint32_t axis);
// The bytes of a state that one rank stores.
uint64_t stateShardBytes(const fb::Plan &plan, const fb::State &state);
// The bytes of one frame of a port, whether or not this kind of ranks has it.
uint64_t portBytes(const fb::Port &port);
// True for regions whose contents the host reads or writes: those with states, ports, or the copy that a checkpoint is
// written from.
bool isOfHost(fb::RegionKind kind);

// The end of the bytes that a buffer may occupy on any rank of its group. Of shares it is the end of the last one.
uint64_t bufferEnd(const fb::Plan &plan, const fb::Buffer &buffer);
// The largest power of two, up to kBufferAlignment, that divides the buffer's address on all ranks and in all frames.
// Regions begin on multiples of kBufferAlignment.
uint64_t bufferAlignment(const fb::Plan &plan, const fb::Buffer &buffer);
// True if two buffers may have bytes in common. Two shares of one group with one stride have the same distance on every
// rank.
bool buffersOverlap(const fb::Plan &plan, const fb::Buffer &a, const fb::Buffer &b);

// Values of the field `reduction`.
enum class Reduction : int64_t { Sum = 0, Max = 1, Min = 2 };

// The length of a vector. 0 if the plan does not have it.
template <typename Vector> size_t lengthOf(const Vector *vector) { return vector ? vector->size() : 0; }
inline std::string_view textOf(const flatbuffers::String *text) {
  return text ? std::string_view(text->c_str(), text->size()) : std::string_view();
}

} // namespace cleave::rt

#endif
