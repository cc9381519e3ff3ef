#include "compiler/Planning/Execution.h"

#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/PlanReader.h"

#include <algorithm>

namespace cleave::plan {

using namespace rt;

static bool reads(fb::Access access) { return access != fb::Access::write; }
static bool writes(fb::Access access) { return access != fb::Access::read; }
static bool overlap(const fb::Buffer &a, const fb::Buffer &b) {
  return a.region() == b.region() && a.offset() < b.offset() + b.bytes() && b.offset() < a.offset() + a.bytes();
}
static uint64_t endOf(const fb::Buffer &buffer) { return buffer.offset() + buffer.bytes(); }

Execution::Execution(const fb::Plan &plan, std::vector<Finding> *findings)
    : plan_(plan), findings_(findings), clocks_(plan.streams()->size(), Clock(plan.streams()->size(), 0)),
      collectives_(plan.streams()->size()) {}

void Execution::find(const char *rule, std::string text) {
  auto same = [&](const Finding &finding) { return finding.rule == rule && finding.text == text; };
  if (std::none_of(findings_->begin(), findings_->end(), same))
    findings_->push_back({rule, std::move(text)});
}

MemoryHistory &Execution::history(unsigned region, uint64_t frame) {
  const fb::Region &info = *plan_.regions()->Get(region);
  bool initialized = info.kind() == fb::RegionKind::persistent || info.kind() == fb::RegionKind::input;
  return histories_.try_emplace({region, frame % info.frames()}, info.bytes(), initialized).first->second;
}

void Execution::runProgram(uint32_t program, uint64_t frame, const CallScope *caller) {
  struct Recorded {
    Clock clock;
    InstructionRef ref;
  };
  std::map<int64_t, Recorded> events;
  const auto *instructions = plan_.programs()->Get(program)->instructions();
  for (uint32_t i = 0; i < lengthOf(instructions); ++i) {
    InstructionView view(*instructions->Get(i));
    unsigned stream = view.stream();
    Moment moment{stream, ++clocks_[stream][stream], {program, i}};
    if (view.opcode() == Opcode::Record) {
      auto [at, isNew] = events.try_emplace(view["event"], Recorded{clocks_[stream], moment.ref});
      if (!isNew)
        find("event", text(moment.ref) + " records the event that " + text(at->second.ref) + " has recorded");
      continue;
    }
    if (view.opcode() == Opcode::Wait) {
      auto at = events.find(view["event"]);
      if (at == events.end())
        find("event", text(moment.ref) + " waits for an event that nothing before it records");
      else
        for (size_t s = 0; s < clocks_.size(); ++s)
          clocks_[stream][s] = std::max(clocks_[stream][s], at->second.clock[s]);
      continue;
    }
    if (caller)
      checkJoinedAtStart(moment, *caller);
    if (view.opcode() == Opcode::Call)
      runCall(view, moment);
    else
      runAccesses(view, moment, frame);
    if (isCollective(view.opcode()))
      checkCollectiveOrder(moment);
  }
  if (caller)
    checkJoinedAtEnd(program, *caller);
}

void Execution::runCall(const InstructionView &view, const Moment &moment) {
  CallScope scope{moment.stream, moment.tick, moment.ref};
  for (int64_t i = 0; i < std::min(view["times"], kMaxTimes); ++i) {
    scope.tick = ++clocks_[moment.stream][moment.stream];
    runProgram(static_cast<uint32_t>(view["program"]), static_cast<uint64_t>(view["first_frame"] + i), &scope);
  }
}

void Execution::checkJoinedAtStart(const Moment &moment, const CallScope &caller) {
  if (clocks_[moment.stream][caller.stream] < caller.tick)
    find("join", text(moment.ref) + " may run before " + text(caller.ref) + ", whose program it belongs to");
}

void Execution::checkJoinedAtEnd(uint32_t program, const CallScope &caller) {
  const auto *instructions = plan_.programs()->Get(program)->instructions();
  std::vector<char> seen(clocks_.size(), 0);
  for (uint32_t i = lengthOf(instructions); i-- > 0;) {
    InstructionView view(*instructions->Get(i));
    unsigned stream = view.stream();
    bool isEvent = view.opcode() == Opcode::Record || view.opcode() == Opcode::Wait;
    if (isEvent || stream == caller.stream || std::exchange(seen[stream], 1))
      continue;
    // Events that follow on the stream do no work: how many there are is how far the clock may lag.
    uint64_t trailing = 0;
    for (uint32_t j = i + 1; j < instructions->size(); ++j)
      trailing += instructions->Get(j)->stream() == stream;
    if (clocks_[caller.stream][stream] + trailing < clocks_[stream][stream])
      find("join", text({program, i}) + " may still run when " + text(caller.ref) + " has returned");
  }
}

void Execution::runAccesses(const InstructionView &view, const Moment &moment, uint64_t frame) {
  checkAccessModes(view, moment);
  checkOwnOverlaps(view, moment);
  // An all-gather reads one rank's share only, which of them depends on the rank.
  bool readsData = view.opcode() != Opcode::AllGather;
  auto forEach = [&](auto &&use) {
    for (size_t i = 0; i < view.bufferCount(); ++i)
      if (view.buffer(i).bytes() != 0)
        use(view.buffer(i));
  };
  forEach([&](const fb::Buffer &buffer) {
    checkInsideState(buffer, moment);
    if (reads(buffer.access()) && readsData)
      checkRead(buffer, moment, frame);
    if (writes(buffer.access()))
      checkWrite(buffer, moment, frame);
  });
  forEach([&](const fb::Buffer &buffer) {
    if (reads(buffer.access()))
      history(buffer.region(), frame).recordRead(buffer.offset(), endOf(buffer), moment);
  });
  forEach([&](const fb::Buffer &buffer) {
    if (writes(buffer.access()))
      history(buffer.region(), frame).recordWrite(buffer.offset(), endOf(buffer), moment);
  });
}

// The access modes that an instruction's meaning demands; empty where any will do.
static std::vector<fb::Access> expectedAccess(const fb::Plan &plan, const InstructionView &view) {
  std::vector<fb::Access> modes;
  if (view.opcode() == Opcode::Launch) {
    const fb::Kernel &kernel = *plan.kernels()->Get(static_cast<unsigned>(view["kernel"]));
    if (const KernelDef *def =
            kernel.kind() == fb::KernelKind::generated ? nullptr : findKernelDef(textOf(kernel.name())))
      for (const KernelDef::BufferDef &buffer : def->buffers)
        modes.push_back(buffer.access);
    return modes;
  }
  for (std::string_view name : view.info().buffers)
    modes.push_back(name == "source" ? fb::Access::read : name == "data" ? fb::Access::read_write : fb::Access::write);
  return modes;
}

void Execution::checkAccessModes(const InstructionView &view, const Moment &moment) {
  std::vector<fb::Access> expected = expectedAccess(plan_, view);
  for (size_t i = 0; i < expected.size() && i < view.bufferCount(); ++i) {
    fb::Access got = view.buffer(i).access();
    // A matmul that accumulates reads what it adds to.
    if (got != expected[i] && !(expected[i] == fb::Access::write && got == fb::Access::read_write))
      find("access", text(moment.ref) + ": buffer " + std::to_string(i) + " must be " +
                         fb::EnumNameAccess(expected[i]) + "; got: " + fb::EnumNameAccess(got));
  }
}

// Generated kernels and put_add may work in place, on exactly the same bytes.
static bool mayWorkInPlace(const fb::Plan &plan, const InstructionView &view) {
  if (view.opcode() != Opcode::Launch)
    return false;
  const fb::Kernel &kernel = *plan.kernels()->Get(static_cast<unsigned>(view["kernel"]));
  return kernel.kind() == fb::KernelKind::generated || textOf(kernel.name()) == "put_add";
}

void Execution::checkOwnOverlaps(const InstructionView &view, const Moment &moment) {
  bool inPlace = mayWorkInPlace(plan_, view);
  for (size_t i = 0; i < view.bufferCount(); ++i)
    for (size_t j = i + 1; j < view.bufferCount(); ++j) {
      const fb::Buffer &a = view.buffer(i), &b = view.buffer(j);
      if (!overlap(a, b) || (!writes(a.access()) && !writes(b.access())))
        continue;
      bool same = a.offset() == b.offset() && a.bytes() == b.bytes() && writes(a.access()) != writes(b.access());
      if (!inPlace || !same)
        find("overlap",
             text(moment.ref) + ": its buffers " + std::to_string(i) + " and " + std::to_string(j) + " overlap in " +
                 describeBytes(plan_, a.region(), std::max(a.offset(), b.offset()), std::min(endOf(a), endOf(b))));
    }
}

void Execution::checkInsideState(const fb::Buffer &buffer, const Moment &moment) {
  if (plan_.regions()->Get(buffer.region())->kind() != fb::RegionKind::persistent)
    return;
  for (size_t i = 0; i < lengthOf(plan_.states()); ++i) {
    const fb::State &state = *plan_.states()->Get(i);
    if (state.region() == buffer.region() && state.offset() <= buffer.offset() &&
        endOf(buffer) <= state.offset() + stateShardBytes(plan_, state))
      return;
  }
  find("state", text(moment.ref) + " uses " + describeBytes(plan_, buffer.region(), buffer.offset(), endOf(buffer)) +
                    ", which lies in no single state");
}

void Execution::checkRead(const fb::Buffer &buffer, const Moment &moment, uint64_t frame) {
  auto [first, last] = history(buffer.region(), frame).range(buffer.offset(), endOf(buffer));
  for (auto cell = first; cell != last; ++cell) {
    std::string bytes = describeBytes(plan_, buffer.region(), cell->first, cell->second.end);
    if (!cell->second.initialized)
      find("uninitialized", text(moment.ref) + " reads " + bytes + ", which nothing has written");
    else if (cell->second.writer && !happensBefore(*cell->second.writer, moment))
      find("race", text(moment.ref) + " reads " + bytes + " while " + text(cell->second.writer->ref) +
                       " may still write it; no event orders them");
  }
}

void Execution::checkWrite(const fb::Buffer &buffer, const Moment &moment, uint64_t frame) {
  auto [first, last] = history(buffer.region(), frame).range(buffer.offset(), endOf(buffer));
  for (auto cell = first; cell != last; ++cell) {
    std::string bytes = describeBytes(plan_, buffer.region(), cell->first, cell->second.end);
    if (cell->second.writer && !happensBefore(*cell->second.writer, moment))
      find("race", text(moment.ref) + " writes " + bytes + " while " + text(cell->second.writer->ref) +
                       " may still write it; no event orders them");
    for (const Moment &reader : cell->second.readers)
      if (!happensBefore(reader, moment))
        find("race", text(moment.ref) + " writes " + bytes + " while " + text(reader.ref) +
                         " may still read it; no event orders them");
  }
}

void Execution::checkCollectiveOrder(const Moment &moment) {
  for (const std::optional<Moment> &other : collectives_)
    if (other && !happensBefore(*other, moment))
      find("collective-order", text(moment.ref) + " and " + text(other->ref) +
                                   " have no order; ranks that meet them in different orders hang");
  collectives_[moment.stream] = moment;
}

void Execution::expectWritten(unsigned region, uint64_t begin, uint64_t end, const std::string &what) {
  auto [first, last] = history(region, 0).range(begin, end);
  for (auto cell = first; cell != last; ++cell)
    if (!cell->second.initialized) {
      find("port", what + ": nothing writes " + describeBytes(plan_, region, cell->first, cell->second.end));
      return;
    }
}

} // namespace cleave::plan
