#include "runtime/state/ElementValue.h"
#include "runtime/state/FloatConversion.h"
#include "runtime/state/NarrowedNumbers.h"
#include "runtime/state/RandomInit.h"
#include "runtime/state/WeightStore.h"

#include <algorithm>
#include <cstring>

namespace cleave::rt {
namespace {

void fill(ElementType type, double value, std::byte *target, uint64_t count) {
  size_t width = elementSize(type);
  std::byte element[8];
  storeElement(type, value, element);
  for (uint64_t i = 0; i < count; ++i)
    std::memcpy(target + i * width, element, width);
}

// Large weights are read in pieces. Otherwise the file would count as memory in addition to the state that it fills.
Status copyInPieces(const fb::State &state, const std::string &name, std::byte *target, const TensorView &from,
                    uint64_t first, uint64_t count, const WeightStore &weights) {
  ElementType to = elementType(state.dtype());
  size_t piece = kDropBytes / elementSize(from.type);
  for (uint64_t done = 0; done < count; done += piece) {
    uint64_t length = std::min<uint64_t>(piece, count - done);
    std::byte *part = target + done * elementSize(to);
    CLEAVE_TRY(readElements(from, first + done, length, to, part));
    NarrowedNumbers numbers{from.type, from.data + (first + done) * elementSize(from.type), to, part, first + done,
                            length};
    CLEAVE_TRY(checkNarrowed(numbers, name, state.role() == fb::Role::parameter));
    if (count > piece)
      weights.dropPages();
  }
  return Status::ok();
}

Status initializeSegment(const RankStates &rank, const StateView &view, const LogicalSegment &segment,
                         const Overlap &overlap, const WeightStore &weights, uint64_t seed) {
  ElementType type = elementType(view.state->dtype());
  size_t width = elementSize(type);
  std::byte *target = view.data + overlap.stored * width;
  const TensorView *tensor = weights.find(*view.state, segment);
  if (tensor && (!isConvertible(tensor->type, type) ||
                 tensor->bytes < (overlap.logical + overlap.count) * elementSize(tensor->type)))
    tensor = nullptr;
  if (tensor)
    return copyInPieces(*view.state, segment.name, target, *tensor, overlap.logical, overlap.count, weights);
  switch (segment.segment->init()) {
  case fb::InitKind::zeros:
    return Status::ok();
  case fb::InitKind::constant:
    fill(type, segment.segment->value(), target, overlap.count);
    return Status::ok();
  case fb::InitKind::coordinate: {
    unsigned axis = segment.segment->axis();
    if (axis >= rank.coordinates.size())
      return internal("state '" + segment.name + "' wants axis " + std::to_string(axis) + " of a mesh with " +
                      std::to_string(rank.coordinates.size()));
    fill(type, rank.coordinates[axis], target, overlap.count);
    return Status::ok();
  }
  case fb::InitKind::weights:
    if (auto draw = drawOf(*segment.segment)) {
      drawElements(*draw, seed, overlap.logical, overlap.count, type, target);
      return Status::ok();
    }
    return invalidArgument("no initial value for '" + segment.name + "'");
  }
  return internal("state '" + segment.name + "' has an unknown kind of initial value");
}

} // namespace

Status initializeStates(const RankStates &rank, const WeightStore &weights, uint64_t seed) {
  size_t readBytes = 0;
  for (const StateView &view : rank.states) {
    std::memset(view.data, 0, view.range.count * elementSize(elementType(view.state->dtype())));
    for (const LogicalSegment &segment : logicalSegments(*view.state)) {
      auto overlap = segment.segment ? intersect(segment, view.range) : std::nullopt;
      if (overlap)
        CLEAVE_TRY(initializeSegment(rank, view, segment, *overlap, weights, seed));
      readBytes += overlap ? overlap->count * elementSize(elementType(view.state->dtype())) : 0;
      if (readBytes >= kDropBytes) {
        weights.dropPages();
        readBytes = 0;
      }
    }
  }
  return Status::ok();
}

} // namespace cleave::rt
