// Mutations of the integer fields of instructions: events, calls, collectives, fills, and the launched kernels.
#include "test/compiler/Planning/mutation/Mutator.h"

#include <algorithm>

namespace cleave::mutation {

using rt::Opcode;

static bool setField(Subject &subject, const Site &site, const char *name, int64_t value) {
  int64_t *field = fieldOf(*site, name);
  if (!field || *field == value)
    return false;
  subject.tell(site, std::string(name) + " " + std::to_string(*field) + " -> " + std::to_string(value));
  *field = value;
  return true;
}

static Site pickWithField(Subject &subject, const char *name) {
  return subject.pick([=](const fb::InstructionT &i) { return rt::fieldIndex(static_cast<Opcode>(i.op), name) >= 0; });
}

// Makes a wait wait for another event that is recorded before it.
static bool waitForAnother(Subject &subject) {
  Site site = subject.pick(Opcode::Wait);
  if (!site)
    return false;
  std::vector<int64_t> recorded;
  for (size_t i = 0; i < site.index; ++i)
    if (site.program->instructions[i]->op == static_cast<uint16_t>(Opcode::Record))
      recorded.push_back(site.program->instructions[i]->fields[0]);
  return !recorded.empty() && setField(subject, site, "event", subject.dice.of(recorded));
}

// Drops a record and all waits for it.
static bool dropEvent(Subject &subject) {
  Site site = subject.pick(Opcode::Record);
  if (!site)
    return false;
  int64_t event = site->fields[0];
  subject.tell(site, "dropped with its waits");
  auto &list = site.program->instructions;
  list.erase(std::remove_if(list.begin(), list.end(),
                            [=](auto &i) {
                              int64_t *field = fieldOf(*i, "event");
                              return field && *field == event;
                            }),
             list.end());
  return true;
}

// Two records of a program that are near each other exchange their events.
static bool swapRecords(Subject &subject) {
  Site a = subject.pick(Opcode::Record);
  if (!a)
    return false;
  std::vector<size_t> others;
  for (size_t i = a.index > 10 ? a.index - 10 : 0; i < std::min(a.index + 10, a.program->instructions.size()); ++i)
    if (i != a.index && a.program->instructions[i]->op == static_cast<uint16_t>(Opcode::Record))
      others.push_back(i);
  if (others.empty())
    return false;
  Site b{a.program, subject.dice.of(others)};
  std::swap(a->fields[0], b->fields[0]);
  subject.tell(a, "exchanges its event with " + subject.text(b));
  return true;
}

// Moves a record earlier on its stream, so that its waits are farther from it.
static bool recordEarlier(Subject &subject) {
  Site site = subject.pick(Opcode::Record);
  if (!site)
    return false;
  auto &list = site.program->instructions;
  size_t to = site.index;
  while (to > 0 && list[to - 1]->stream != site->stream)
    --to;
  if (to == 0)
    return false;
  --to; // before the work that it stands for
  subject.tell(site, "moved before " + subject.text({site.program, to}));
  auto moved = std::move(list[site.index]);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(site.index));
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(to), std::move(moved));
  return true;
}

static bool waitLater(Subject &subject) {
  Site site = subject.pick(Opcode::Wait);
  if (!site)
    return false;
  auto &list = site.program->instructions;
  size_t to = site.index + 1;
  while (to < list.size() && list[to]->stream != site->stream)
    ++to;
  if (to >= list.size())
    return false;
  subject.tell(site, "moved after " + subject.text({site.program, to}));
  auto moved = std::move(list[site.index]);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(site.index));
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(to), std::move(moved));
  return true;
}

static bool changeCall(Subject &subject, const char *name) {
  Site site = subject.pick(Opcode::Call);
  if (!site)
    return false;
  int64_t before = *fieldOf(*site, name);
  return setField(subject, site, name, before + (subject.dice.coin() ? 1 : -1));
}

// Changes the frame in a record or wait of an event that programs share.
static bool changeEventFrame(Subject &subject) {
  auto isShared = [&](const Site &site) {
    int64_t *event = fieldOf(*site, "event");
    return event && *event >= int64_t{site.program->events};
  };
  std::vector<Site> sites =
      subject.sites([](const fb::InstructionT &i) { return rt::fieldIndex(static_cast<Opcode>(i.op), "event") >= 0; });
  sites.erase(std::remove_if(sites.begin(), sites.end(), [&](const Site &site) { return !isShared(site); }),
              sites.end());
  if (sites.empty())
    return false;
  Site site = subject.dice.of(sites);
  return setField(subject, site, "frame", *fieldOf(*site, "frame") + (subject.dice.coin() ? 1 : -1));
}

// Changes the frame or offset in a field of a transfer, a call or another instruction to another small number.
static bool changeSmall(Subject &subject, const char *name, int64_t first, int64_t last) {
  Site site = pickWithField(subject, name);
  auto count = static_cast<uint64_t>(last - first + 1);
  return site && setField(subject, site, name, first + static_cast<int64_t>(subject.dice.below(count)));
}

// Two sends, or two receives, exchange their places. In another order, each one meets another transfer.
static bool swapTransfers(Subject &subject) {
  auto isTransfer = [](const fb::InstructionT &i) { return rt::isTransfer(static_cast<Opcode>(i.op)); };
  Site a = subject.pick(isTransfer), b = subject.pick(isTransfer);
  if (!a || a->op != b->op || (a.program == b.program && a.index == b.index))
    return false;
  subject.tell(a, "exchanged with " + subject.text(b));
  std::swap(*a, *b);
  return true;
}

// Exchanges the calls of two bodies in one program, which makes another schedule.
static bool swapCalls(Subject &subject) {
  Site a = subject.pick(Opcode::Call), b = subject.pick(Opcode::Call);
  if (!a || a.program != b.program || a.index == b.index)
    return false;
  subject.tell(a, "exchanged with " + subject.text(b));
  std::swap(*a, *b);
  return true;
}

// Crosses the schedules of two stages: each one runs one of its calls as often, and from the same frame, as the other
// stage's call at that position.
static bool crossSchedules(Subject &subject) {
  std::vector<fb::PlanT *> kinds = {&subject.root};
  for (auto &kind : subject.root.kinds)
    kinds.push_back(kind.get());
  fb::PlanT &other = *subject.dice.of(kinds);
  Site site = subject.pick(Opcode::Call);
  if (!site || &other == &subject.plan)
    return false;
  for (auto &program : other.programs)
    if (program->name == site.program->name && site.index < program->instructions.size() &&
        program->instructions[site.index]->op == static_cast<uint16_t>(Opcode::Call)) {
      fb::InstructionT &theirs = *program->instructions[site.index];
      for (const char *field : {"times", "first_frame", "skip"})
        std::swap(*fieldOf(*site, field), *fieldOf(theirs, field));
      subject.tell(site, "times, first_frame and skip exchanged with the call of " + other.kind);
      return true;
    }
  return false;
}

static bool callAnother(Subject &subject) {
  Site site = subject.pick(Opcode::Call);
  return site &&
         setField(subject, site, "program", static_cast<int64_t>(subject.dice.below(subject.plan.programs.size())));
}

static bool changeGroup(Subject &subject) {
  Site site = pickWithField(subject, "group");
  return site && setField(subject, site, "group", static_cast<int64_t>(subject.dice.below(subject.plan.groups.size())));
}

// Another type of the same width if there is one.
static int64_t sameWidth(Dice &dice, int64_t dtype) {
  using fb::DType;
  static const std::vector<std::vector<DType>> widths = {{DType::f64, DType::i64},
                                                         {DType::f32, DType::i32},
                                                         {DType::f16, DType::bf16, DType::i16},
                                                         {DType::i8, DType::u8, DType::boolean}};
  for (const std::vector<DType> &types : widths)
    if (std::count(types.begin(), types.end(), static_cast<DType>(dtype)))
      return static_cast<int64_t>(types[dice.below(types.size())]);
  return dtype;
}

static bool changeType(Subject &subject) {
  Site site = pickWithField(subject, "dtype");
  return site && setField(subject, site, "dtype", sameWidth(subject.dice, *fieldOf(*site, "dtype")));
}

static bool changeReduction(Subject &subject) {
  Site site = pickWithField(subject, "reduction");
  return site && setField(subject, site, "reduction", static_cast<int64_t>(subject.dice.below(3)));
}

// Half or twice as many elements of a type that is twice or half as wide. The number of bytes stays.
static bool changeCount(Subject &subject) {
  Site site = pickWithField(subject, "count");
  if (!site)
    return false;
  int64_t &count = *fieldOf(*site, "count"), &dtype = *fieldOf(*site, "dtype");
  int64_t before = count;
  bool wider = dtype == static_cast<int64_t>(fb::DType::f32);
  count = wider ? count / 2 : count * 2;
  dtype = static_cast<int64_t>(wider ? fb::DType::f64 : fb::DType::f16);
  subject.tell(site, "count " + std::to_string(before) + " -> " + std::to_string(count) + " of another type");
  return true;
}

static bool changeRoot(Subject &subject) {
  Site site = pickWithField(subject, "root");
  return site && setField(subject, site, "root", static_cast<int64_t>(subject.dice.below(4)));
}

static bool changeAlgorithm(Subject &subject) {
  Site site = pickWithField(subject, "algorithm");
  return site && setField(subject, site, "algorithm", 1);
}

static bool changePattern(Subject &subject) {
  Site site = subject.pick(Opcode::Fill);
  return site && setField(subject, site, "pattern", subject.dice.coin() ? 0x3f800000 : 1);
}

static bool changeWidth(Subject &subject) {
  Site site = subject.pick(Opcode::Fill);
  return site && setField(subject, site, "width", int64_t{1} << subject.dice.below(4));
}

// Launches another kernel that takes buffers of the same sizes, if there is one.
static bool launchAnother(Subject &subject, bool plausible) {
  std::vector<std::pair<Site, int64_t>> choices;
  for (const Site &site :
       subject.sites([](const fb::InstructionT &i) { return i.op == static_cast<uint16_t>(Opcode::Launch); }))
    for (size_t k = 0; k < subject.plan.kernels.size(); ++k) {
      auto before = static_cast<size_t>(*fieldOf(*site, "kernel"));
      if (k != before && (!plausible || haveSameOperands(*subject.plan.kernels[before], *subject.plan.kernels[k])))
        choices.emplace_back(site, static_cast<int64_t>(k));
    }
  if (choices.empty())
    return false;
  auto [site, kernel] = subject.dice.of(choices);
  return setField(subject, site, "kernel", kernel);
}

std::vector<MutationKind> fieldKinds() {
  return {{"event of a wait", waitForAnother},
          {"drop event", dropEvent},
          {"events of two records", swapRecords},
          {"record earlier", recordEarlier},
          {"wait later", waitLater},
          {"call times", [](Subject &s) { return changeCall(s, "times"); }},
          {"call first_frame", [](Subject &s) { return changeCall(s, "first_frame"); }},
          {"call skip", [](Subject &s) { return changeCall(s, "skip"); }},
          {"call program", callAnother},
          {"call counter", [](Subject &s) { return changeSmall(s, "counter", 0, 2); }},
          {"call order", swapCalls},
          {"schedules crossed", crossSchedules},
          {"event frame", changeEventFrame},
          {"transfer axis", [](Subject &s) { return changeSmall(s, "axis", 0, 1); }},
          {"transfer offset", [](Subject &s) { return changeSmall(s, "offset", -1, 2); }},
          {"transfer channel", [](Subject &s) { return changeSmall(s, "channel", 0, 2); }},
          {"swap transfers", swapTransfers},
          {"collective group", changeGroup},
          {"collective dtype", changeType},
          {"collective reduction", changeReduction},
          {"collective count", changeCount},
          {"collective root", changeRoot},
          {"collective algorithm", changeAlgorithm},
          {"fill pattern", changePattern},
          {"fill width", changeWidth},
          {"kernel of a launch, same sizes", [](Subject &s) { return launchAnother(s, true); }},
          {"kernel of a launch", [](Subject &s) { return launchAnother(s, false); }}};
}

} // namespace cleave::mutation
