#include "test/compiler/Planning/mutation/World.h"

#include <algorithm>
#include <set>

namespace cleave::mutation {

using rt::InstructionView;
using rt::lengthOf;
using rt::Opcode;

static constexpr uint64_t kMaxSteps = 1u << 20;

namespace {

class Expander {
public:
  Expander(const fb::Plan &plan, Expansion &result) : plan_(plan), result_(result), uses_(plan.programs()->size()) {}

  void run(uint32_t program, uint64_t frame) {
    const fb::Program &body = *plan_.programs()->Get(program);
    uint32_t firstEvent = result_.events;
    result_.events += body.events();
    for (uint32_t i = 0; i < lengthOf(body.instructions()) && !result_.isTooLong; ++i) {
      const fb::Instruction &instruction = *body.instructions()->Get(i);
      InstructionView view(instruction);
      if (view.opcode() == Opcode::Call) {
        call(view);
        continue;
      }
      Step step{Step::Act, view.stream(), 0, &instruction, program, i, frame};
      if (view.opcode() == Opcode::Record || view.opcode() == Opcode::Wait) {
        step.kind = view.opcode() == Opcode::Record ? Step::Record : Step::Wait;
        step.event = firstEvent + static_cast<uint32_t>(view["event"]);
      }
      add(step);
    }
  }

private:
  void call(const InstructionView &view) {
    auto callee = static_cast<uint32_t>(view["program"]);
    unsigned caller = view.stream();
    for (int64_t i = 0; i < view["times"] && !result_.isTooLong; ++i) {
      uint32_t start = result_.events++;
      add({Step::Record, caller, start});
      for (unsigned stream : streamsOf(callee))
        if (stream != caller)
          add({Step::Wait, stream, start});
      run(callee, static_cast<uint64_t>(view["first_frame"] + i));
      for (unsigned stream : streamsOf(callee))
        if (stream != caller) {
          uint32_t end = result_.events++;
          add({Step::Record, stream, end});
          add({Step::Wait, caller, end});
        }
    }
  }

  // Those that have work in a program, callees included.
  const std::set<unsigned> &streamsOf(uint32_t program) {
    std::set<unsigned> &streams = uses_[program];
    const auto *instructions = plan_.programs()->Get(program)->instructions();
    if (!streams.empty())
      return streams;
    for (uint32_t i = 0; i < lengthOf(instructions); ++i) {
      InstructionView view(*instructions->Get(i));
      streams.insert(view.stream());
      if (view.opcode() == Opcode::Call) {
        const std::set<unsigned> &inner = streamsOf(static_cast<uint32_t>(view["program"]));
        streams.insert(inner.begin(), inner.end());
      }
    }
    return streams;
  }

  void add(Step step) {
    step.number = steps_++;
    result_.isTooLong |= steps_ > kMaxSteps;
    result_.streams[step.stream].push_back(step);
  }

  const fb::Plan &plan_;
  Expansion &result_;
  std::vector<std::set<unsigned>> uses_;
  uint64_t steps_ = 0;
};

} // namespace

Expansion expand(const fb::Plan &kind, uint32_t program) {
  Expansion result;
  result.streams.resize(kind.streams()->size());
  Expander(kind, result).run(program, 0);
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

// Coordinates [begin, end) of a kind on an axis; null: all of it.
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
      members_[rank].push_back(membersOver(rank, ranks_[rank].kind->groups()->Get(g)->axes()));
}

Members World::membersOver(unsigned rank, const flatbuffers::Vector<uint32_t> *axes) const {
  Members result;
  unsigned size = 1;
  for (uint32_t i = 0; i < lengthOf(axes); ++i)
    size *= mesh_[axes->Get(i)];
  std::vector<unsigned> coordinates = ranks_[rank].coordinates;
  for (unsigned member = 0; member < size; ++member) {
    unsigned rest = member, number = 0; // the first axis slowest
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
  if (!step.instruction)
    return "a call's join on " + stream;
  InstructionView view(*step.instruction);
  return kind.programs()->Get(step.program)->name()->str() + "[" + std::to_string(step.index) + "] " +
         std::string(view.info().mnemonic) + " on " + stream +
         (view.note().empty() ? "" : " '" + std::string(view.note()) + "'");
}

} // namespace cleave::mutation
