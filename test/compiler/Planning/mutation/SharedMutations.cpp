// Mutations of what programs, ranks and kinds of ranks share: outputs and other bytes of the host, values that all ranks
// have, events of the plan, the numbers of calls, and the axes of a state. Alone, the numbers of a plan find most of
// them. A forger states new numbers (MeaningMutations.cpp).
#include "test/compiler/Planning/mutation/CombinedEdits.h"

namespace cleave::mutation {

namespace {

struct Place {
  uint16_t region;
  uint64_t offset;
};

uint64_t bytesOf(const fb::PortT &port) {
  uint64_t bytes = rt::dtypeSize(port.dtype);
  for (int64_t size : port.shape)
    bytes *= static_cast<uint64_t>(size);
  return bytes;
}

// The outputs of entry programs of this kind of ranks, with their programs.
std::vector<std::pair<fb::ProgramT *, fb::PortT *>> outputsOf(fb::PlanT &plan) {
  std::vector<std::pair<fb::ProgramT *, fb::PortT *>> found;
  for (auto &program : plan.programs)
    for (auto &port : program->outputs)
      if (!port->absent)
        found.emplace_back(program.get(), port.get());
  return found;
}

std::string nameOf(const fb::ProgramT &program, const fb::PortT &port) {
  return "output '" + port.name + "' of " + program.name;
}

void makeRoom(fb::PlanT &plan, const Place &place, uint64_t bytes) {
  uint64_t &room = plan.regions[place.region]->bytes;
  room = std::max(room, place.offset + bytes);
}

// Moves a program's output, with its users or without them, onto bytes of the host that another program must leave as
// they are.
bool moveOutputOntoAnothers(Subject &subject) {
  auto outputs = outputsOf(subject.plan);
  if (outputs.empty())
    return false;
  auto [program, port] = subject.dice.of(outputs);
  std::vector<Place> places;
  for (auto &other : subject.plan.programs)
    for (auto *ports : {&other->inputs, &other->outputs})
      for (auto &theirs : *ports)
        if (!theirs->absent && other.get() != program)
          places.push_back({theirs->region, theirs->offset});
  for (size_t r = 0; r < subject.plan.regions.size(); ++r)
    if (subject.plan.regions[r]->kind == fb::RegionKind::snapshot)
      places.push_back({static_cast<uint16_t>(r), 0});
  if (places.empty())
    return false;
  Place to = subject.dice.of(places);
  Range before{port->region, port->offset, port->offset + bytesOf(*port)};
  bool withUsers = subject.dice.below(4) != 0;
  subject.change = nameOf(*program, *port) + " moved to region " + std::to_string(to.region) + " at " +
                   std::to_string(to.offset) + ", where another program has a port" + (withUsers ? ", with users" : "");
  makeRoom(subject.plan, to, bytesOf(*port));
  port->region = to.region;
  port->offset = to.offset;
  for (auto &each : subject.plan.programs)
    for (auto &instruction : each->instructions)
      for (fb::Buffer &b : instruction->buffers)
        if (withUsers && before.holds(b.region(), b.offset(), b.offset() + b.bytes()))
          b = fb::Buffer(b.offset() - before.begin + to.offset, b.bytes(), to.region, b.access(), b.share_of(),
                         b.frame(), b.stride());
  return true;
}

// Declares on all kinds that every rank has the whole of an output. Its ranks still write parts of the batch.
bool declareOutputWhole(Subject &subject) {
  auto outputs = outputsOf(subject.plan);
  outputs.erase(std::remove_if(outputs.begin(), outputs.end(), [](auto &o) { return o.second->batch_dim < 0; }),
                outputs.end());
  if (outputs.empty())
    return false;
  auto [program, port] = subject.dice.of(outputs);
  subject.change = nameOf(*program, *port) + " is declared whole";
  std::string ofProgram = program->name, name = port->name;
  for (fb::PlanT *kind : kindsOf(subject.root))
    for (auto &each : kind->programs)
      for (auto &theirs : each->outputs)
        if (each->name == ofProgram && theirs->name == name) {
          theirs->batch_dim = -1;
          theirs->split_axes.clear();
        }
  return true;
}

// At its end, a program fills an output, or copies another place with as many bytes into it: on one kind of ranks.
bool overwriteOutput(Subject &subject) {
  auto outputs = outputsOf(subject.plan);
  if (outputs.empty())
    return false;
  auto [program, port] = subject.dice.of(outputs);
  uint64_t bytes = bytesOf(*port);
  std::vector<fb::Buffer> sources;
  for (auto &instruction : program->instructions)
    for (const fb::Buffer &b : instruction->buffers)
      if (b.bytes() == bytes && (b.region() != port->region || b.offset() != port->offset))
        sources.push_back(b);
  bool copies = !sources.empty() && subject.dice.coin();
  fb::InstructionT by;
  by.stream = program->instructions.empty() ? 0 : program->instructions.back()->stream;
  by.op = static_cast<uint16_t>(copies ? Opcode::Copy : Opcode::Fill);
  by.buffers = {fb::Buffer(port->offset, bytes, port->region, fb::Access::write, 0, 0, 0)};
  if (copies) {
    const fb::Buffer &from = subject.dice.of(sources);
    by.buffers.emplace_back(from.offset(), bytes, from.region(), fb::Access::read, from.share_of(), from.frame(),
                            from.stride());
  } else {
    by.fields = {7, 4};
  }
  subject.change = nameOf(*program, *port) + (copies ? ": another value copied into it" : ": filled") + " at the end";
  insert(*program, program->instructions.size(), by);
  return true;
}

// The buffers that an instruction leaves without a value: the staging of collectives, the scratch of launches.
std::vector<std::pair<Site, size_t>> workspaces(Subject &subject) {
  std::vector<std::pair<Site, size_t>> found;
  for (const Site &site : subject.sites([](const fb::InstructionT &i) { return !i.buffers.empty(); })) {
    const int64_t *kernel = fieldOf(*site, "kernel");
    bool hasScratch = kernel && subject.plan.kernels[static_cast<size_t>(*kernel)]->scratch != 0;
    if (hasScratch || (isCollective(*site) && site->buffers.size() == 2))
      found.emplace_back(site, site->buffers.size() - 1);
  }
  return found;
}

// Moves staging or scratch to bytes in which a value is kept: a state, a port, a residual, or the snapshot.
bool workWhereValuesAre(Subject &subject) {
  auto found = workspaces(subject);
  if (found.empty())
    return false;
  auto [site, number] = subject.dice.of(found);
  std::vector<Place> places;
  for (auto &state : subject.plan.states)
    places.push_back({state->region, state->offset});
  for (auto &program : subject.plan.programs)
    for (auto *ports : {&program->inputs, &program->outputs})
      for (auto &port : *ports)
        if (!port->absent)
          places.push_back({port->region, port->offset});
  for (auto &program : subject.plan.programs)
    for (auto &instruction : program->instructions)
      for (const fb::Buffer &b : instruction->buffers)
        if (auto kind = subject.plan.regions[b.region()]->kind;
            kind == fb::RegionKind::residual || kind == fb::RegionKind::snapshot)
          places.push_back({b.region(), b.offset()});
  if (places.empty())
    return false;
  Place to = subject.dice.of(places);
  fb::Buffer &b = site->buffers[number];
  subject.tell(site, "its staging or scratch is at " + std::to_string(to.offset) + " of region '" +
                         subject.plan.regions[to.region]->name + "'");
  makeRoom(subject.plan, to, b.bytes());
  b = fb::Buffer(to.offset, b.bytes(), to.region, b.access(), b.share_of(), b.frame(), b.stride());
  return true;
}

// Makes a share of staging or scratch, and often of the next buffer that reads the same bytes.
bool workInAShare(Subject &subject) {
  auto found = workspaces(subject);
  if (found.empty() || subject.plan.groups.empty())
    return false;
  auto [site, number] = subject.dice.of(found);
  auto share = static_cast<uint16_t>(1 + subject.dice.below(subject.plan.groups.size()));
  bool withReader = subject.dice.coin();
  fb::Buffer &b = site->buffers[number];
  Range range = rangeOf(b);
  uint64_t stride = b.bytes();
  auto asShare = [&](const fb::Buffer &of) {
    return fb::Buffer(of.offset(), of.bytes(), of.region(), of.access(), share, of.frame(), stride);
  };
  subject.tell(site, std::string("its staging or scratch is a share") + (withReader ? ", and read as one" : ""));
  makeRoom(subject.plan, {b.region(), b.offset()},
           stride * sizeOf(subject.plan, subject.plan.groups[share - 1u]->axes));
  b = asShare(b);
  auto &list = site.program->instructions;
  for (size_t i = site.index + 1; withReader && i < list.size(); ++i)
    for (fb::Buffer &other : list[i]->buffers)
      if (withReader && other.access() == fb::Access::read && other.bytes() <= stride &&
          (subject.dice.coin() || range.meets(other.region(), other.offset(), other.offset() + other.bytes()))) {
        other = asShare(fb::Buffer(b.offset(), other.bytes(), b.region(), other.access(), 0, other.frame(), 0));
        withReader = false;
      }
  return true;
}

// Moves a record of the plan's event to another stream, or repeats it there.
bool recordOnAnotherStream(Subject &subject) {
  if (subject.plan.streams.size() < 2)
    return false;
  std::vector<Site> records;
  for (const Site &site : subject.sites([](const fb::InstructionT &i) { return is(i, Opcode::Record); }))
    if (*fieldOf(*site, "event") >= int64_t{site.program->events})
      records.push_back(site);
  if (records.empty())
    return false;
  Site site = subject.dice.of(records);
  auto stream = static_cast<uint8_t>((site->stream + 1 + subject.dice.below(subject.plan.streams.size() - 1)) %
                                     subject.plan.streams.size());
  bool repeats = subject.dice.coin();
  subject.tell(site, (repeats ? "also on stream " : "on stream ") + subject.plan.streams[stream]);
  if (!repeats) {
    site->stream = stream;
    return true;
  }
  fb::InstructionT again = *site;
  again.stream = stream;
  size_t after = site.program->instructions.size() - site.index;
  insert(*site.program, site.index + 1 + subject.dice.below(after), again);
  return true;
}

// Changes how often programs are called on one kind of ranks. Products or sums of the numbers often stay as they are.
bool changeCalls(Subject &subject) {
  std::vector<Site> calls = subject.sites([](const fb::InstructionT &i) { return is(i, Opcode::Call); });
  if (calls.empty())
    return false;
  Site site = subject.dice.of(calls);
  int64_t &times = *fieldOf(*site, "times"), program = *fieldOf(*site, "program");
  switch (subject.dice.below(4)) {
  case 0: { // another call of the same program makes up for it
    Site other = subject.dice.of(calls);
    if (other->fields == site->fields && &*other == &*site)
      return false;
    subject.tell(site, "one time less, and " + subject.text(other) + " one time more");
    --times;
    ++*fieldOf(*other, "times");
    return times >= 0;
  }
  case 1: { // the callee's own calls make up for it
    std::vector<int64_t *> inner;
    for (auto &instruction : subject.plan.programs[static_cast<size_t>(program)]->instructions)
      if (is(*instruction, Opcode::Call))
        inner.push_back(fieldOf(*instruction, "times"));
    if (inner.empty() || times < 2)
      return false;
    int64_t factor = times % 2 == 0 ? 2 : times;
    subject.tell(site, "fewer times, and the callee calls as many times more");
    times /= factor;
    for (int64_t *each : inner)
      *each *= factor;
    return true;
  }
  case 2: { // two calls of as many runs together
    if (times < 2)
      return false;
    fb::InstructionT rest = *site;
    int64_t first = 1 + static_cast<int64_t>(subject.dice.below(static_cast<uint64_t>(times - 1)));
    bool continues = subject.dice.coin();
    subject.tell(site, std::string("cut in two") + (continues ? "" : ", the second in the first one's frames"));
    *fieldOf(rest, "times") = times - first;
    if (continues)
      *fieldOf(rest, "first_frame") += first * (*fieldOf(*site, "skip") + 1);
    times = first;
    insert(*site.program, site.index + 1, rest);
    return true;
  }
  default: // nothing makes up for it
    subject.tell(site, "more times");
    times += 1 + static_cast<int64_t>(subject.dice.below(3)) * times;
    return true;
  }
}

// Changes the axes over which a state is split or summed, on one kind of ranks.
bool changeAxesOfOneKind(Subject &subject) {
  if (subject.plan.states.empty() || subject.plan.axes.empty())
    return false;
  fb::StateT &state = *subject.dice.of(subject.plan.states);
  auto axis = static_cast<uint32_t>(subject.dice.below(subject.plan.axes.size()));
  bool isSum = subject.dice.coin(), keepsBytes = subject.dice.coin();
  std::vector<uint32_t> &axes = isSum ? state.partial_axes : state.split_axes;
  subject.change = "state '" + state.name + "', here only: " + (isSum ? "summed" : "split") + " over axis " +
                   std::to_string(axis) + " or not any more";
  uint64_t before = sizeOf(subject.plan, state.split_axes);
  if (auto found = std::find(axes.begin(), axes.end(), axis); found != axes.end())
    axes.erase(found);
  else
    axes.push_back(axis);
  if (keepsBytes)
    state.elements = state.elements / before * sizeOf(subject.plan, state.split_axes);
  return true;
}

} // namespace

std::vector<MutationKind> sharedKinds() {
  return {{"shared: output onto another's", moveOutputOntoAnothers},
          {"shared: split output declared whole", declareOutputWhole},
          {"shared: output overwritten on one kind", overwriteOutput},
          {"shared: work where values are", workWhereValuesAre},
          {"shared: work in a share", workInAShare},
          {"shared: record on another stream", recordOnAnotherStream},
          {"shared: calls", changeCalls},
          {"shared: axes of a state on one kind", changeAxesOfOneKind}};
}

} // namespace cleave::mutation
