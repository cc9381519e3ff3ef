#include "runtime/plan/Checks.h"
#include "runtime/plan/DrawnWeights.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/StateRoles.h"

#include <algorithm>
#include <set>
#include <vector>

namespace cleave::rt {

static constexpr uint64_t kMaxRanks = 1u << 20;
static constexpr uint64_t kMaxEventPlaces = 1u << 20;
static constexpr uint64_t kMaxBytes = uint64_t{1} << 50; // of one region over all frames

bool shapeElements(const flatbuffers::Vector<int64_t> *shape, uint64_t *elements) {
  *elements = 1;
  for (size_t i = 0; i < lengthOf(shape); ++i)
    if (shape->Get(i) < 0 || !multiply(elements, static_cast<uint64_t>(shape->Get(i))))
      return false;
  return true;
}

Status checkAxes(const fb::Plan &plan, const flatbuffers::Vector<uint32_t> *axes, const std::string &where) {
  std::set<uint32_t> seen;
  for (size_t i = 0; i < lengthOf(axes); ++i)
    if (axes->Get(i) >= lengthOf(plan.axes()) || !seen.insert(axes->Get(i)).second)
      return badPlan(where + " names mesh axis " + std::to_string(axes->Get(i)) + " wrongly; there are " +
                     std::to_string(lengthOf(plan.axes())));
  return Status::ok();
}

static Status checkRegions(const fb::Plan &plan) {
  for (size_t i = 0; i < lengthOf(plan.regions()); ++i) {
    const fb::Region &region = *plan.regions()->Get(i);
    std::string where = "region '" + region.name()->str() + "'";
    if (region.kind() > fb::RegionKind::MAX)
      return badPlan(where + " has no known kind");
    if (region.space() > fb::Space::MAX)
      return badPlan(where + " is in no known memory");
    if (region.counter() > fb::Counter::MAX)
      return badPlan(where + " follows no known counter");
    uint64_t total = region.bytes();
    if (region.frames() == 0 || !multiply(&total, region.frames()) || total > kMaxBytes)
      return badPlan(where + " has " + std::to_string(region.frames()) + " frames of " +
                     std::to_string(region.bytes()) + " bytes");
    bool isSingle = isOfHost(region.kind()) && region.kind() != fb::RegionKind::input;
    if (region.frames() > 1 && (isSingle || region.bytes() % 8 != 0))
      return badPlan(where + " has " + std::to_string(region.frames()) + " frames" +
                     (isSingle ? "; expected one" : ", which are not aligned"));
    if (region.kind() == fb::RegionKind::input && region.counter() != fb::Counter::micro_batch)
      return badPlan(where + " is fed by micro-batches, and follows another counter");
    if (region.kind() == fb::RegionKind::input && region.frames() < plan.micro_batches())
      return badPlan(where + " has " + std::to_string(region.frames()) + " frames for " +
                     std::to_string(plan.micro_batches()) + " micro-batches");
  }
  return Status::ok();
}

// Checks that each entry of `only` is for one axis of the group, and that its coordinates ascend and exist on that
// axis.
static Status checkGroup(const fb::Plan &plan, const fb::Group &group, const std::string &where) {
  CLEAVE_TRY(checkAxes(plan, group.axes(), where));
  std::set<uint32_t> seen;
  for (size_t i = 0; i < lengthOf(group.only()); ++i) {
    const fb::AxisPlaces &places = *group.only()->Get(i);
    bool isOfGroup = false;
    for (size_t a = 0; a < lengthOf(group.axes()); ++a)
      isOfGroup |= group.axes()->Get(a) == places.axis();
    if (!isOfGroup || !seen.insert(places.axis()).second || lengthOf(places.coordinates()) == 0)
      return badPlan(where + " names coordinates of an axis that is not its own, twice, or none of them");
    uint32_t next = 0;
    for (uint32_t coordinate : *places.coordinates()) {
      if (coordinate < next || coordinate >= plan.axes()->Get(places.axis())->size())
        return badPlan(where + " names coordinate " + std::to_string(coordinate) + " of axis '" +
                       plan.axes()->Get(places.axis())->name()->str() + "', which is not there or not in order");
      next = coordinate + 1;
    }
  }
  return Status::ok();
}

static Status checkEvents(const fb::Plan &plan) {
  uint64_t places = 0;
  for (uint32_t i = 0; i < lengthOf(plan.events()); ++i) {
    const fb::Event &event = *plan.events()->Get(i);
    places += event.frames();
    if (event.counter() > fb::Counter::MAX || event.frames() == 0 || places > kMaxEventPlaces)
      return badPlan("event " + std::to_string(i) + " of the plan follows no known counter, or has " +
                     std::to_string(event.frames()) + " frames");
  }
  return Status::ok();
}

Status checkMesh(const fb::Plan &plan) {
  uint64_t ranks = 1;
  if (lengthOf(plan.axes()) > 64) // the verifier has one bit for each axis
    return badPlan("its mesh has " + std::to_string(lengthOf(plan.axes())) + " axes");
  for (size_t i = 0; i < lengthOf(plan.axes()); ++i) {
    uint32_t size = plan.axes()->Get(i)->size();
    if (size == 0 || !multiply(&ranks, size) || ranks > kMaxRanks)
      return badPlan("mesh axis '" + plan.axes()->Get(i)->name()->str() + "' has size " + std::to_string(size));
  }
  for (size_t i = 0; i < lengthOf(plan.groups()); ++i)
    CLEAVE_TRY(checkGroup(plan, *plan.groups()->Get(i), "group " + std::to_string(i)));
  CLEAVE_TRY(checkAxes(plan, plan.data_axes(), "data_axes"));
  if (lengthOf(plan.streams()) == 0 || plan.streams()->size() > 255)
    return badPlan("it has " + std::to_string(lengthOf(plan.streams())) + " streams");
  if (plan.threads() > 4096)
    return badPlan("it is planned for " + std::to_string(plan.threads()) + " threads");
  if (plan.micro_batches() == 0)
    return badPlan("it has no micro-batch");
  CLEAVE_TRY(checkEvents(plan));
  return checkRegions(plan);
}

static Status checkSegment(const fb::Plan &plan, const fb::State &state, const fb::Segment &segment) {
  std::string where = "segment '" + segment.name()->str() + "' of state '" + state.name()->str() + "'";
  uint64_t elements = 0;
  if (!shapeElements(segment.shape(), &elements) || !fits(segment.offset(), elements, state.elements()))
    return badPlan(where + " lies outside of the state");
  if (segment.init() > fb::InitKind::MAX)
    return badPlan(where + " has no known initial value");
  if (segment.init() == fb::InitKind::coordinate && segment.axis() >= lengthOf(plan.axes()))
    return badPlan(where + " starts as the coordinate on an axis that is not there");
  bool isReal = state.dtype() == fb::DType::f32 || state.dtype() == fb::DType::f64 || state.dtype() == fb::DType::f16 ||
                state.dtype() == fb::DType::bf16;
  if (!isReal && drawOf(segment))
    return badPlan(where + " is drawn, and its type is not a floating-point one");
  if (segment.group() != 0 && segment.group() >= lengthOf(plan.param_groups()))
    return badPlan(where + " is in parameter group " + std::to_string(segment.group()) + " of " +
                   std::to_string(lengthOf(plan.param_groups())));
  return Status::ok();
}

// Checks that each element of a state belongs to one logical tensor at most. Elements between tensors are padding.
static Status checkSegmentsApart(const fb::State &state) {
  std::vector<const fb::Segment *> segments(state.segments()->begin(), state.segments()->end());
  auto begin = [](const fb::Segment *segment) { return segment->offset(); };
  std::stable_sort(segments.begin(), segments.end(), [&](auto *a, auto *b) { return begin(a) < begin(b); });
  uint64_t end = 0;
  const fb::Segment *before = nullptr;
  for (const fb::Segment *segment : segments) {
    uint64_t elements = 0;
    (void)shapeElements(segment->shape(), &elements); // checkSegment() has accepted it
    if (elements == 0)
      continue;
    if (before && segment->offset() < end)
      return badPlan("segments '" + before->name()->str() + "' and '" + segment->name()->str() + "' of state '" +
                     state.name()->str() + "' overlap");
    end = segment->offset() + elements;
    before = segment;
  }
  return Status::ok();
}

static Status checkRole(const fb::State &state) {
  std::string_view name = textOf(state.name());
  std::string where = "state '" + std::string(name) + "' of role " + fb::EnumNameRole(state.role());
  StateRole role = stateRoleOf(state.role(), name);
  if (isScalarName(name) && state.role() != fb::Role::scalar)
    return badPlan(where + " has the name of a scalar; expected that role");
  if (!role.mayBePartial && lengthOf(state.partial_axes()) != 0)
    return badPlan(where + " is an unreduced sum over " + std::to_string(lengthOf(state.partial_axes())) +
                   " axes; expected its value on each rank");
  if (!role.maySplit && lengthOf(state.split_axes()) != 0)
    return badPlan(where + " is split over " + std::to_string(lengthOf(state.split_axes())) +
                   " axes; expected the whole on each rank");
  if (role.isNumber && state.elements() != 1)
    return badPlan(where + " has " + std::to_string(state.elements()) + " elements; expected one");
  if (role.isCoordinate && lengthOf(state.segments()) != 1)
    return badPlan(where + " does not say which coordinate it is; expected one segment");
  for (size_t i = 0; i < lengthOf(state.segments()); ++i)
    if ((state.segments()->Get(i)->init() == fb::InitKind::coordinate) != role.isCoordinate)
      return badPlan(where + (role.isCoordinate ? " begins as something else than" : " begins as") +
                     " the rank's coordinate on an axis, which " + (role.isCoordinate ? "" : "only ") +
                     "a state of role coordinate does");
  return Status::ok();
}

static Status checkState(const fb::Plan &plan, const fb::State &state) {
  std::string where = "state '" + state.name()->str() + "'";
  if (state.role() > fb::Role::MAX || dtypeSize(state.dtype()) == 0)
    return badPlan(where + " has no known role or type");
  CLEAVE_TRY(checkRole(state));
  CLEAVE_TRY(checkAxes(plan, state.split_axes(), where));
  CLEAVE_TRY(checkAxes(plan, state.partial_axes(), where));
  for (size_t i = 0; i < lengthOf(state.partial_axes()); ++i)
    for (size_t s = 0; s < lengthOf(state.split_axes()); ++s)
      if (state.partial_axes()->Get(i) == state.split_axes()->Get(s))
        return badPlan(where + " is split over an axis and an unreduced sum over it");
  uint64_t ranks = axesSize(plan, state.split_axes());
  if (state.elements() % ranks != 0)
    return badPlan(where + " has " + std::to_string(state.elements()) + " elements, which " + std::to_string(ranks) +
                   " ranks cannot share evenly");
  uint64_t bytes = state.elements() / ranks;
  if (state.region() >= lengthOf(plan.regions()) || !multiply(&bytes, dtypeSize(state.dtype())) ||
      !fits(state.offset(), bytes, plan.regions()->Get(state.region())->bytes()))
    return badPlan(where + " lies outside of its region");
  if (plan.regions()->Get(state.region())->kind() != fb::RegionKind::persistent)
    return badPlan(where + " lies in a region that is not persistent");
  if (state.offset() % dtypeSize(state.dtype()) != 0)
    return badPlan(where + " is not aligned to its type");
  for (size_t i = 0; i < lengthOf(state.segments()); ++i)
    CLEAVE_TRY(checkSegment(plan, state, *state.segments()->Get(i)));
  return lengthOf(state.segments()) == 0 ? Status::ok() : checkSegmentsApart(state);
}

Status checkStates(const fb::Plan &plan) {
  for (size_t i = 0; i < lengthOf(plan.states()); ++i)
    CLEAVE_TRY(checkState(plan, *plan.states()->Get(i)));
  return Status::ok();
}

} // namespace cleave::rt
