#include "compiler/Inspect/Traffic.h"

#include "compiler/Inspect/Human.h"
#include "compiler/Simulator/Walk.h"
#include "compiler/Support/NodeNote.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanSummary.h"
#include "runtime/plan/ScalarNames.h"

#include <tuple>

namespace cleave::view {

using namespace rt;

const fb::State *stateAt(const fb::Plan &kind, const fb::Buffer &buffer) {
  if (kind.regions()->Get(buffer.region())->kind() != fb::RegionKind::persistent)
    return nullptr;
  for (uint32_t i = 0; i < lengthOf(kind.states()); ++i) {
    const fb::State &state = *kind.states()->Get(i);
    if (state.region() == buffer.region() && buffer.offset() >= state.offset() &&
        buffer.offset() < state.offset() + stateShardBytes(kind, state))
      return &state;
  }
  return nullptr;
}

std::string contentOf(const fb::State &state) {
  if (lengthOf(state.segments()) == 0)
    return std::string(textOf(state.name()));
  std::string text(textOf(state.segments()->Get(0)->name()));
  size_t more = lengthOf(state.segments()) - 1;
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

namespace {

// Searches one program for where the bytes of an exchange come from and go to. The program's list is one legal order.
class Tracer {
public:
  Tracer(const fb::Plan &kind, const fb::Program &program) : kind_(kind), program_(program) {}

  void describe(uint32_t index, Exchange &exchange) const {
    InstructionView view = at(index);
    const fb::Reason *reason = view.reason();
    exchange.tensor = reason ? tensorIn(textOf(reason->tensor())) : valueName(index, view);
    exchange.made = reason ? textOf(reason->made()) : "the plan does not say it";
    exchange.used = reason ? useIn(textOf(reason->used())) : "the plan does not say it";
  }

  std::string made(uint32_t index) const {
    InstructionView view = at(index);
    const fb::State *state = nullptr;
    for (size_t b = 0; b < view.bufferCount() && !state; ++b)
      if (view.opcode() != Opcode::Copy || view.buffer(b).access() == fb::Access::read)
        state = stateBefore(index, view.buffer(b), kMostHops);
    return state ? nameOf(*state) : valueName(index, view);
  }

private:
  // Returns the tensor that a reason names, with what a state of the plan holds: "bucket3 (fc.weight and 3 more)" for
  // "@bucket3". A gradient that no state holds is that of a parameter.
  std::string tensorIn(std::string_view text) const {
    constexpr std::string_view kValueFor = "a value for ";
    size_t mark = text.substr(0, kValueFor.size()) == kValueFor ? kValueFor.size() : 0;
    if (text.substr(mark, 1) != "@")
      return nodeOfNote(text);
    std::string before(text.substr(0, mark)), name(text.substr(mark + 1)), more;
    const fb::State *state = stateNamed(name);
    if (size_t end = name.rfind(" and "); !state && end != std::string::npos && end != 0) { // several in one collective
      more = name.substr(end);
      name.resize(end);
      state = stateNamed(name);
    }
    if (state)
      return before + nameOf(*state) + more;
    size_t suffix = name.rfind(".grad"); // also that of one chunk: "w.grad.c0"
    const fb::State *parameter = suffix == std::string::npos ? nullptr : stateNamed(name.substr(0, suffix));
    return before + (parameter ? "gradient of " + nameOf(*parameter) : name) + more;
  }

  // Returns the use with the name of a state instead of "@" and its symbol.
  std::string useIn(std::string_view text) const {
    size_t mark = text.find(" @");
    if (mark == std::string_view::npos || !stateNamed(text.substr(mark + 2)))
      return std::string(text);
    return std::string(text.substr(0, mark + 1)) + nameOf(*stateNamed(text.substr(mark + 2)));
  }

  const fb::State *stateNamed(std::string_view name) const {
    for (uint32_t i = 0; i < lengthOf(kind_.states()); ++i)
      if (textOf(kind_.states()->Get(i)->name()) == name)
        return kind_.states()->Get(i);
    return nullptr;
  }

  static std::string nameOf(const fb::State &state) {
    std::string name(textOf(state.name())), content = contentOf(state);
    if (name == rt::kLossSumScalar)
      return "sum of the loss (" + name + ")";
    if (name == rt::kLossCountScalar)
      return "count by which the loss is divided (" + name + ")";
    if (name == rt::kGradNormScalar)
      return "norm of the gradients (" + name + ")";
    return name == content ? name : name + " (" + content + ")";
  }

  static constexpr unsigned kMostHops = 4; // copies and casts between a state and the bytes that are gathered

  InstructionView at(uint32_t index) const { return InstructionView(*program_.instructions()->Get(index)); }

  static bool overlaps(const fb::Buffer &a, const fb::Buffer &b) {
    return a.frame() == b.frame() && a.region() == b.region() && a.offset() < reach(b) && b.offset() < reach(a);
  }
  // Returns the end of the bytes for all ranks. A share counts at least to the end of the second rank's.
  static uint64_t reach(const fb::Buffer &buffer) {
    return buffer.offset() + buffer.bytes() + (buffer.share_of() != 0 ? buffer.stride() : 0);
  }

  const fb::State *stateAt(const fb::Buffer &buffer) const { return view::stateAt(kind_, buffer); }

  // Returns the state that the bytes come from, through instructions that read only one buffer.
  const fb::State *stateBefore(uint32_t index, const fb::Buffer &data, unsigned hops) const {
    if (const fb::State *state = stateAt(data))
      return state;
    for (uint32_t i = index; hops != 0 && i-- != 0;) {
      InstructionView view = at(i);
      const fb::Buffer *read = nullptr;
      size_t reads = 0;
      bool writes = false;
      for (size_t b = 0; b < view.bufferCount(); ++b) {
        const fb::Buffer &buffer = view.buffer(b);
        writes |= buffer.access() != fb::Access::read && overlaps(buffer, data);
        if (buffer.access() == fb::Access::read && ++reads)
          read = &buffer;
      }
      if (view.opcode() == Opcode::Fill && view.buffer(0).bytes() < data.bytes())
        continue; // padding between values that travel together
      if (writes)
        return reads == 1 ? stateBefore(i, *read, hops - 1) : nullptr;
    }
    return nullptr;
  }

  // Returns the node that writes the bytes last, or "" if none does.
  std::string producer(uint32_t index, const fb::Buffer &data) const {
    for (uint32_t i = index; i-- != 0;) {
      InstructionView view = at(i);
      for (size_t b = 0; b < view.bufferCount(); ++b)
        if (view.buffer(b).access() != fb::Access::read && overlaps(view.buffer(b), data) && !view.note().empty())
          return nodeOfNote(view.note());
    }
    return "";
  }

  std::string valueName(uint32_t index, const InstructionView &view) const {
    if (!view.note().empty())
      return nodeOfNote(view.note());
    std::string made = producer(index, view.buffer(0));
    return made.empty() ? "values of " + std::string(textOf(program_.name())) : made;
  }

  const fb::Plan &kind_;
  const fb::Program &program_;
};

} // namespace

static std::string axesOf(const fb::Plan &kind, const InstructionView &view) {
  if (isTransfer(view.opcode()))
    return std::string(textOf(kind.axes()->Get(static_cast<uint32_t>(view["axis"]))->name()));
  return axesText(kind, kind.groups()->Get(static_cast<uint32_t>(view["group"]))->axes());
}

std::vector<Exchange> exchangesOf(const fb::Plan &kind, uint32_t entry) {
  std::vector<Exchange> list;
  std::map<std::tuple<std::string, std::string, std::string, std::string, uint32_t, uint64_t>, size_t> known;
  std::vector<uint64_t> runs = plan::runsOf(kind, entry);
  for (uint32_t p = 0; p < runs.size(); ++p) {
    const fb::Program &program = *kind.programs()->Get(p);
    for (uint32_t i = 0; runs[p] != 0 && i < lengthOf(program.instructions()); ++i) {
      InstructionView view(*program.instructions()->Get(i));
      if (!isCollective(view.opcode()) && !isTransfer(view.opcode()))
        continue;
      Exchange exchange;
      exchange.mnemonic = view.info().mnemonic;
      exchange.axes = axesOf(kind, view);
      exchange.program = textOf(program.name());
      exchange.bytes = view.buffer(0).bytes();
      Tracer(kind, program).describe(i, exchange);
      auto [place, isNew] = known.try_emplace(
          {exchange.mnemonic, exchange.axes, exchange.tensor, exchange.used, p, exchange.bytes}, list.size());
      if (isNew)
        list.push_back(std::move(exchange));
      list[place->second].times += runs[p];
      list[place->second].sent += runs[p] * sentBytes(kind, view);
    }
  }
  return list;
}

std::string tensorOf(const fb::Plan &kind, uint32_t program, uint32_t instruction) {
  return Tracer(kind, *kind.programs()->Get(program)).made(instruction);
}

std::map<std::string, AxisTraffic> trafficByAxes(const std::vector<Exchange> &exchanges) {
  std::map<std::string, AxisTraffic> traffic;
  for (const Exchange &exchange : exchanges) {
    traffic[exchange.axes].sent += exchange.sent;
    traffic[exchange.axes].times[exchange.mnemonic] += exchange.times;
  }
  return traffic;
}

} // namespace cleave::view
