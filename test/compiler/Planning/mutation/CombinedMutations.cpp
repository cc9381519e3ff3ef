// Combined edits. Each one alone contradicts something else in the plan, but together they look consistent. For
// example: a collective goes, and the state that it made whole is declared split; a group and the count change
// together; a value moves, with all uses in one program, and another program is forgotten.
//
// Some are harmless, for example a buffer that moves with all its users. The oracle decides this.
#include "test/compiler/Planning/mutation/CombinedEdits.h"

#include <set>

namespace cleave::mutation {

namespace {

// Collectives

bool dropReductionOfPartial(Subject &subject) {
  Site site = subject.pick([](const fb::InstructionT &i) {
    return is(i, Opcode::AllReduce) || is(i, Opcode::ReduceScatter) || is(i, Opcode::Reduce);
  });
  if (!site)
    return false;
  auto group = static_cast<size_t>(*fieldOf(*site, "group"));
  Range range = rangeOf(site->buffers[0]);
  subject.tell(site, "dropped, and what it reduces is declared an unreduced sum");
  redeclare(subject, range, [&](fb::StateT &s) { addAxes(s.partial_axes, subject.plan.groups[group]->axes); });
  erase(site);
  return true;
}

bool dropGatherOfSplit(Subject &subject) {
  Site site =
      subject.pick([](const fb::InstructionT &i) { return is(i, Opcode::AllGather) || is(i, Opcode::Broadcast); });
  if (!site)
    return false;
  auto group = static_cast<size_t>(*fieldOf(*site, "group"));
  Range range = rangeOf(site->buffers[0]);
  bool keepsBytes = subject.dice.coin();
  subject.tell(site, "dropped, and what it makes whole is declared split");
  redeclare(subject, range, [&](fb::StateT &s) {
    const std::vector<uint32_t> &axes = subject.plan.groups[group]->axes;
    addAxes(s.split_axes, axes);
    s.elements *= keepsBytes ? sizeOf(subject.plan, axes) : 1;
  });
  erase(site);
  return true;
}

// Drops a reduction, and declares that no state is partial. States with its result have only this rank's term of the
// sum.
bool dropReductionOfWhole(Subject &subject) {
  Site site =
      subject.pick([](const fb::InstructionT &i) { return is(i, Opcode::ReduceScatter) || is(i, Opcode::AllReduce); });
  if (!site)
    return false;
  subject.tell(site, "dropped, and no state is an unreduced sum any more");
  for (fb::PlanT *kind : kindsOf(subject.root))
    for (auto &state : kind->states)
      state->partial_axes.clear();
  erase(site);
  return true;
}

// Another group, with the count and the bytes that match its size.
bool changeGroupAndCount(Subject &subject) {
  Site site = subject.pick([](const fb::InstructionT &i) { return isCollective(i); });
  if (!site || subject.plan.groups.size() < 2)
    return false;
  int64_t &group = *fieldOf(*site, "group"), &count = *fieldOf(*site, "count");
  auto other = static_cast<int64_t>(subject.dice.below(subject.plan.groups.size()));
  if (other == group)
    return false;
  uint64_t before = sizeOf(subject.plan, subject.plan.groups[static_cast<size_t>(group)]->axes);
  uint64_t after = sizeOf(subject.plan, subject.plan.groups[static_cast<size_t>(other)]->axes);
  subject.tell(site, "group " + std::to_string(group) + " -> " + std::to_string(other) + ", with its count");
  group = other;
  if (before == 0 || after == 0)
    return true;
  count = count * static_cast<int64_t>(after) / static_cast<int64_t>(before);
  for (fb::Buffer &b : site->buffers)
    setBytes(b, b.bytes() * after / before);
  return true;
}

// Changes the collective's group, and the group of each share of the same bytes in the program.
bool changeGroupAndShares(Subject &subject) {
  Site site = subject.pick([](const fb::InstructionT &i) { return isCollective(i); });
  if (!site || subject.plan.groups.size() < 2)
    return false;
  auto other = subject.dice.below(subject.plan.groups.size());
  Range range = rangeOf(site->buffers[0]);
  subject.tell(site, "group " + std::to_string(other) + ", as the shares of its bytes");
  *fieldOf(*site, "group") = static_cast<int64_t>(other);
  for (auto &instruction : site.program->instructions)
    for (fb::Buffer &b : instruction->buffers)
      if (b.share_of() != 0 && range.meets(b.region(), b.offset(), b.offset() + b.bytes()))
        b = fb::Buffer(b.offset(), b.bytes(), b.region(), b.access(), static_cast<uint16_t>(other + 1), b.frame(),
                       b.stride());
  return true;
}

// Replaces one collective by two halves: on the same bytes as before, or the second one on the bytes of the first one,
// or with another reduction or root.
bool splitCollective(Subject &subject) {
  Site site = subject.pick([](const fb::InstructionT &i) {
    return isCollective(i) && (is(i, Opcode::AllReduce) || is(i, Opcode::Broadcast) || is(i, Opcode::Reduce));
  });
  if (!site || *fieldOf(*site, "count") % 2 != 0)
    return false;
  fb::InstructionT half = *site;
  *fieldOf(half, "count") /= 2;
  for (fb::Buffer &b : half.buffers)
    setBytes(b, b.bytes() / 2);
  fb::InstructionT second = half;
  uint64_t how = subject.dice.below(3);
  const char *what[] = {"", ", the second on the first one's bytes", ", the second by another reduction or root"};
  subject.tell(site, std::string("cut in two") + what[how]);
  if (how != 1)
    setOffset(second.buffers[0], second.buffers[0].offset() + second.buffers[0].bytes());
  if (how == 2)
    for (const char *name : {"reduction", "root"})
      if (int64_t *field = fieldOf(second, name))
        *field = *field == 0 ? 1 : 0;
  *site = half;
  insert(*site.program, site.index + 1, second);
  return true;
}

// Replaces a collective by a copy of as many bytes from another region, or by a fill with zeros.
bool replaceCollective(Subject &subject) {
  Site site = subject.pick([](const fb::InstructionT &i) { return isCollective(i); });
  if (!site)
    return false;
  fb::Buffer data = site->buffers[0];
  fb::InstructionT by;
  by.stream = site->stream;
  std::vector<fb::Buffer> sources; // with as many bytes, at another place
  for (auto &instruction : site.program->instructions)
    for (const fb::Buffer &b : instruction->buffers)
      if (b.bytes() == data.bytes() && b.region() != data.region())
        sources.push_back(b);
  bool copies = !sources.empty() && subject.dice.coin();
  by.op = static_cast<uint16_t>(copies ? Opcode::Copy : Opcode::Fill);
  by.buffers = {fb::Buffer(data.offset(), data.bytes(), data.region(), fb::Access::write, data.share_of(), data.frame(),
                           data.stride())};
  if (copies) {
    fb::Buffer source = subject.dice.of(sources);
    by.buffers.emplace_back(source.offset(), source.bytes(), source.region(), fb::Access::read, source.share_of(),
                            source.frame(), source.stride());
  } else {
    by.fields = {0, 4};
  }
  subject.tell(site, copies ? "a copy of as many bytes in its place" : "zeros in its place");
  *site = by;
  return true;
}

// Changes the types of all collectives on a state's bytes, and of the state.
bool changeTypeOfAll(Subject &subject) {
  Site site = subject.pick([](const fb::InstructionT &i) {
    const int index = rt::fieldIndex(static_cast<Opcode>(i.op), "dtype");
    return index >= 0 && i.fields[static_cast<size_t>(index)] == static_cast<int64_t>(fb::DType::f32);
  });
  if (!site)
    return false;
  Range range = rangeOf(site->buffers[0]);
  subject.tell(site, "f32 -> i32, as all collectives and states of these bytes");
  for (auto &program : subject.plan.programs)
    for (auto &instruction : program->instructions)
      if (int64_t *type = fieldOf(*instruction, "dtype"))
        for (const fb::Buffer &b : instruction->buffers)
          if (range.meets(b.region(), b.offset(), b.offset() + b.bytes()))
            *type = static_cast<int64_t>(fb::DType::i32);
  redeclare(subject, range, [](fb::StateT &s) { s.dtype = s.dtype == fb::DType::f32 ? fb::DType::i32 : s.dtype; });
  return true;
}

// Addresses

// Exchanges the values at two places with the same number of bytes: in one program or in all, with or without the
// states.
bool swapPlaces(Subject &subject, bool everywhere, bool withStates) {
  Site site = subject.pick([](const fb::InstructionT &i) { return !i.buffers.empty(); });
  if (!site)
    return false;
  fb::Buffer a = subject.dice.of(site->buffers);
  std::vector<fb::Buffer> others;
  for (auto &instruction : site.program->instructions)
    for (const fb::Buffer &b : instruction->buffers)
      if (b.bytes() == a.bytes() && b.region() == a.region() && b.share_of() == a.share_of() &&
          (b.offset() + b.bytes() <= a.offset() || a.offset() + a.bytes() <= b.offset()))
        others.push_back(b);
  if (others.empty())
    return false;
  fb::Buffer b = subject.dice.of(others);
  Range first = rangeOf(a), second = rangeOf(b);
  if (first.end > second.begin && second.end > first.begin)
    return false;
  auto exchanged = [&](uint16_t region, uint64_t offset, uint64_t bytes) {
    if (first.holds(region, offset, offset + bytes))
      return offset - first.begin + second.begin;
    return second.holds(region, offset, offset + bytes) ? offset - second.begin + first.begin : offset;
  };
  subject.tell(site, "bytes from " + std::to_string(first.begin) + " and from " + std::to_string(second.begin) +
                         " of region " + std::to_string(first.region) + " exchanged" +
                         (everywhere ? " in all programs" : " in this program") + (withStates ? ", with states" : ""));
  for (fb::ProgramT *program : programsOf(subject, everywhere ? nullptr : site.program))
    for (auto &instruction : program->instructions)
      for (fb::Buffer &buffer : instruction->buffers)
        setOffset(buffer, exchanged(buffer.region(), buffer.offset(), buffer.bytes()));
  if (withStates)
    for (auto &state : subject.plan.states) {
      Range own = rangeOf(subject.plan, *state);
      state->offset = exchanged(own.region, own.begin, own.end - own.begin);
    }
  return true;
}

// Moves a state to the end of its region, which grows, with its users: those of one program, of all but one, or of all.
bool moveStateWithUsers(Subject &subject) {
  if (subject.plan.states.empty() || subject.plan.programs.empty())
    return false;
  fb::StateT &state = *subject.dice.of(subject.plan.states);
  Range range = rangeOf(subject.plan, state);
  if (range.region >= subject.plan.regions.size() || range.begin == range.end)
    return false;
  fb::RegionT &region = *subject.plan.regions[range.region];
  uint64_t to = (region.bytes + 127) / 128 * 128;
  region.bytes = to + (range.end - range.begin);
  uint64_t how = subject.dice.below(3);
  fb::ProgramT *one = subject.dice.of(subject.plan.programs).get();
  const char *what[] = {"all programs", "no program but ", "all programs but "};
  subject.change = "state '" + state.name + "': moved to " + std::to_string(to) + " with the buffers of " + what[how] +
                   (how ? one->name : "");
  for (auto &program : subject.plan.programs)
    if (how == 0 || (program.get() == one) == (how == 1))
      for (auto &instruction : program->instructions)
        for (fb::Buffer &b : instruction->buffers)
          if (range.holds(b.region(), b.offset(), b.offset() + b.bytes()))
            setOffset(b, to + b.offset() - range.begin);
  state.offset = to;
  return true;
}

// Exchanges the offsets of two segments of a state, and often their names and sources. They have the same shape, so all
// sizes stay.
bool swapSegments(Subject &subject) {
  std::vector<std::tuple<std::string, size_t, size_t>> pairs;
  for (auto &state : subject.plan.states)
    for (size_t a = 0; a < state->segments.size(); ++a)
      for (size_t b = a + 1; b < state->segments.size(); ++b)
        if (state->segments[a]->shape == state->segments[b]->shape)
          pairs.emplace_back(state->name, a, b);
  if (pairs.empty())
    return false;
  auto [name, a, b] = subject.dice.of(pairs);
  bool withSource = subject.dice.coin(), inAll = subject.dice.coin();
  subject.change = "segments " + std::to_string(a) + " and " + std::to_string(b) + " of state '" + name +
                   "' exchange offsets" + (withSource ? ", names and sources" : "") +
                   (inAll ? ", and of the states with the same segments" : "");
  std::set<std::string> names = {name};
  if (inAll) // also those of the optimizer and the gradient of the same bucket
    for (auto &state : subject.plan.states)
      for (fb::StateT *same : subject.statesNamed(name))
        if (state->segments.size() == same->segments.size())
          names.insert(state->name);
  for (const std::string &each : names)
    for (fb::StateT *state : subject.statesNamed(each)) {
      if (state->segments.size() <= b)
        continue;
      fb::SegmentT &first = *state->segments[a], &second = *state->segments[b];
      std::swap(first.offset, second.offset);
      if (withSource) {
        std::swap(first.name, second.name);
        std::swap(first.source, second.source);
      }
    }
  return true;
}

// Two states of the same layout exchange their roles, slots, partial axes and segments, and often their names.
bool swapDeclarations(Subject &subject) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (auto &a : subject.plan.states)
    for (auto &b : subject.plan.states)
      if (a != b && a->elements == b->elements && a->dtype == b->dtype && a->split_axes == b->split_axes)
        pairs.emplace_back(a->name, b->name);
  if (pairs.empty())
    return false;
  auto [first, second] = subject.dice.of(pairs);
  bool withNames = subject.dice.coin();
  subject.change = "states '" + first + "' and '" + second + "' exchange roles, slots and segments" +
                   (withNames ? ", and names" : "");
  for (fb::PlanT *kind : kindsOf(subject.root)) {
    fb::StateT *a = nullptr, *b = nullptr;
    for (auto &state : kind->states) {
      a = state->name == first ? state.get() : a;
      b = state->name == second ? state.get() : b;
    }
    if (!a || !b)
      continue;
    std::swap(a->role, b->role);
    std::swap(a->slot, b->slot);
    std::swap(a->partial_axes, b->partial_axes);
    std::swap(a->segments, b->segments);
    if (withNames)
      std::swap(a->name, b->name);
  }
  return true;
}

} // namespace

std::vector<MutationKind> combinedKinds() {
  auto places = [](bool everywhere, bool withStates) {
    return [=](Subject &s) { return swapPlaces(s, everywhere, withStates); };
  };
  std::vector<MutationKind> kinds = {{"together: reduction dropped, state partial", dropReductionOfPartial},
                                     {"together: reduction dropped, states whole", dropReductionOfWhole},
                                     {"together: gather dropped, state split", dropGatherOfSplit},
                                     {"together: group and count", changeGroupAndCount},
                                     {"together: group and shares", changeGroupAndShares},
                                     {"together: collective cut in two", splitCollective},
                                     {"together: collective replaced", replaceCollective},
                                     {"together: dtype of state and collectives", changeTypeOfAll},
                                     {"together: places in a program", places(false, false)},
                                     {"together: places in all programs", places(true, false)},
                                     {"together: places and states", places(true, true)},
                                     {"together: places and states, one program", places(false, true)},
                                     {"together: state moved with users", moveStateWithUsers},
                                     {"together: segments exchanged", swapSegments},
                                     {"together: declarations exchanged", swapDeclarations}};
  for (MutationKind &kind : combinedOrderKinds())
    kinds.push_back(std::move(kind));
  return kinds;
}

} // namespace cleave::mutation
