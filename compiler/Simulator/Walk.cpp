#include "compiler/Simulator/Walk.h"

#include "runtime/plan/PlanReader.h"
#include "runtime/plan/RankKinds.h"

#include <algorithm>

namespace cleave::plan {

using namespace rt;

std::optional<uint32_t> programNamed(const fb::Plan &kind, std::string_view name) {
  for (uint32_t i = 0; i < lengthOf(kind.programs()); ++i)
    if (textOf(kind.programs()->Get(i)->name()) == name)
      return i;
  return std::nullopt;
}

std::optional<uint32_t> mainProgram(const fb::Plan &kind) {
  for (const char *name : {"train_step", "infer"})
    if (auto program = programNamed(kind, name))
      return program;
  for (uint32_t i = 0; i < lengthOf(kind.programs()); ++i)
    if (kind.programs()->Get(i)->entry())
      return i;
  return std::nullopt;
}

namespace {

class Walker {
public:
  Walker(const fb::Plan &kind, const Visit &visit) : kind_(kind), visit_(visit) {}

  bool run(uint32_t program, const Frames &frames) {
    const fb::Program &list = *kind_.programs()->Get(program);
    if (bodies_ == kMostInstructions) // also ends calls of bodies without instructions
      return false;
    size_t body = bodies_++;
    for (uint32_t i = 0; i < lengthOf(list.instructions()); ++i) {
      InstructionView view(*list.instructions()->Get(i));
      if (view.opcode() == Opcode::Call) {
        for (int64_t n = 0; n < view["times"]; ++n)
          if (!run(static_cast<uint32_t>(view["program"]),
                   frames.called(static_cast<fb::Counter>(view["counter"]), frameOfCall(view, n))))
            return false;
        continue;
      }
      if (count_ == kMostInstructions)
        return false;
      visit_({count_++, program, i, body, frames}, view);
    }
    return true;
  }

private:
  const fb::Plan &kind_;
  const Visit &visit_;
  size_t count_ = 0, bodies_ = 0;
};

} // namespace

bool walk(const fb::Plan &kind, uint32_t entry, const Visit &visit) { return Walker(kind, visit).run(entry, {}); }

// Appends programs to `order`, each after all programs that it calls. There are no cycles of calls (openPlan).
static void orderCalls(const fb::Plan &kind, uint32_t program, std::vector<bool> &seen, std::vector<uint32_t> &order) {
  if (seen[program])
    return;
  seen[program] = true;
  const fb::Program &list = *kind.programs()->Get(program);
  for (uint32_t i = 0; i < lengthOf(list.instructions()); ++i)
    if (InstructionView view(*list.instructions()->Get(i)); view.opcode() == Opcode::Call)
      orderCalls(kind, static_cast<uint32_t>(view["program"]), seen, order);
  order.push_back(program);
}

std::vector<uint64_t> runsOf(const fb::Plan &kind, uint32_t entry) {
  std::vector<uint64_t> runs(lengthOf(kind.programs()));
  std::vector<bool> seen(runs.size());
  std::vector<uint32_t> order;
  orderCalls(kind, entry, seen, order);
  runs[entry] = 1;
  for (auto program = order.rbegin(); program != order.rend(); ++program) {
    const fb::Program &list = *kind.programs()->Get(*program);
    for (uint32_t i = 0; i < lengthOf(list.instructions()); ++i)
      if (InstructionView view(*list.instructions()->Get(i)); view.opcode() == Opcode::Call)
        runs[static_cast<size_t>(view["program"])] += runs[*program] * static_cast<uint64_t>(view["times"]);
  }
  return runs;
}

uint64_t instructionsOf(const fb::Plan &kind, uint32_t entry) {
  uint64_t count = 0;
  std::vector<uint64_t> runs = runsOf(kind, entry);
  for (uint32_t program = 0; program < runs.size(); ++program) {
    const fb::Program &list = *kind.programs()->Get(program);
    for (uint32_t i = 0; i < lengthOf(list.instructions()); ++i)
      if (InstructionView(*list.instructions()->Get(i)).opcode() != Opcode::Call)
        count += runs[program];
  }
  return count;
}

// The index of the kind's first rank among the group's members, which are in the order of their coordinates.
static uint64_t indexOfFirst(const fb::Plan &kind, const fb::Group &group) {
  uint64_t index = 0;
  for (uint32_t i = 0; i < lengthOf(group.axes()); ++i) {
    uint32_t axis = group.axes()->Get(i), coordinate = rangeOf(kind, axis).begin;
    uint64_t size = kind.axes()->Get(axis)->size(), place = coordinate;
    if (const fb::AxisPlaces *places = placesOn(group, axis)) {
      size = lengthOf(places->coordinates());
      auto found = std::find(places->coordinates()->begin(), places->coordinates()->end(), coordinate);
      place = static_cast<uint64_t>(found - places->coordinates()->begin());
    }
    index = index * size + place;
  }
  return index;
}

Addresses::Addresses(const fb::Plan &kind) : kind_(kind) {
  for (uint32_t i = 0; i < lengthOf(kind.groups()); ++i)
    indices_.push_back(indexOfFirst(kind, *kind.groups()->Get(i)));
}

Addresses::Range Addresses::of(const fb::Buffer &buffer, const Frames &frames) const {
  const fb::Region &region = *kind_.regions()->Get(buffer.region());
  uint64_t begin = placeOf(region, buffer, frames) * region.bytes() + buffer.offset();
  if (buffer.share_of() != 0)
    begin += indices_[buffer.share_of() - 1u] * buffer.stride();
  return {buffer.region(), begin, begin + buffer.bytes()};
}

} // namespace cleave::plan
