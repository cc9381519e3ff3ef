#include "test/compiler/Planning/mutation/Machine.h"

#include "test/compiler/Planning/mutation/Collectives.h"

#include <algorithm>

namespace cleave::mutation {

using rt::InstructionView;
using rt::lengthOf;
using rt::Opcode;

// Streams from this number on share a channel of the transport (runtime/comm/Communicator.h).
static unsigned channelOf(unsigned stream) { return std::min(stream, 7u); }

Machine::Machine(const World &world, const Code &code, std::string entry)
    : world_(world), code_(code), ranks_(world.ranks().size()) {
  for (const fb::Plan *kind : world.kinds()) {
    expansions_.emplace_back().streams.resize(kind->streams()->size());
    for (uint32_t i = 0; i < lengthOf(kind->programs()); ++i)
      if (const fb::Program &program = *kind->programs()->Get(i); program.entry() && program.name()->str() == entry)
        expansions_.back() = expand(*kind, i);
    joined_.push_back(onTwoThreads(expansions_.back()));
  }
}

Memory &Machine::memory(unsigned rank, unsigned region, uint64_t place) {
  const fb::Region &info = *world_.ranks()[rank].kind->regions()->Get(region);
  return ranks_[rank].memory.try_emplace({region, place % info.frames()}, info.bytes()).first->second;
}

void Machine::start(bool onTwoThreads) {
  for (unsigned rank = 0; rank < ranks_.size(); ++rank) {
    const Expansion &expansion = (onTwoThreads ? joined_ : expansions_)[world_.ranks()[rank].kindIndex];
    if (expansion.isTooLong)
      failure_ = "the program does not end within a million steps";
    ranks_[rank].records.assign(expansion.events, 0);
    ranks_[rank].threads.assign(expansion.streams.size(), {});
    for (size_t i = 0; i < expansion.streams.size(); ++i)
      ranks_[rank].threads[i].steps = &expansion.streams[i];
  }
}

std::string Machine::run(const Policy &policy) {
  failure_.clear();
  start(policy.onTwoThreads);
  std::vector<Move> moves;
  while (failure_.empty()) {
    moves.clear();
    addMoves(moves);
    if (moves.empty())
      break;
    const Move *best = nullptr;
    double lowest = 0;
    for (const Move &move : moves)
      if (double cost = policy.cost(move); !best || cost < lowest) {
        best = &move;
        lowest = cost;
      }
    make(*best);
  }
  return failure_.empty() ? hangText() : failure_;
}

void Machine::addMoves(std::vector<Move> &moves) const {
  for (unsigned rank = 0; rank < ranks_.size(); ++rank)
    for (unsigned number = 0; number < ranks_[rank].threads.size(); ++number) {
      const Thread &thread = ranks_[rank].threads[number];
      if (thread.flight.step) {
        if (thread.flight.isReady)
          moves.push_back({rank, number, true, thread.flight.step});
        continue;
      }
      if (thread.next == thread.steps->size())
        continue;
      const Step &step = (*thread.steps)[thread.next];
      if (step.kind != Step::Wait || ranks_[rank].records[step.event] >= step.records)
        moves.push_back({rank, number, false, &step});
    }
}

void Machine::make(const Move &move) {
  Thread &thread = ranks_[move.rank].threads[move.thread];
  if (move.isEnd)
    return end(move.rank, thread);
  ++thread.next;
  if (move.step->kind == Step::Record) {
    uint32_t &records = ranks_[move.rank].records[move.step->event];
    records = std::max(records, move.step->records);
  }
  if (move.step->kind == Step::Act)
    begin(move.rank, thread, *move.step);
}

void Machine::begin(unsigned rank, Thread &thread, const Step &step) {
  Flight &flight = thread.flight;
  flight = {};
  flight.step = &step;
  InstructionView view(*step.instruction);
  if (view.opcode() == Opcode::Launch) {
    beginLaunch(rank, flight, view);
  } else if (rt::isCollective(view.opcode())) {
    beginCollective(rank, flight, view);
  } else if (rt::isTransfer(view.opcode())) {
    beginTransfer(rank, flight, view);
  } else {
    std::optional<Range> target = resolve(rank, step, view.buffer(0), true);
    std::optional<Range> source = view.opcode() == Opcode::Copy ? resolve(rank, step, view.buffer(1), false) : target;
    if (!target || !source)
      return;
    flight.ranges = {*target};
    if (view.opcode() == Opcode::Copy)
      flight.ranges.push_back(*source);
    flight.results.emplace_back(*target, view.opcode() == Opcode::Copy
                                             ? read(rank, *source)
                                             : filled(static_cast<uint64_t>(view["pattern"]),
                                                      static_cast<unsigned>(view["width"]), view.buffer(0).bytes()));
    flight.isReady = true;
    checkOwnRanges(rank, flight, nullptr);
  }
  if (!failure_.empty())
    return;
  checkRaces(rank, thread);
  if (rt::isCollective(view.opcode()))
    meet(rank, step);
  if (rt::isTransfer(view.opcode()))
    handOver(rank, step);
}

void Machine::beginTransfer(unsigned rank, Flight &flight, const InstructionView &view) {
  bool isSend = view.opcode() == Opcode::Send;
  std::optional<Range> range = resolve(rank, *flight.step, view.buffer(0), !isSend);
  if (!range)
    return;
  if (world_.ranks()[rank].kind->regions()->Get(range->region)->space() != fb::Space::device)
    return fail(rank, *flight.step, "a transfer works on memory of the host");
  flight.place = *range;
  flight.ranges = {*range};
  if (isSend)
    flight.data = read(rank, *range);
}

// If the peer of the transfer that this rank has just begun has begun it too, both are done.
void Machine::handOver(unsigned rank, const Step &step) {
  InstructionView view(*step.instruction);
  bool isSend = view.opcode() == Opcode::Send;
  unsigned peer = world_.peerOf(rank, static_cast<unsigned>(view["axis"]), view["offset"]);
  auto flightOf = [&](unsigned owner, Opcode opcode, unsigned other) -> Flight * {
    std::vector<Flight *> found;
    for (Thread &thread : ranks_[owner].threads) {
      if (!thread.flight.step || thread.flight.isReady)
        continue;
      InstructionView theirs(*thread.flight.step->instruction);
      if (theirs.opcode() == opcode && theirs["channel"] == view["channel"] &&
          world_.peerOf(owner, static_cast<unsigned>(theirs["axis"]), theirs["offset"]) == other)
        found.push_back(&thread.flight);
    }
    if (found.size() > 1)
      fail(owner, *found[1]->step, "two streams use one channel to one rank at the same time");
    return found.empty() ? nullptr : found.front();
  };
  Flight *send = isSend ? flightOf(rank, Opcode::Send, peer) : flightOf(peer, Opcode::Send, rank);
  Flight *receive = isSend ? flightOf(peer, Opcode::Recv, rank) : flightOf(rank, Opcode::Recv, peer);
  if (!failure_.empty() || !send || !receive)
    return;
  if (send->data.size() != receive->place.end - receive->place.begin)
    return fail(rank, step, "the two ranks have different numbers of bytes");
  send->isReady = receive->isReady = true;
  receive->results.emplace_back(receive->place, send->data);
}

void Machine::beginLaunch(unsigned rank, Flight &flight, const InstructionView &view) {
  unsigned kind = world_.ranks()[rank].kindIndex;
  auto kernel = static_cast<size_t>(view["kernel"]);
  if (std::string objection = code_.objection(world_, kind, kernel, view); !objection.empty())
    return fail(rank, *flight.step, objection);
  std::vector<OperandUse> uses = operandUses(*world_.kinds()[kind]->kernels()->Get(static_cast<uint32_t>(kernel)));
  std::vector<Bytes> operands;
  for (size_t i = 0; i < uses.size(); ++i) {
    std::optional<Range> range = resolve(rank, *flight.step, view.buffer(i), uses[i].writes);
    if (!range)
      return;
    if (world_.kinds()[kind]->regions()->Get(range->region)->space() != fb::Space::device)
      return fail(rank, *flight.step, "a kernel works on memory of the host");
    flight.ranges.push_back(*range);
    operands.push_back(read(rank, *range));
    if (uses[i].reads && !operands.back().isDefined())
      return fail(rank, *flight.step, "buffer " + std::to_string(i) + " is read before it is written");
  }
  checkOwnRanges(rank, flight, &uses);
  if (std::optional<Id> check = code_.check(world_, kind, kernel, operands))
    ranks_[rank].checks.insert(*check);
  std::vector<Bytes> results = code_.results(world_, kind, kernel, uses, operands);
  for (size_t i = 0, number = 0; i < uses.size(); ++i)
    if (uses[i].writes)
      flight.results.emplace_back(flight.ranges[i], results[number++]);
  flight.isReady = true;
}

void Machine::beginCollective(unsigned rank, Flight &flight, const InstructionView &view) {
  const Members &members = world_.members(rank, static_cast<unsigned>(view["group"]));
  for (size_t i = 0; i < view.bufferCount(); ++i) {
    std::optional<Range> range = resolve(rank, *flight.step, view.buffer(i), true);
    if (!range)
      return;
    if (world_.ranks()[rank].kind->regions()->Get(range->region)->space() != fb::Space::device)
      return fail(rank, *flight.step, "a collective works on memory of the host");
    if (i == 0)
      flight.place = *range;
    for (const CollectivePart &part : partsOf(view, members.index, static_cast<unsigned>(members.ranks.size())))
      if (part.buffer == i)
        flight.ranges.push_back({range->region, range->frame, range->begin + part.begin,
                                 range->begin + part.begin + part.length, part.writes});
  }
  flight.data = read(rank, flight.place);
  if (rt::fieldIndex(view.opcode(), "reduction") >= 0 && members.ranks.size() > 1 && !flight.data.isDefined())
    return fail(rank, *flight.step, "it reduces what nobody wrote");
  checkOwnRanges(rank, flight, nullptr);
}

// If all members have begun the collective that this rank has just begun, computes its results.
void Machine::meet(unsigned rank, const Step &step) {
  InstructionView view(*step.instruction);
  const Members &members = world_.members(rank, static_cast<unsigned>(view["group"]));
  std::vector<Flight *> flights;
  std::vector<Bytes> data;
  for (unsigned member : members.ranks) {
    for (Thread &thread : ranks_[member].threads) {
      const Step *other = thread.flight.step;
      if (!other || thread.flight.isReady || channelOf(other->stream) != channelOf(step.stream))
        continue;
      InstructionView theirs(*other->instruction);
      if (!rt::isCollective(theirs.opcode()) ||
          world_.members(member, static_cast<unsigned>(theirs["group"])).ranks != members.ranks)
        continue;
      if (std::string what = mismatch(view, theirs); !what.empty())
        return fail(rank, step, what);
      flights.push_back(&thread.flight);
      data.push_back(thread.flight.data);
      break;
    }
  }
  if (flights.size() != members.ranks.size())
    return;
  std::vector<Bytes> results = collectiveResults(view, data);
  for (size_t i = 0; i < flights.size(); ++i) {
    flights[i]->isReady = true;
    flights[i]->results.emplace_back(flights[i]->place, results[i]);
    for (const Range &range : flights[i]->ranges) // staging has no meaning afterwards
      if (range.writes && (range.region != flights[i]->place.region || range.begin < flights[i]->place.begin ||
                           range.end > flights[i]->place.end))
        flights[i]->results.emplace_back(range, undefined(range.end - range.begin));
  }
}

void Machine::end(unsigned rank, Thread &thread) {
  for (const auto &[range, bytes] : thread.flight.results)
    memory(rank, range.region, range.frame).write(range.begin, bytes);
  thread.flight = {};
}

std::optional<Machine::Range> Machine::resolve(unsigned rank, const Step &step, const fb::Buffer &buffer, bool writes) {
  const fb::Plan &kind = *world_.ranks()[rank].kind;
  const fb::Region &region = *kind.regions()->Get(buffer.region());
  uint64_t begin = buffer.offset();
  if (buffer.share_of() != 0)
    begin += world_.members(rank, buffer.share_of() - 1u).index * buffer.stride();
  if (begin > region.bytes() || buffer.bytes() > region.bytes() - begin) {
    fail(rank, step, "it reaches outside of region '" + region.name()->str() + "'");
    return std::nullopt;
  }
  return Range{buffer.region(), placeOf(step.frames, region.counter(), buffer.frame(), region.frames()), begin,
               begin + buffer.bytes(), writes};
}

Bytes Machine::read(unsigned rank, const Range &range) {
  return memory(rank, range.region, range.frame).read(range.begin, range.end - range.begin);
}

template <typename Range> static bool conflict(const Range &a, const Range &b) {
  return (a.writes || b.writes) && a.region == b.region && a.frame == b.frame && a.begin < b.end && b.begin < a.end;
}

void Machine::checkRaces(unsigned rank, const Thread &thread) {
  for (const Thread &other : ranks_[rank].threads) {
    if (&other == &thread || !other.flight.step)
      continue;
    for (const Range &a : thread.flight.ranges)
      for (const Range &b : other.flight.ranges)
        if (conflict(a, b))
          return fail(rank, *thread.flight.step,
                      "it touches bytes of '" + world_.ranks()[rank].kind->regions()->Get(a.region)->name()->str() +
                          "' while " + describe(*world_.ranks()[rank].kind, *other.flight.step) + " does");
  }
}

// The bytes that an instruction writes overlap none of its other bytes, except if its kernel works in place.
void Machine::checkOwnRanges(unsigned rank, const Flight &flight, const std::vector<OperandUse> *uses) {
  for (size_t i = 0; i < flight.ranges.size(); ++i)
    for (size_t j = i + 1; j < flight.ranges.size(); ++j) {
      const Range &a = flight.ranges[i], &b = flight.ranges[j];
      bool inPlace = uses && ((*uses)[i].over == j || (*uses)[j].over == i) && a.begin == b.begin && a.end == b.end;
      if (!inPlace && conflict(a, b))
        return fail(rank, *flight.step, "its buffers overlap");
    }
}

void Machine::fail(unsigned rank, const Step &step, const std::string &what) {
  if (failure_.empty())
    failure_ = "rank " + std::to_string(rank) + ", " + describe(*world_.ranks()[rank].kind, step) + ": " + what;
}

std::string Machine::hangText() const {
  for (unsigned rank = 0; rank < ranks_.size(); ++rank)
    for (const Thread &thread : ranks_[rank].threads)
      if (!thread.isDone()) {
        const Step &step = thread.flight.step ? *thread.flight.step : (*thread.steps)[thread.next];
        return "rank " + std::to_string(rank) + " hangs at " + describe(*world_.ranks()[rank].kind, step);
      }
  return "";
}

} // namespace cleave::mutation
