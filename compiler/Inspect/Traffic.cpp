#include "compiler/Inspect/Traffic.h"

#include "compiler/Inspect/Human.h"
#include "compiler/Simulator/Walk.h"
#include "compiler/Support/NodeNote.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanSummary.h"
#include "runtime/plan/ScalarNames.h"

#include <set>
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
    const fb::Buffer &data = view.buffer(0);
    const fb::State *from = stateBefore(index, data, kMostHops), *to = stateAfter(index, data);
    bool isGather = view.opcode() == Opcode::AllGather || view.opcode() == Opcode::Broadcast;
    const fb::State *state = isGather || holdsScalar(from) ? from : to ? to : from;
    exchange.tensor = state ? nameOf(*state) : valueName(index, view);
    if (state && state->role() == fb::Role::buffer && !isGather)
      if (size_t count = buffersAfter(index, data).size(); count > 1)
        exchange.tensor += " and " + std::to_string(count - 1) + " more";
    const fb::State *updated =
        isGather || isTransfer(view.opcode()) || holdsScalar(from) ? nullptr : updatedBy(index, data);
    if (updated && !holdsGradient(state))
      exchange.tensor = "gradient of " + nameOf(*updated);
    if (isTransfer(view.opcode())) {
      describeTransfer(view, exchange);
    } else if (isGather) {
      exchange.made = from ? storage(*from) : "split over " + exchange.axes;
      exchange.used = "whole" + consumer(index, data);
    } else {
      std::string node = producer(index, data);
      exchange.made =
          "each rank of " + exchange.axes + " has its own sum" + (node.empty() ? "" : "; " + node + " completes it");
      exchange.used =
          view.opcode() == Opcode::AllReduce ? "the whole sum, on every rank" : "each rank keeps its part of the sum";
      if (updated)
        exchange.used += ", for the update";
    }
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
    return a.frame() == b.frame() && overlapsInSomeFrame(a, b);
  }
  // The same, for buffers of programs that count frames from different calls.
  static bool overlapsInSomeFrame(const fb::Buffer &a, const fb::Buffer &b) {
    return a.region() == b.region() && a.offset() < reach(b) && b.offset() < reach(a);
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

  // Returns the state that the first reader of the bytes writes; if it writes several, that of its first such buffer.
  const fb::State *stateAfter(uint32_t index, const fb::Buffer &data) const {
    if (const fb::State *state = stateAt(data))
      return state;
    for (uint32_t i = index + 1; i < lengthOf(program_.instructions()); ++i) {
      InstructionView view = at(i);
      bool reads = false;
      const fb::State *written = nullptr;
      for (size_t b = 0; b < view.bufferCount(); ++b) {
        const fb::Buffer &buffer = view.buffer(b);
        reads |= buffer.access() != fb::Access::write && overlaps(buffer, data);
        if (buffer.access() != fb::Access::read && !written)
          written = stateAt(buffer);
      }
      if (reads && view.opcode() != Opcode::AllReduce)
        return written;
    }
    return nullptr;
  }

  // Returns the buffers of the model that are written from parts of the bytes.
  std::set<const fb::State *> buffersAfter(uint32_t index, const fb::Buffer &data) const {
    std::set<const fb::State *> found;
    for (uint32_t i = index + 1; i < lengthOf(program_.instructions()); ++i) {
      InstructionView view = at(i);
      bool reads = false, overwrites = false;
      for (size_t b = 0; b < view.bufferCount(); ++b) {
        reads |= view.buffer(b).access() != fb::Access::write && overlaps(view.buffer(b), data);
        overwrites |= view.buffer(b).access() != fb::Access::read && overlaps(view.buffer(b), data);
      }
      for (size_t b = 0; reads && b < view.bufferCount(); ++b)
        if (const fb::State *state = view.buffer(b).access() == fb::Access::read ? nullptr : stateAt(view.buffer(b));
            state && state->role() == fb::Role::buffer)
          found.insert(state);
      if (overwrites)
        break;
    }
    return found;
  }

  static bool holdsScalar(const fb::State *state) { return state && state->role() == fb::Role::scalar; }
  static bool holdsGradient(const fb::State *state) { return state && state->role() == fb::Role::gradient; }

  // Returns the parameter that a fused update writes from these bytes: they are its gradient, which is stored nowhere
  // else. The norm of all gradients may read them before.
  const fb::State *updatedBy(uint32_t index, const fb::Buffer &data) const {
    for (uint32_t i = index + 1; i < lengthOf(program_.instructions()); ++i) {
      InstructionView view = at(i);
      bool reads = false, overwrites = false;
      const fb::State *parameter = nullptr;
      for (size_t b = 0; b < view.bufferCount(); ++b) {
        const fb::Buffer &buffer = view.buffer(b);
        reads |= buffer.access() != fb::Access::write && overlaps(buffer, data);
        overwrites |= buffer.access() == fb::Access::write && overlaps(buffer, data);
        if (const fb::State *state = buffer.access() == fb::Access::read ? nullptr : stateAt(buffer))
          parameter = state->role() == fb::Role::parameter ? state : parameter;
      }
      if (reads && parameter && view.opcode() == Opcode::Launch)
        return parameter;
      if (overwrites)
        return nullptr;
    }
    return nullptr;
  }

  // Returns ", first by NODE" of the first reader with a note.
  std::string consumer(uint32_t index, const fb::Buffer &data) const {
    for (uint32_t i = index + 1; i < lengthOf(program_.instructions()); ++i) {
      InstructionView view = at(i);
      for (size_t b = 0; b < view.bufferCount(); ++b)
        if (view.buffer(b).access() != fb::Access::write && overlaps(view.buffer(b), data) && !view.note().empty())
          return ", first by " + nodeOfNote(view.note());
    }
    return "";
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

  std::string storage(const fb::State &state) const {
    std::string split = axesText(kind_, state.split_axes()), partial = axesText(kind_, state.partial_axes());
    return "stored " + (split.empty() ? "whole" : "split over " + split) +
           (partial.empty() ? "" : ", partial over " + partial);
  }

  std::string valueName(uint32_t index, const InstructionView &view) const {
    if (!view.note().empty())
      return nodeOfNote(view.note());
    if (isTransfer(view.opcode()))
      return std::string(textOf(program_.name()));
    std::string made = producer(index, view.buffer(0));
    return made.empty() ? "values of " + std::string(textOf(program_.name())) : made;
  }

  void describeTransfer(const InstructionView &view, Exchange &exchange) const {
    std::string where = "by the rank " + std::string(view["offset"] < 0 ? "" : "+") + std::to_string(view["offset"]) +
                        " on " + exchange.axes;
    bool isSend = view.opcode() == Opcode::Send;
    std::string here = nodeAnywhere(view.buffer(0), isSend ? fb::Access::write : fb::Access::read);
    here = here.empty() ? "by this stage" : (isSend ? "by " : "first by ") + here;
    exchange.made = isSend ? here : where;
    exchange.used = isSend ? where : here;
  }

  // Returns the node that writes or reads the value of a transfer in another program: the value lies in a frame.
  std::string nodeAnywhere(const fb::Buffer &data, fb::Access access) const {
    for (uint32_t p = 0; p < lengthOf(kind_.programs()); ++p) {
      const fb::Program &program = *kind_.programs()->Get(p); // empty on a stage with nothing to evaluate
      for (uint32_t i = 0; i < lengthOf(program.instructions()); ++i) {
        InstructionView view(*program.instructions()->Get(i));
        for (size_t b = 0; b < view.bufferCount() && !view.note().empty(); ++b)
          if (const fb::Buffer &one = view.buffer(b);
              overlapsInSomeFrame(one, data) && (one.access() == access || one.access() == fb::Access::read_write))
            return nodeOfNote(view.note());
      }
    }
    return "";
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
  std::map<std::tuple<std::string, std::string, std::string, uint32_t, uint64_t>, size_t> known;
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
      auto [place, isNew] =
          known.try_emplace({exchange.mnemonic, exchange.axes, exchange.tensor, p, exchange.bytes}, list.size());
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
