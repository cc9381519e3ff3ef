// Mutations of the list of instructions, their order, and their streams.
#include "test/compiler/Planning/mutation/Mutator.h"

#include <algorithm>

namespace cleave::mutation {

using rt::Opcode;
using Instructions = std::vector<std::unique_ptr<fb::InstructionT>>;

static bool drop(Subject &subject, Opcode opcode) {
  Site site = subject.pick(opcode);
  if (!site)
    return false;
  subject.tell(site, "dropped");
  site.program->instructions.erase(site.program->instructions.begin() + static_cast<std::ptrdiff_t>(site.index));
  return true;
}

// Repeats an instruction directly after it, or up to ten instructions later.
static bool duplicate(Subject &subject, Opcode opcode) {
  Site site = subject.pick(opcode);
  if (!site)
    return false;
  Instructions &list = site.program->instructions;
  size_t to = std::min(site.index + 1 + (subject.dice.coin() ? 0 : subject.dice.below(10)), list.size());
  subject.tell(site, "repeated at " + std::to_string(to));
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(to), std::make_unique<fb::InstructionT>(*site));
  return true;
}

// Exchanges an instruction of that opcode with another one near it, on the same stream or on another.
static bool swap(Subject &subject, Opcode opcode, bool sameStream) {
  Site site = subject.pick(opcode);
  if (!site)
    return false;
  Instructions &list = site.program->instructions;
  std::vector<size_t> others;
  for (size_t i = site.index > 12 ? site.index - 12 : 0; i < std::min(list.size(), site.index + 12); ++i)
    if (i != site.index && (list[i]->stream == site->stream) == sameStream)
      others.push_back(i);
  if (others.empty())
    return false;
  size_t other = subject.dice.of(others);
  subject.tell(site, "exchanged with " + subject.text({site.program, other}));
  std::swap(list[site.index], list[other]);
  if (!sameStream) // each one does the other's work, at its own position
    std::swap(list[site.index]->stream, list[other]->stream);
  return true;
}

// Moves an instruction earlier or later in issue order, and so on its stream.
static bool move(Subject &subject, Opcode opcode) {
  Site site = subject.pick(opcode);
  if (!site)
    return false;
  Instructions &list = site.program->instructions;
  size_t reach = 1 + subject.dice.below(10);
  size_t to =
      subject.dice.coin() ? site.index - std::min(site.index, reach) : std::min(site.index + reach, list.size() - 1);
  subject.tell(site, "moved to " + std::to_string(to));
  auto moved = std::move(list[site.index]);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(site.index));
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(to), std::move(moved));
  return true;
}

static bool changeStream(Subject &subject, Opcode opcode) {
  Site site = subject.pick(opcode);
  if (!site || subject.plan.streams.size() < 2)
    return false;
  auto stream = static_cast<uint8_t>(subject.dice.below(subject.plan.streams.size()));
  subject.tell(site, "on stream " + subject.plan.streams[stream]);
  site->stream = stream;
  return true;
}

// The programs in which a change of the whole plan is made: those of one kind of ranks, or of all.
static std::vector<fb::ProgramT *> programsOf(Subject &subject, bool ofAllKinds) {
  std::vector<fb::ProgramT *> programs;
  auto collect = [&](fb::PlanT &plan) {
    for (auto &program : plan.programs)
      programs.push_back(program.get());
  };
  if (!ofAllKinds) {
    collect(subject.plan);
    return programs;
  }
  collect(subject.root);
  for (auto &kind : subject.root.kinds)
    collect(*kind);
  return programs;
}

// Moves all instructions of a stream, or all its launches, to another stream: in one program or in all, of one kind of
// ranks or of all. The moved instructions keep their order. Only events order them with those of other streams. With
// `bothWays`, the two streams are exchanged.
static bool moveStream(Subject &subject, bool launchesOnly, bool bothWays) {
  Site site = subject.pick([=](const fb::InstructionT &i) {
    return !launchesOnly || i.op == static_cast<uint16_t>(Opcode::Launch);
  });
  if (!site || subject.plan.streams.size() < 2)
    return false;
  uint8_t from = site->stream;
  auto to = static_cast<uint8_t>((from + 1 + subject.dice.below(subject.plan.streams.size() - 1)) %
                                 subject.plan.streams.size());
  bool ofAllKinds = subject.dice.coin(), ofOneProgram = subject.dice.coin();
  std::string name = site.program->name;
  subject.change = std::string(launchesOnly ? "all launches of " : "all of ") + subject.plan.streams[from] +
                   (bothWays ? " exchanged with those of " : " moved to ") + subject.plan.streams[to] +
                   (ofOneProgram ? " in " + name : " in all programs") + (ofAllKinds ? " of all kinds" : "");
  for (fb::ProgramT *program : programsOf(subject, ofAllKinds))
    for (auto &instruction : program->instructions) {
      if ((ofOneProgram && program->name != name) ||
          (launchesOnly && instruction->op != static_cast<uint16_t>(Opcode::Launch)))
        continue;
      if (instruction->stream == from)
        instruction->stream = to;
      else if (bothWays && instruction->stream == to)
        instruction->stream = from;
    }
  return true;
}

// Makes another collective on the same bytes.
static bool changeCollective(Subject &subject, Opcode from, Opcode to) {
  Site site = subject.pick(from);
  if (!site)
    return false;
  subject.tell(site, "made " + std::string(rt::opcodeInfo(static_cast<unsigned>(to))->mnemonic));
  fb::InstructionT before = *site;
  const rt::OpcodeInfo &info = *rt::opcodeInfo(static_cast<unsigned>(to));
  site->op = static_cast<uint16_t>(to);
  site->fields.assign(info.fields.size(), 0);
  for (size_t i = 0; i < info.fields.size(); ++i)
    if (int64_t *same = fieldOf(before, std::string(info.fields[i]).c_str()))
      site->fields[i] = *same;
  site->buffers.resize(info.buffers.size(), before.buffers.front());
  if (before.buffers.size() < site->buffers.size()) { // a staging buffer that fits
    for (const Site &other : subject.sites(isCollective))
      if (other->buffers.size() == 2)
        site->buffers[1] = other->buffers[1];
  }
  return true;
}

// Drops one collective on all kinds of ranks, so that the other collectives still match.
static bool dropEverywhere(Subject &subject) {
  Site site = subject.pick(isCollective);
  if (!site || subject.root.kinds.empty())
    return false;
  size_t number = 0; // its number among the program's collectives
  for (size_t i = 0; i < site.index; ++i)
    number += isCollective(*site.program->instructions[i]);
  subject.tell(site, "dropped from all kinds");
  std::string name = site.program->name;
  auto dropFrom = [&](fb::PlanT &plan) {
    for (auto &program : plan.programs) {
      size_t left = number;
      for (size_t i = 0; program->name == name && i < program->instructions.size(); ++i)
        if (isCollective(*program->instructions[i]) && left-- == 0) {
          program->instructions.erase(program->instructions.begin() + static_cast<std::ptrdiff_t>(i));
          break;
        }
    }
  };
  dropFrom(subject.root);
  for (auto &kind : subject.root.kinds)
    dropFrom(*kind);
  return true;
}

std::vector<MutationKind> orderKinds() {
  std::vector<MutationKind> kinds;
  for (const rt::OpcodeInfo &info : rt::opcodes()) {
    Opcode opcode = info.opcode;
    std::string name(info.mnemonic);
    kinds.push_back({"drop " + name, [=](Subject &s) { return drop(s, opcode); }});
    kinds.push_back({"duplicate " + name, [=](Subject &s) { return duplicate(s, opcode); }});
    kinds.push_back({"swap " + name + " with its stream's", [=](Subject &s) { return swap(s, opcode, true); }});
    kinds.push_back({"swap " + name + " with another stream's", [=](Subject &s) { return swap(s, opcode, false); }});
    kinds.push_back({"move " + name, [=](Subject &s) { return move(s, opcode); }});
    kinds.push_back({"stream of " + name, [=](Subject &s) { return changeStream(s, opcode); }});
  }
  using Pair = std::pair<Opcode, Opcode>;
  for (auto [from, to] :
       {Pair{Opcode::AllReduce, Opcode::ReduceScatter}, Pair{Opcode::ReduceScatter, Opcode::AllReduce},
        Pair{Opcode::AllGather, Opcode::Broadcast}, Pair{Opcode::Reduce, Opcode::AllReduce},
        Pair{Opcode::AllReduce, Opcode::Reduce}, Pair{Opcode::AllReduce, Opcode::AllGather},
        Pair{Opcode::AllGather, Opcode::AllReduce}, Pair{Opcode::Broadcast, Opcode::AllGather}})
    kinds.push_back(
        {"opcode of a collective", [from = from, to = to](Subject &s) { return changeCollective(s, from, to); }});
  kinds.push_back({"drop a collective everywhere", dropEverywhere});
  kinds.push_back({"whole stream to another", [](Subject &s) { return moveStream(s, false, false); }});
  kinds.push_back({"whole stream's launches to another", [](Subject &s) { return moveStream(s, true, false); }});
  kinds.push_back({"whole stream exchanged with another", [](Subject &s) { return moveStream(s, false, true); }});
  kinds.push_back({"whole stream's launches exchanged", [](Subject &s) { return moveStream(s, true, true); }});
  return kinds;
}

} // namespace cleave::mutation
