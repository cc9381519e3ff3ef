// Combined edits (CombinedMutations.cpp) of the order of instructions, and of several kinds of ranks.
#include "test/compiler/Planning/mutation/CombinedEdits.h"

namespace cleave::mutation {

namespace {

// Order

// Drops a wait, and moves the next instruction of its stream a few places later in issue order. If that is after the
// awaited work, all is well on one thread.
bool dropWaitAndReorder(Subject &subject) {
  Site site = subject.pick(Opcode::Wait);
  if (!site)
    return false;
  Instructions &list = site.program->instructions;
  size_t next = site.index + 1;
  while (next < list.size() && list[next]->stream != site->stream)
    ++next;
  if (next >= list.size())
    return false;
  size_t to = std::min(list.size() - 1, next + 1 + subject.dice.below(8));
  subject.tell(site, "dropped, and " + subject.text({site.program, next}) + " moved to " + std::to_string(to));
  auto moved = std::move(list[next]);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(next));
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(to), std::move(moved));
  erase(site);
  return true;
}

// Drops a wait, and makes another wait of its stream wait for its event.
bool mergeWaits(Subject &subject) {
  Site site = subject.pick(Opcode::Wait);
  if (!site)
    return false;
  std::vector<size_t> others;
  for (size_t i = 0; i < site.program->instructions.size(); ++i)
    if (const fb::InstructionT &other = *site.program->instructions[i];
        i != site.index && is(other, Opcode::Wait) && other.stream == site->stream)
      others.push_back(i);
  if (others.empty())
    return false;
  Site other{site.program, subject.dice.of(others)};
  subject.tell(site, "dropped, and " + subject.text(other) + " is for its event");
  other->fields = site->fields;
  erase(site);
  return true;
}

// An event of the program and its waits get the number of another event. That one is now recorded twice, or its records
// are dropped.
bool mergeEvents(Subject &subject) {
  Site a = subject.pick([](const fb::InstructionT &i) { return is(i, Opcode::Record); });
  if (!a)
    return false;
  std::vector<size_t> others;
  for (size_t i = 0; i < a.program->instructions.size(); ++i)
    if (i != a.index && is(*a.program->instructions[i], Opcode::Record) &&
        a.program->instructions[i]->fields != a->fields)
      others.push_back(i);
  if (others.empty())
    return false;
  Site b{a.program, subject.dice.of(others)};
  std::vector<int64_t> from = a->fields, to = b->fields;
  subject.tell(a, "one event with " + subject.text(b));
  bool keepsOther = subject.dice.coin();
  for (auto &instruction : a.program->instructions)
    if ((is(*instruction, Opcode::Record) || is(*instruction, Opcode::Wait)) && instruction->fields == from)
      instruction->fields = to;
  if (!keepsOther)
    erase(b);
  return true;
}

// In one program, a stream also does the work of another one, or the two exchange their instructions.
bool swapStreams(Subject &subject) {
  if (subject.plan.streams.size() < 2 || subject.plan.programs.empty())
    return false;
  auto a = static_cast<uint8_t>(subject.dice.below(subject.plan.streams.size()));
  auto b = static_cast<uint8_t>(subject.dice.below(subject.plan.streams.size()));
  fb::ProgramT &program = *subject.dice.of(subject.plan.programs);
  bool merges = subject.dice.coin();
  if (a == b)
    return false;
  subject.change = program.name + ": stream " + subject.plan.streams[a] +
                   (merges ? " is done by " : " exchanged with ") + subject.plan.streams[b];
  for (auto &instruction : program.instructions)
    if (instruction->stream == a)
      instruction->stream = b;
    else if (instruction->stream == b && !merges)
      instruction->stream = a;
  return true;
}

// Adds a copy of a value into other bytes, a few instructions before one of its readers, which then reads the copy.
bool copyAround(Subject &subject) {
  Site site = subject.pick([](const fb::InstructionT &i) {
    return std::any_of(i.buffers.begin(), i.buffers.end(),
                       [](const fb::Buffer &b) { return b.access() == fb::Access::read; });
  });
  if (!site)
    return false;
  std::vector<size_t> reads;
  for (size_t i = 0; i < site->buffers.size(); ++i)
    if (site->buffers[i].access() == fb::Access::read)
      reads.push_back(i);
  size_t number = subject.dice.of(reads);
  fb::Buffer source = site->buffers[number];
  std::vector<fb::Buffer> places;
  for (auto &instruction : site.program->instructions)
    for (const fb::Buffer &b : instruction->buffers)
      if (b.bytes() == source.bytes() && b.share_of() == 0 &&
          rt::fb::EnumNameRegionKind(subject.plan.regions[b.region()]->kind) &&
          subject.plan.regions[b.region()]->kind != fb::RegionKind::input &&
          (b.region() != source.region() || b.offset() != source.offset()))
        places.push_back(b);
  if (places.empty())
    return false;
  fb::Buffer place = subject.dice.of(places);
  fb::Buffer target(place.offset(), source.bytes(), place.region(), fb::Access::write, 0, place.frame(), 0);
  size_t at = site.index - std::min<size_t>(site.index, subject.dice.below(6));
  subject.tell(site, "buffer " + std::to_string(number) + " is copied first, to region " +
                         std::to_string(place.region()) + " at " + std::to_string(place.offset()) + ", and read there");
  site->buffers[number] =
      fb::Buffer(target.offset(), target.bytes(), target.region(), fb::Access::read, 0, target.frame(), 0);
  fb::InstructionT copy;
  copy.op = static_cast<uint16_t>(Opcode::Copy);
  copy.stream = site->stream;
  copy.buffers = {target, source};
  insert(*site.program, at, copy);
  return true;
}

// Drops a fill of zeros, and declares the state to begin with zeros.
bool dropFillOfZeros(Subject &subject) {
  Site site = subject.pick(Opcode::Fill);
  if (!site)
    return false;
  Range range = rangeOf(site->buffers[0]);
  subject.tell(site, "dropped, and what it fills begins as zeros");
  redeclare(subject, range, [](fb::StateT &s) {
    for (auto &segment : s.segments)
      segment->init = fb::InitKind::zeros;
  });
  erase(site);
  return true;
}

// Kinds of ranks, frames and calls

// All transfers of one channel use another channel, on all kinds of ranks.
bool mergeChannels(Subject &subject) {
  Site site = subject.pick([](const fb::InstructionT &i) { return rt::isTransfer(static_cast<Opcode>(i.op)); });
  if (!site)
    return false;
  int64_t from = *fieldOf(*site, "channel"), to = static_cast<int64_t>(subject.dice.below(4));
  int64_t axis = *fieldOf(*site, "axis");
  if (from == to)
    return false;
  subject.change = "channel " + std::to_string(from) + " of axis " + std::to_string(axis) + " -> " +
                   std::to_string(to) + " on all ranks";
  for (fb::PlanT *kind : kindsOf(subject.root))
    for (auto &program : kind->programs)
      for (auto &instruction : program->instructions)
        if (rt::isTransfer(static_cast<Opcode>(instruction->op)) && *fieldOf(*instruction, "channel") == from &&
            *fieldOf(*instruction, "axis") == axis)
          *fieldOf(*instruction, "channel") = to;
  return true;
}

// Drops a send, and a receive of as many bytes on a channel with the same number, in any kind of ranks.
bool dropPair(Subject &subject) {
  Site site = subject.pick(Opcode::Send);
  if (!site)
    return false;
  int64_t channel = *fieldOf(*site, "channel");
  std::vector<Site> recvs;
  for (fb::PlanT *kind : kindsOf(subject.root))
    for (auto &program : kind->programs)
      for (size_t i = 0; i < program->instructions.size(); ++i)
        if (fb::InstructionT &other = *program->instructions[i]; is(other, Opcode::Recv) &&
                                                                 *fieldOf(other, "channel") == channel &&
                                                                 other.buffers[0].bytes() == site->buffers[0].bytes())
          recvs.push_back({program.get(), i});
  if (recvs.empty())
    return false;
  Site recv = subject.dice.of(recvs);
  subject.tell(site, "dropped with a recv of as many bytes in " + recv.program->name);
  fb::InstructionT *own = &*site;
  erase(recv);
  for (size_t i = 0; i < site.program->instructions.size(); ++i)
    if (site.program->instructions[i].get() == own) {
      erase({site.program, i});
      break;
    }
  return true;
}

// One call less of the bodies that are called for each micro-batch, with or without one micro-batch less in the header.
bool fewerMicroBatches(Subject &subject) {
  if (subject.root.micro_batches < 2)
    return false;
  bool header = subject.dice.coin();
  subject.change = std::string("calls of all micro-batches one time less") + (header ? ", as the header says" : "");
  int64_t before = subject.root.micro_batches;
  for (fb::PlanT *kind : kindsOf(subject.root)) {
    kind->micro_batches -= header;
    for (auto &program : kind->programs)
      for (auto &instruction : program->instructions)
        if (is(*instruction, Opcode::Call) && *fieldOf(*instruction, "times") + 2 >= before &&
            *fieldOf(*instruction, "times") > 1)
          --*fieldOf(*instruction, "times");
  }
  return true;
}

// Fewer frames of a region and of the events that follow its counter.
bool fewerFrames(Subject &subject) {
  std::vector<fb::RegionT *> found;
  for (auto &region : subject.plan.regions)
    if (region->frames > 1)
      found.push_back(region.get());
  if (found.empty())
    return false;
  fb::RegionT &region = *subject.dice.of(found);
  subject.change = "region '" + region.name + "': one frame less, as the events of its counter";
  --region.frames;
  for (fb::Event &event : subject.plan.events)
    if (event.counter() == region.counter && event.frames() > 1)
      event = {event.frames() - 1, event.counter()};
  return true;
}

// Two launches of a program exchange their kernels, or all they have. Their buffers have the same sizes and accesses.
bool swapLaunches(Subject &subject) {
  Site site = subject.pick(Opcode::Launch);
  if (!site)
    return false;
  Instructions &list = site.program->instructions;
  std::vector<size_t> others;
  for (size_t i = 0; i < list.size(); ++i)
    if (i != site.index && is(*list[i], Opcode::Launch) && list[i]->buffers.size() == site->buffers.size()) {
      bool fits = true;
      for (size_t b = 0; b < site->buffers.size(); ++b)
        fits = fits && list[i]->buffers[b].bytes() == site->buffers[b].bytes() &&
               list[i]->buffers[b].access() == site->buffers[b].access();
      if (fits)
        others.push_back(i);
    }
  if (others.empty())
    return false;
  Site other{site.program, subject.dice.of(others)};
  bool withBuffers = subject.dice.coin();
  subject.tell(site, std::string(withBuffers ? "kernel, buffers and note" : "kernel") + " exchanged with " +
                         subject.text(other));
  std::swap(site->fields, other->fields);
  if (withBuffers) {
    std::swap(site->buffers, other->buffers);
    std::swap(site->note, other->note);
  }
  return true;
}

// Moves a port to the end of its region, in one program only, with its users in this program or without them.
bool movePortWithUsers(Subject &subject) {
  std::vector<std::tuple<fb::ProgramT *, fb::PortT *>> found;
  for (auto &program : subject.plan.programs)
    for (auto *ports : {&program->inputs, &program->outputs})
      for (auto &port : *ports)
        if (!port->absent)
          found.emplace_back(program.get(), port.get());
  if (found.empty())
    return false;
  auto [program, port] = subject.dice.of(found);
  uint64_t bytes = rt::dtypeSize(port->dtype);
  for (int64_t size : port->shape)
    bytes *= static_cast<uint64_t>(size);
  fb::RegionT &region = *subject.plan.regions[port->region];
  uint64_t to = (region.bytes + 127) / 128 * 128;
  bool withUsers = subject.dice.coin();
  region.bytes = to + bytes;
  subject.change = program->name + ": port '" + port->name + "' moved to " + std::to_string(to) +
                   (withUsers ? " with its users" : " after a copy");
  Range range{port->region, port->offset, port->offset + bytes};
  if (withUsers) {
    bool first = true; // if there are several, the first one is sometimes forgotten
    for (auto &instruction : program->instructions)
      for (fb::Buffer &b : instruction->buffers)
        if (range.holds(b.region(), b.offset(), b.offset() + b.bytes())) {
          if (!first || subject.dice.coin())
            setOffset(b, to + b.offset() - range.begin);
          first = false;
        }
  }
  port->offset = to;
  return true;
}

} // namespace

std::vector<MutationKind> combinedOrderKinds() {
  return {{"together: wait dropped, work later", dropWaitAndReorder},
          {"together: waits merged", mergeWaits},
          {"together: events merged", mergeEvents},
          {"together: streams exchanged", swapStreams},
          {"together: a copy around", copyAround},
          {"together: fill dropped, begins as zeros", dropFillOfZeros},
          {"together: channels merged", mergeChannels},
          {"together: send and recv dropped", dropPair},
          {"together: fewer micro-batches", fewerMicroBatches},
          {"together: fewer frames", fewerFrames},
          {"together: launches exchanged", swapLaunches},
          {"together: port moved with users", movePortWithUsers}};
}

} // namespace cleave::mutation
