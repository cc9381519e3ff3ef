#include "compiler/Planning/Verify/Order/EntryGraph.h"

#include "compiler/Planning/Verify/Facts/PlanFacts.h"

#include <algorithm>
#include <set>

namespace cleave::plan {

using namespace rt;

std::optional<uint32_t> programOf(const fb::Plan &kind, std::string_view name) {
  for (uint32_t i = 0; i < lengthOf(kind.programs()); ++i)
    if (textOf(kind.programs()->Get(i)->name()) == name)
      return i;
  return std::nullopt;
}

bool hasTransfers(const fb::Plan &kind) {
  for (uint32_t p = 0; p < lengthOf(kind.programs()); ++p)
    for (uint32_t i = 0; i < lengthOf(kind.programs()->Get(p)->instructions()); ++i)
      if (isTransfer(viewOf(kind, {p, i}).opcode()))
        return true;
  return false;
}

EntryGraph::EntryGraph(const std::vector<const fb::Plan *> &kinds, bool (*takes)(Opcode), int64_t maxTimes)
    : kinds_(kinds), takes_(takes), maxTimes_(maxTimes), sent_(kinds.size()), taken_(kinds.size()) {}

bool EntryGraph::add(size_t kind, uint32_t program) {
  Last last;
  last.ofStream.assign(kinds_[kind]->streams()->size(), -1);
  return expand(kind, program, 0, {}, last);
}

// Returns a program's calls and the instructions that become nodes. Bodies run often, and most of their instructions
// may be no nodes, so this is computed once.
const std::vector<uint32_t> &EntryGraph::takenIn(size_t kind, uint32_t program) {
  auto [known, isNew] = instructions_.try_emplace({kind, program});
  const auto *instructions = kinds_[kind]->programs()->Get(program)->instructions();
  for (uint32_t i = 0; isNew && i < lengthOf(instructions); ++i) {
    Opcode opcode = InstructionView(*instructions->Get(i)).opcode();
    if (opcode == Opcode::Call || takes_(opcode))
      known->second.push_back(i);
  }
  return known->second;
}

size_t EntryGraph::numberOf(const Run &run) {
  auto [known, isNew] = numbers_.try_emplace(run, runs_.size());
  if (isNew)
    runs_.push_back(run);
  return known->second;
}

uint64_t EntryGraph::timesOf(size_t node) const {
  uint64_t times = 1;
  for (size_t run = nodes_[node].run; run != 0; run = runs_[run].around)
    times *= static_cast<uint64_t>(runs_[run].times);
  return times;
}

bool EntryGraph::expand(size_t kind, uint32_t program, size_t run, const Frames &frames, Last &last) {
  size_t call = calls_.size();
  calls_.push_back({kind, program, frames.of(fb::Counter::micro_batch)});
  OwnEvents own;
  for (uint32_t i : takenIn(kind, program)) {
    if (!visit())
      return false;
    InstructionView view = plan::viewOf(*kinds_[kind], {program, i});
    if (view.opcode() == Opcode::Call) {
      if (!expandCall(kind, view, run, frames, last))
        return false;
      continue;
    }
    nodes_.push_back({{program, i}, call, run});
    edge(std::exchange(last.ofStream[view.stream()], static_cast<int64_t>(nodes_.size() - 1)), nodes_.size() - 1);
    if (view.opcode() == Opcode::Record || view.opcode() == Opcode::Wait)
      addEvent(view, call, frames, own, last);
    else if (isTransfer(view.opcode()))
      addTransfer(view, kind);
  }
  joinOwn(own);
  return true;
}

// Calls of empty bodies are counted, too.
bool EntryGraph::expandCall(size_t kind, const InstructionView &call, size_t around, const Frames &frames, Last &last) {
  int64_t times = std::min(call["times"], maxTimes_), first = call["first_frame"], stride = call["skip"] + 1;
  bool isOneOfSome = call["times"] > maxTimes_;
  for (int64_t n = 0; n < times; ++n)
    if (!visit() || !expand(kind, static_cast<uint32_t>(call["program"]),
                            isOneOfSome ? numberOf({around, call["times"], n}) : around,
                            frames.called(static_cast<fb::Counter>(call["counter"]), first + n * stride), last))
      return false;
  return true;
}

// A wait for one of the plan's events waits for the last record of its place. If there is none, it does not wait.
void EntryGraph::addEvent(const InstructionView &view, size_t call, const Frames &frames, OwnEvents &own, Last &last) {
  const fb::Plan &kind = *kinds_[calls_[call].kind];
  size_t node = nodes_.size() - 1;
  bool isRecord = view.opcode() == Opcode::Record;
  int64_t event = view["event"], shared = event - int64_t{kind.programs()->Get(calls_[call].program)->events()};
  if (shared < 0) {
    if (isRecord)
      own.recorded.emplace(event, node);
    else
      own.waits.push_back({event, node});
    return;
  }
  const fb::Event &info = *kind.events()->Get(static_cast<uint32_t>(shared));
  std::pair<int64_t, uint64_t> place{shared, frames.place(info.counter(), view["frame"], info.frames())};
  if (isRecord)
    last.recorded[place] = node;
  else if (auto record = last.recorded.find(place); record != last.recorded.end())
    edge(static_cast<int64_t>(record->second), node);
}

// The instructions of all streams of a body are one list, in which a wait may come before its record.
void EntryGraph::joinOwn(const OwnEvents &own) {
  for (auto [event, node] : own.waits) {
    auto record = own.recorded.find(event);
    if (record != own.recorded.end())
      edge(static_cast<int64_t>(record->second), node);
    else
      lostWaits_.push_back(node);
  }
}

void EntryGraph::addTransfer(const InstructionView &view, size_t kind) {
  bool isSend = view.opcode() == Opcode::Send;
  auto axis = static_cast<uint32_t>(view["axis"]);
  int64_t size = kinds_[kind]->axes()->Get(axis)->size(), toReceiver = isSend ? view["offset"] : -view["offset"];
  TransferChannel channel{AxisMask{1} << axis, static_cast<uint64_t>((toReceiver + size) % size), view["channel"]};
  (isSend ? sent_ : taken_)[kind][channel].push_back(nodes_.size() - 1);
}

void EntryGraph::forEachMeeting(const Meeting &visit) const {
  static const std::vector<size_t> none;
  auto stepsOn = [](const std::map<TransferChannel, std::vector<size_t>> &nodes,
                    const TransferChannel &channel) -> const std::vector<size_t> & {
    auto found = nodes.find(channel);
    return found == nodes.end() ? none : found->second;
  };
  std::set<TransferChannel> channels;
  std::vector<KindBox> boxes;
  for (size_t kind = 0; kind < kinds_.size(); ++kind) {
    boxes.push_back(boxOf(*kinds_[kind]));
    for (const auto *ofKind : {&sent_[kind], &taken_[kind]})
      for (const auto &[channel, nodes] : *ofKind)
        channels.insert(channel);
  }
  for (const TransferChannel &channel : channels)
    for (size_t a = 0; a < kinds_.size(); ++a)
      for (size_t b = 0; b < kinds_.size(); ++b)
        if (boxes[a].reaches(boxes[b], channel.axis, channel.offset,
                             kinds_[0]->axes()->Get(channel.axisIndex())->size()))
          visit(channel, stepsOn(sent_[a], channel), stepsOn(taken_[b], channel));
}

} // namespace cleave::plan
