#include "runtime/plan/PlanReader.h"

#include "runtime/plan/Alignment.h"
#include "runtime/plan/Checks.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/Opcode.h"
#include "runtime/plan/RankKinds.h"

namespace cleave::rt {

// Limits of FlatBuffers' verifier. They are far above any real plan, and low enough that a hostile file is refused
// quickly.
static constexpr flatbuffers::uoffset_t kMaxDepth = 16;
static constexpr flatbuffers::uoffset_t kMaxTables = 1u << 25;

static Status checkVersion(const fb::Plan &plan) {
  const char *advice = "; compile the model again with the `cleave` of this runtime";
  if (plan.format() != kPlanFormat)
    return invalidArgument("the plan has format " + std::to_string(plan.format()) + ", this runtime reads format " +
                           std::to_string(kPlanFormat) + advice);
  if (plan.instruction_set() != instructionSetHash())
    return invalidArgument(std::string("the plan was made for another instruction set than this runtime's") + advice);
  if (plan.kernel_set() != kernelSetHash())
    return invalidArgument(std::string("the plan was made for another kernel set than this runtime's") + advice);
  return Status::ok();
}

Status openPlan(const void *bytes, size_t size, const fb::Plan **plan) {
  *plan = nullptr;
  if (!bytes || size < 16 || size > FLATBUFFERS_MAX_BUFFER_SIZE)
    return badPlan("expected at least 16 bytes; got: " + std::to_string(size));
  if (reinterpret_cast<uintptr_t>(bytes) % 8 != 0)
    return invalidArgument("the plan's bytes must be aligned to 8 bytes");
  auto *data = static_cast<const uint8_t *>(bytes);
  if (!fb::PlanBufferHasIdentifier(data))
    return badPlan(std::string("these bytes are not a plan; expected the identifier ") + fb::PlanIdentifier());
  flatbuffers::Verifier verifier(data, size, kMaxDepth, kMaxTables);
  if (!fb::VerifyPlanBuffer(verifier))
    return badPlan("its tables point outside of its " + std::to_string(size) + " bytes");
  const fb::Plan *opened = fb::GetPlan(data);
  for (const fb::Plan *kind : kindsOf(*opened)) {
    CLEAVE_TRY(checkVersion(*kind));
    CLEAVE_TRY(checkVectors(*kind));
    CLEAVE_TRY(checkNames(*kind));
    CLEAVE_TRY(checkProperties(*kind));
    CLEAVE_TRY(checkMesh(*kind));
    CLEAVE_TRY(checkStates(*kind));
    CLEAVE_TRY(checkKernels(*kind));
    CLEAVE_TRY(checkPrograms(*kind));
  }
  CLEAVE_TRY(checkKinds(*opened));
  CLEAVE_TRY(checkSavedNames(*opened));
  *plan = opened;
  return Status::ok();
}

uint64_t meshSize(const fb::Plan &plan) {
  uint64_t size = 1;
  for (size_t i = 0; i < lengthOf(plan.axes()); ++i)
    size *= plan.axes()->Get(i)->size();
  return size;
}

uint64_t axesSize(const fb::Plan &plan, const flatbuffers::Vector<uint32_t> *axes) {
  uint64_t size = 1;
  for (size_t i = 0; i < lengthOf(axes); ++i)
    size *= plan.axes()->Get(axes->Get(i))->size();
  return size;
}

const fb::AxisPlaces *placesOn(const fb::Group &group, uint32_t axis) {
  for (size_t i = 0; i < lengthOf(group.only()); ++i)
    if (group.only()->Get(static_cast<unsigned>(i))->axis() == axis)
      return group.only()->Get(static_cast<unsigned>(i));
  return nullptr;
}

uint64_t groupSize(const fb::Plan &plan, const fb::Group &group) {
  uint64_t size = 1;
  for (size_t i = 0; i < lengthOf(group.axes()); ++i) {
    uint32_t axis = group.axes()->Get(static_cast<unsigned>(i));
    const fb::AxisPlaces *places = placesOn(group, axis);
    size *= places ? places->coordinates()->size() : plan.axes()->Get(axis)->size();
  }
  return size;
}

uint64_t bufferEnd(const fb::Plan &plan, const fb::Buffer &buffer) {
  uint64_t end = buffer.offset() + buffer.bytes();
  if (buffer.share_of() != 0)
    end += (groupSize(plan, *plan.groups()->Get(buffer.share_of() - 1u)) - 1) * buffer.stride();
  return end;
}

uint64_t bufferAlignment(const fb::Plan &plan, const fb::Buffer &buffer) {
  const fb::Region &region = *plan.regions()->Get(buffer.region());
  uint64_t bits = kBufferAlignment | buffer.offset();
  bits |= buffer.share_of() != 0 ? buffer.stride() : 0;
  bits |= region.frames() > 1 ? region.bytes() : 0;
  return bits & (~bits + 1);
}

// Different frames of one region have no bytes in common.
static bool mayShareFrame(const fb::Plan &plan, const fb::Buffer &a, const fb::Buffer &b) {
  return (a.frame() - b.frame()) % int64_t{plan.regions()->Get(a.region())->frames()} == 0;
}

bool buffersOverlap(const fb::Plan &plan, const fb::Buffer &a, const fb::Buffer &b) {
  if (a.region() != b.region() || !mayShareFrame(plan, a, b))
    return false;
  bool alike = a.share_of() == b.share_of() && a.stride() == b.stride();
  uint64_t endOfA = alike ? a.offset() + a.bytes() : bufferEnd(plan, a);
  uint64_t endOfB = alike ? b.offset() + b.bytes() : bufferEnd(plan, b);
  return a.offset() < endOfB && b.offset() < endOfA;
}

uint64_t stateShardBytes(const fb::Plan &plan, const fb::State &state) {
  return state.elements() / axesSize(plan, state.split_axes()) * dtypeSize(state.dtype());
}

uint64_t portBytes(const fb::Port &port) {
  uint64_t bytes = dtypeSize(port.dtype());
  for (size_t i = 0; i < lengthOf(port.shape()); ++i)
    bytes *= static_cast<uint64_t>(port.shape()->Get(i));
  return bytes;
}

bool isOfHost(fb::RegionKind kind) {
  return kind == fb::RegionKind::persistent || kind == fb::RegionKind::input || kind == fb::RegionKind::output ||
         kind == fb::RegionKind::snapshot;
}

} // namespace cleave::rt
