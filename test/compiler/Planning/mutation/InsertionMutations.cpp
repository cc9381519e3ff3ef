// Adds instructions that overwrite values of other instructions, or values that a later step reads.
#include "test/compiler/Planning/mutation/Mutator.h"

#include "runtime/plan/KernelDefs.h"

namespace cleave::mutation {

using rt::Opcode;

static fb::Buffer bufferOf(const fb::PlanT &plan, const fb::StateT &state, fb::Access access) {
  uint64_t bytes = state.elements * rt::dtypeSize(state.dtype);
  for (uint32_t axis : state.split_axes)
    bytes /= plan.axes[axis]->size;
  return fb::Buffer(state.offset, bytes, state.region, access, 0, 0, 0);
}

// All bytes of a state that stores any bytes.
static bool pickState(Subject &subject, fb::Access access, fb::Buffer *buffer, std::string *name) {
  std::vector<const fb::StateT *> found;
  for (const auto &state : subject.plan.states)
    if (bufferOf(subject.plan, *state, access).bytes() != 0)
      found.push_back(state.get());
  if (found.empty())
    return false;
  const fb::StateT &state = *subject.dice.of(found);
  *buffer = bufferOf(subject.plan, state, access);
  *name = "state '" + state.name + "'";
  return true;
}

// The place of new instructions: anywhere, or in a program that calls others (a list of a schedule, a step).
enum class Where { Anywhere, AmongCalls };

static Site pickPlace(Subject &subject, Where where) {
  return subject.pick([=](const fb::InstructionT &i) {
    return where == Where::Anywhere || i.op == static_cast<uint16_t>(Opcode::Call);
  });
}

// Inserts the instruction into a program that has instructions, often at its end, where no instruction of the same step
// reads its result.
static bool insert(Subject &subject, fb::InstructionT instruction, const std::string &what, Where where) {
  Site site = pickPlace(subject, where);
  if (!site)
    return false;
  auto &list = site.program->instructions;
  size_t at = subject.dice.coin() ? list.size() : site.index;
  instruction.stream = site->stream;
  subject.change = site.program->name + "[" + std::to_string(at) + "]: inserted a " + what;
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), std::make_unique<fb::InstructionT>(instruction));
  return true;
}

static bool insertFill(Subject &subject, Where where) {
  fb::InstructionT fill;
  std::string name;
  fill.op = static_cast<uint16_t>(Opcode::Fill);
  fill.buffers.resize(1);
  fill.fields = {0, 1};
  return pickState(subject, fb::Access::write, &fill.buffers[0], &name) &&
         insert(subject, fill, "fill of " + name, where);
}

// Copies from another instruction's buffer. The copy has the state's size.
static bool insertCopy(Subject &subject, Where where) {
  fb::InstructionT copy;
  std::string name;
  copy.op = static_cast<uint16_t>(Opcode::Copy);
  copy.buffers.resize(2);
  if (!pickState(subject, fb::Access::write, &copy.buffers[0], &name))
    return false;
  uint64_t bytes = copy.buffers[0].bytes();
  Site from =
      subject.pick([=](const fb::InstructionT &i) { return !i.buffers.empty() && i.buffers[0].bytes() >= bytes; });
  if (!from)
    return false;
  const fb::Buffer &source = from->buffers[0];
  copy.buffers[1] = fb::Buffer(source.offset(), bytes, source.region(), fb::Access::read, source.share_of(),
                               source.frame(), source.stride());
  return insert(subject, copy, "copy over " + name, where);
}

// Finds bytes for temporary values, in a region with one frame: no value has them during the whole program.
static bool pickScratch(Subject &subject, uint64_t bytes, fb::Access access, fb::Buffer *buffer) {
  std::vector<size_t> found;
  for (size_t i = 0; i < subject.plan.regions.size(); ++i)
    if (const fb::RegionT &region = *subject.plan.regions[i];
        region.bytes >= bytes && region.frames <= 1 && region.space == fb::Space::device &&
        (region.kind == fb::RegionKind::transient || region.kind == fb::RegionKind::communication ||
         region.kind == fb::RegionKind::workspace))
      found.push_back(i);
  if (found.empty())
    return false;
  size_t region = subject.dice.of(found);
  uint64_t offset = subject.dice.coin() ? 0 : (subject.plan.regions[region]->bytes - bytes) / 64 * 64;
  *buffer = fb::Buffer(offset, bytes, static_cast<uint16_t>(region), access, 0, 0, 0);
  return true;
}

// Saves a state and restores it later in the list, so that all changes between are lost. The other instructions are
// unchanged.
static bool insertSaveAndRestore(Subject &subject, Where where) {
  fb::InstructionT save;
  std::string name;
  save.op = static_cast<uint16_t>(Opcode::Copy);
  save.buffers.resize(2);
  if (!pickState(subject, fb::Access::read, &save.buffers[1], &name) ||
      !pickScratch(subject, save.buffers[1].bytes(), fb::Access::write, &save.buffers[0]))
    return false;
  Site site = pickPlace(subject, where);
  if (!site)
    return false;
  auto with = [](const fb::Buffer &b, fb::Access access) {
    return fb::Buffer(b.offset(), b.bytes(), b.region(), access, 0, 0, 0);
  };
  fb::InstructionT restore = save;
  restore.buffers = {with(save.buffers[1], fb::Access::write), with(save.buffers[0], fb::Access::read)};
  auto &list = site.program->instructions;
  size_t from = subject.dice.coin() ? 0 : site.index;
  size_t to = subject.dice.coin() ? list.size() : site.index + 1 + subject.dice.below(list.size() - site.index);
  subject.change = site.program->name + "[" + std::to_string(from) + "]: saved " + name + ", and restored it before [" +
                   std::to_string(to) + "]";
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(to), std::make_unique<fb::InstructionT>(restore));
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(from), std::make_unique<fb::InstructionT>(save));
  return true;
}

// Adds a copy before all others. Its target is memory that is not part of a snapshot, or another place on each rank. A
// reader of checkpoints must not read it there.
static bool insertDecoy(Subject &subject) {
  Site site = subject.pick([](const fb::InstructionT &i) {
    return i.op == static_cast<uint16_t>(Opcode::Copy) && i.buffers[0].share_of() == 0 && i.buffers[0].bytes() != 0;
  });
  if (!site)
    return false;
  fb::InstructionT decoy = *site;
  const fb::Buffer &target = decoy.buffers[0];
  auto region = static_cast<uint16_t>(subject.dice.below(subject.plan.regions.size()));
  auto group = static_cast<uint16_t>(subject.plan.groups.empty() || subject.dice.coin() ? 0 : 1);
  decoy.buffers[0] =
      fb::Buffer(0, target.bytes(), region, target.access(), group, 0, group ? (target.bytes() + 63) / 64 * 64 : 0);
  subject.tell(site, "the same to another place before all others");
  auto &list = site.program->instructions;
  list.insert(list.begin(), std::make_unique<fb::InstructionT>(decoy));
  return true;
}

// Overwrites bytes that the host feeds, or that it reads after the program. No instruction of the plan reads them
// later.
static bool insertFillOfHosts(Subject &subject) {
  std::vector<uint16_t> found;
  for (size_t i = 0; i < subject.plan.regions.size(); ++i)
    if (const fb::RegionT &region = *subject.plan.regions[i];
        region.bytes >= 4 && (region.kind == fb::RegionKind::input || region.kind == fb::RegionKind::output ||
                              region.kind == fb::RegionKind::snapshot))
      found.push_back(static_cast<uint16_t>(i));
  if (found.empty())
    return false;
  uint16_t region = subject.dice.of(found);
  fb::InstructionT fill;
  fill.op = static_cast<uint16_t>(Opcode::Fill);
  fill.fields = {3, 1};
  uint64_t offset = subject.dice.below(subject.plan.regions[region]->bytes / 4) * 4;
  fill.buffers.emplace_back(offset, 4, region, fb::Access::write, 0, 0, 0);
  return insert(subject, fill, "fill of " + subject.plan.regions[region]->name, Where::Anywhere);
}

// Runs a kernel that refuses numbers out of range on other numbers before it runs on its own. Then it writes its result
// again, so nobody reads that of the other numbers.
static bool insertCheck(Subject &subject) {
  auto kernelOf = [&](const fb::InstructionT &launch) -> const fb::KernelT & {
    return *subject.plan.kernels[static_cast<size_t>(launch.fields[0])];
  };
  auto isLaunch = [](const fb::InstructionT &i) { return i.op == static_cast<uint16_t>(Opcode::Launch); };
  Site site = subject.pick([&](const fb::InstructionT &i) {
    const std::string name = isLaunch(i) ? kernelOf(i).name : "";
    return name == "take" || name == "pick" || name == "check_index";
  });
  if (!site)
    return false;
  size_t number = kernelOf(*site).name == "check_index" ? 0 : 1;
  fb::InstructionT launch = *site;
  const fb::Buffer &own = launch.buffers[number];
  std::vector<const fb::Buffer *> others;
  for (const auto &instruction : site.program->instructions)
    for (const fb::Buffer &buffer : instruction->buffers)
      if (fb::RegionKind kind = subject.plan.regions[buffer.region()]->kind;
          kind == fb::RegionKind::persistent || kind == fb::RegionKind::input) // these have values from the beginning
        if (buffer.bytes() >= own.bytes())
          others.push_back(&buffer);
  if (others.empty())
    return false;
  const fb::Buffer &other = *subject.dice.of(others);
  launch.buffers[number] = fb::Buffer(other.offset(), own.bytes(), other.region(), own.access(), other.share_of(),
                                      other.frame(), other.stride());
  subject.tell(site, "launched before on other numbers, too");
  auto &list = site.program->instructions;
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(site.index), std::make_unique<fb::InstructionT>(launch));
  return true;
}

std::vector<MutationKind> insertionKinds() {
  auto at = [](auto insert, Where where) { return [=](Subject &subject) { return insert(subject, where); }; };
  return {{"insert a fill of a state", at(insertFill, Where::Anywhere)},
          {"insert a copy over a state", at(insertCopy, Where::Anywhere)},
          {"insert a fill among calls", at(insertFill, Where::AmongCalls)},
          {"insert a copy among calls", at(insertCopy, Where::AmongCalls)},
          {"insert a save and a restore", at(insertSaveAndRestore, Where::Anywhere)},
          {"insert a save and a restore among calls", at(insertSaveAndRestore, Where::AmongCalls)},
          {"insert a check of other numbers", insertCheck},
          {"insert a fill of the host's bytes", insertFillOfHosts},
          {"insert a copy to another place", insertDecoy}};
}

} // namespace cleave::mutation
