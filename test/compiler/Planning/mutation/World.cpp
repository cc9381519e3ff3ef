#include "test/compiler/Planning/mutation/World.h"

#include <algorithm>
#include <set>

namespace cleave::mutation {

using rt::InstructionView;
using rt::lengthOf;
using rt::Opcode;

static constexpr uint64_t kMaxInstructions = 1u << 20;

namespace {

class Expander {
public:
  Expander(const fb::Plan &plan, Expansion &result) : plan_(plan), result_(result) {}

  void run(uint32_t program, const std::vector<int64_t> &frames) {
    const fb::Program &body = *plan_.programs()->Get(program);
    uint32_t firstEvent = result_.events;
    result_.events += body.events();
    for (uint32_t i = 0; i < lengthOf(body.instructions()) && !result_.isTooLong; ++i) {
      const fb::Instruction &instruction = *body.instructions()->Get(i);
      InstructionView view(instruction);
      if (view.opcode() == Opcode::Call) {
        call(view, frames);
        continue;
      }
      Step step{Step::Act, view.stream(), 0, &instruction, program, i, frames};
      if (view.opcode() == Opcode::Record || view.opcode() == Opcode::Wait) {
        step.kind = view.opcode() == Opcode::Record ? Step::Record : Step::Wait;
        bool isOwn = view["event"] < int64_t{body.events()};
        step.event = firstEvent + static_cast<uint32_t>(view["event"]);
        if (!isOwn && !findShared(view, view["event"] - int64_t{body.events()}, step))
          continue;
      }
      add(step);
    }
  }

private:
  void call(const InstructionView &view, std::vector<int64_t> frames) {
    frames[static_cast<size_t>(view["counter"])] += view["first_frame"];
    for (int64_t i = 0; i < view["times"] && !result_.isTooLong; ++i) {
      run(static_cast<uint32_t>(view["program"]), frames);
      frames[static_cast<size_t>(view["counter"])] += view["skip"] + 1;
    }
  }

  // Returns false if there is no record that the wait could wait for.
  bool findShared(const InstructionView &view, int64_t number, Step &step) {
    const fb::Event &event = *plan_.events()->Get(static_cast<uint32_t>(number));
    auto place = std::make_pair(number, placeOf(step.frames, event.counter(), view["frame"], event.frames()));
    auto [shared, isNew] = shared_.try_emplace(place, SharedEvent{result_.events, 0});
    result_.events += isNew;
    shared->second.records += step.kind == Step::Record;
    step.event = shared->second.event;
    step.records = shared->second.records;
    return step.records != 0;
  }

  void add(Step step) {
    step.number = steps_++;
    result_.isTooLong |= steps_ > kMaxInstructions;
    result_.streams[step.stream].push_back(step);
  }

  struct SharedEvent {
    uint32_t event, records;
  };

  const fb::Plan &plan_;
  Expansion &result_;
  std::map<std::pair<int64_t, uint64_t>, SharedEvent> shared_; // by the plan's event and the place
  uint64_t steps_ = 0;
};

} // namespace

uint64_t placeOf(const std::vector<int64_t> &frames, fb::Counter counter, int64_t by, uint64_t count) {
  int64_t frame = frames[static_cast<size_t>(counter)] + by, size = static_cast<int64_t>(count);
  return static_cast<uint64_t>(((frame % size) + size) % size);
}

Expansion expand(const fb::Plan &kind, uint32_t program) {
  Expansion result;
  result.streams.resize(kind.streams()->size());
  Expander(kind, result).run(program, std::vector<int64_t>(3, 0));
  return result;
}

Expansion onTwoThreads(const Expansion &expansion) {
  Expansion result = expansion;
  while (result.streams.size() > 2) {
    std::vector<Step> &joined = result.streams[1];
    joined.insert(joined.end(), result.streams.back().begin(), result.streams.back().end());
    result.streams.pop_back();
  }
  if (result.streams.size() == 2)
    std::sort(result.streams[1].begin(), result.streams[1].end(),
              [](const Step &a, const Step &b) { return a.number < b.number; });
  return result;
}

// The coordinates [begin, end) of a kind on an axis. Null: all of them.
static const fb::AxisRange *rangeOn(const fb::Plan &kind, uint32_t axis) {
  for (uint32_t i = 0; i < lengthOf(kind.where()); ++i)
    if (kind.where()->Get(i)->axis() == axis)
      return kind.where()->Get(i);
  return nullptr;
}

static bool isOfKind(const fb::Plan &kind, const std::vector<unsigned> &coordinates) {
  for (uint32_t axis = 0; axis < coordinates.size(); ++axis)
    if (const fb::AxisRange *range = rangeOn(kind, axis);
        range && (coordinates[axis] < range->begin() || coordinates[axis] >= range->end()))
      return false;
  return true;
}

World::World(const fb::Plan &plan) {
  kinds_.push_back(&plan);
  for (uint32_t i = 0; i < lengthOf(plan.kinds()); ++i)
    kinds_.push_back(plan.kinds()->Get(i));
  size_t kernels = 0;
  for (const fb::Plan *kind : kinds_) {
    firstKernels_.push_back(kernels);
    kernels += lengthOf(kind->kernels());
  }
  unsigned count = 1;
  for (uint32_t i = 0; i < lengthOf(plan.axes()); ++i) {
    mesh_.push_back(plan.axes()->Get(i)->size());
    count *= mesh_.back();
  }
  for (unsigned rank = 0; rank < count; ++rank) {
    std::vector<unsigned> coordinates(mesh_.size());
    unsigned rest = rank;
    for (size_t axis = mesh_.size(); axis-- > 0; rest /= mesh_[axis])
      coordinates[axis] = rest % mesh_[axis];
    for (unsigned kind = 0; kind < kinds_.size(); ++kind)
      if (isOfKind(*kinds_[kind], coordinates)) {
        ranks_.push_back({kinds_[kind], kind, coordinates});
        break;
      }
  }
  members_.resize(ranks_.size());
  for (unsigned rank = 0; rank < ranks_.size(); ++rank)
    for (uint32_t g = 0; g < lengthOf(ranks_[rank].kind->groups()); ++g)
      members_[rank].push_back(membersOf(rank, *ranks_[rank].kind->groups()->Get(g)));
}

// Of all members, those at the coordinates that the group names, in the same order.
Members World::membersOf(unsigned rank, const fb::Group &group) const {
  Members all = membersOver(rank, group.axes()), result;
  for (unsigned member : all.ranks) {
    bool isMember = true;
    for (uint32_t i = 0; i < lengthOf(group.only()); ++i) {
      const auto &places = *group.only()->Get(i)->coordinates();
      unsigned coordinate = ranks_[member].coordinates[group.only()->Get(i)->axis()];
      isMember = isMember && std::find(places.begin(), places.end(), coordinate) != places.end();
    }
    if (!isMember)
      continue;
    if (member == rank)
      result.index = static_cast<unsigned>(result.ranks.size());
    result.ranks.push_back(member);
  }
  return result;
}

unsigned World::peerOf(unsigned rank, unsigned axis, int64_t offset) const {
  for (unsigned other = 0; other < ranks_.size(); ++other) {
    std::vector<unsigned> theirs = ranks_[other].coordinates, mine = ranks_[rank].coordinates;
    int64_t size = mesh_[axis], distance = int64_t{theirs[axis]} - mine[axis] - offset;
    theirs[axis] = mine[axis] = 0;
    if (distance % size == 0 && theirs == mine)
      return other;
  }
  return rank;
}

Members World::membersOver(unsigned rank, const flatbuffers::Vector<uint32_t> *axes) const {
  Members result;
  unsigned size = 1;
  for (uint32_t i = 0; i < lengthOf(axes); ++i)
    size *= mesh_[axes->Get(i)];
  std::vector<unsigned> coordinates = ranks_[rank].coordinates;
  for (unsigned member = 0; member < size; ++member) {
    unsigned rest = member, number = 0; // the first axis is the slowest
    for (uint32_t i = lengthOf(axes); i-- > 0; rest /= mesh_[axes->Get(i)])
      coordinates[axes->Get(i)] = rest % mesh_[axes->Get(i)];
    for (size_t axis = 0; axis < mesh_.size(); ++axis)
      number = number * mesh_[axis] + coordinates[axis];
    if (number == rank)
      result.index = member;
    result.ranks.push_back(number);
  }
  return result;
}

std::vector<std::string> World::entries() const {
  std::set<std::string> names;
  for (const fb::Plan *kind : kinds_)
    for (uint32_t i = 0; i < lengthOf(kind->programs()); ++i)
      if (kind->programs()->Get(i)->entry())
        names.insert(kind->programs()->Get(i)->name()->str());
  return {names.begin(), names.end()};
}

std::string describe(const fb::Plan &kind, const Step &step) {
  std::string stream = kind.streams()->Get(step.stream)->str();
  InstructionView view(*step.instruction);
  return kind.programs()->Get(step.program)->name()->str() + "[" + std::to_string(step.index) + "] " +
         std::string(view.info().mnemonic) + " on " + stream +
         (view.note().empty() ? "" : " '" + std::string(view.note()) + "'");
}

} // namespace cleave::mutation
