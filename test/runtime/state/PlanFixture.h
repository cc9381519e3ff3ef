// Makes small plans by hand, which have the same tensors of the model in different layouts.
#ifndef CLEAVE_TEST_RUNTIME_STATE_PLANFIXTURE_H
#define CLEAVE_TEST_RUNTIME_STATE_PLANFIXTURE_H

#include "runtime/state/Layout.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace cleave::test {

using namespace rt;

// A plan over the axes dp and fsdp. Its states are a bucket {w[3,5], b[3]} with its Adam moment, and scalar.step. With
// fsdp > 1 the bucket and the moment are split over fsdp, and padded to a multiple of its size. The second tensor may
// have another name than "b".
class PlanFixture {
public:
  PlanFixture(unsigned dp, unsigned fsdp, bool splitParameters, const char *second = "b") : second_(second) {
    fb::PlanT plan;
    plan.axes.push_back(axis("dp", dp));
    plan.axes.push_back(axis("fsdp", fsdp));
    plan.states.push_back(bucket("params", fb::Role::parameter, "", splitParameters, fsdp));
    plan.states.push_back(bucket("exp_avg", fb::Role::optimizer, "exp_avg", true, fsdp));
    plan.states.push_back(bucket("grads", fb::Role::gradient, "grad", false, fsdp));
    auto step = std::make_unique<fb::StateT>();
    step->name = "scalar.step";
    step->role = fb::Role::scalar;
    step->dtype = fb::DType::i64;
    step->elements = 1;
    plan.states.push_back(std::move(step));
    plan.data_axes = {0, 1};
    builder_.Finish(fb::Plan::Pack(builder_, &plan), fb::PlanIdentifier());
  }

  const fb::Plan &plan() const { return *fb::GetPlan(builder_.GetBufferPointer()); }

  // The states of one rank, zeroed; `storage` owns them.
  RankStates rankStates(unsigned rank, std::vector<std::vector<std::byte>> &storage) const {
    RankStates result;
    result.coordinates = rt::meshCoordinates(rt::meshOf(plan()), rank);
    for (const fb::State *state : *plan().states()) {
      Rank::Range range = storedRange(plan(), *state, result.coordinates);
      storage.emplace_back(range.count * elementSize(elementType(state->dtype())));
      result.states.push_back({state, range, storage.back().data()});
    }
    return result;
  }

  // The value of element i of a tensor of the model in these tests. All values are different.
  static float value(const std::string &name, const std::string &slot, uint64_t i) {
    return static_cast<float>((name == "w" ? 100 : 200) + (slot.empty() ? 0 : 1000) + i) + 0.25f;
  }

  template <typename Visit> static void forEachElement(const RankStates &rank, Visit visit) {
    for (const StateView &view : rank.states) {
      if (view.state->dtype() != fb::DType::f32 || view.state->role() == fb::Role::gradient)
        continue;
      std::string slot = view.state->role() == fb::Role::optimizer ? "exp_avg" : "";
      for (const LogicalSegment &segment : logicalSegments(*view.state))
        if (auto overlap = intersect(segment, view.range))
          for (uint64_t i = 0; i < overlap->count; ++i)
            visit(reinterpret_cast<float *>(view.data)[overlap->stored + i],
                  value(segment.name, slot, overlap->logical + i));
    }
  }

private:
  static std::unique_ptr<fb::AxisT> axis(const char *name, unsigned size) {
    auto result = std::make_unique<fb::AxisT>();
    result->name = name;
    result->size = size;
    return result;
  }

  static std::unique_ptr<fb::SegmentT> segment(const char *name, std::vector<int64_t> shape, uint64_t offset) {
    auto result = std::make_unique<fb::SegmentT>();
    result->name = name;
    result->shape = std::move(shape);
    result->offset = offset;
    result->init = fb::InitKind::weights;
    return result;
  }

  std::unique_ptr<fb::StateT> bucket(const char *name, fb::Role role, const char *slot, bool split,
                                     unsigned fsdp) const {
    auto state = std::make_unique<fb::StateT>();
    state->name = name;
    state->role = role;
    state->slot = slot;
    state->dtype = fb::DType::f32;
    // w at 0 (15 elements, aligned to 16), b at 16 (3).
    state->elements = (19 + fsdp - 1) / fsdp * fsdp;
    if (split && fsdp > 1)
      state->split_axes = {1};
    state->segments.push_back(segment("w", {3, 5}, 0));
    state->segments.push_back(segment(second_, {3}, 16));
    return state;
  }

  const char *second_;
  flatbuffers::FlatBufferBuilder builder_;
};

} // namespace cleave::test

#endif
