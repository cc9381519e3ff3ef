// Instructions that the plan does not have: somebody writes over what others made, or what a later step reads.
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

// All bytes of a state that stores any.
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

// Puts it anywhere into a program that has instructions, often at its end, where nobody of the same step reads it.
static bool insert(Subject &subject, fb::InstructionT instruction, const std::string &what) {
  Site site = subject.pick([](const fb::InstructionT &) { return true; });
  if (!site)
    return false;
  auto &list = site.program->instructions;
  size_t at = subject.dice.coin() ? list.size() : site.index;
  instruction.stream = site->stream;
  subject.change = site.program->name + "[" + std::to_string(at) + "]: inserted a " + what;
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), std::make_unique<fb::InstructionT>(instruction));
  return true;
}

static bool insertFill(Subject &subject) {
  fb::InstructionT fill;
  std::string name;
  fill.op = static_cast<uint16_t>(Opcode::Fill);
  fill.buffers.resize(1);
  fill.fields = {0, 1};
  return pickState(subject, fb::Access::write, &fill.buffers[0], &name) && insert(subject, fill, "fill of " + name);
}

// From another instruction's buffer, cut to the state's size.
static bool insertCopy(Subject &subject) {
  fb::InstructionT copy;
  std::string name;
  copy.op = static_cast<uint16_t>(Opcode::Copy);
  copy.buffers.resize(2);
  if (!pickState(subject, fb::Access::write, &copy.buffers[0], &name))
    return false;
  uint64_t bytes = copy.buffers[0].bytes();
  Site from = subject.pick([=](const fb::InstructionT &i) { return !i.buffers.empty() && i.buffers[0].bytes() >= bytes; });
  if (!from)
    return false;
  const fb::Buffer &source = from->buffers[0];
  copy.buffers[1] = fb::Buffer(source.offset(), bytes, source.region(), fb::Access::read, source.share_of(),
                               source.frame(), source.stride());
  return insert(subject, copy, "copy over " + name);
}

// In front of all others, to memory that is no snapshot's or to another place on each rank: not where a checkpoint is to
// be read.
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
  decoy.buffers[0] = fb::Buffer(0, target.bytes(), region, target.access(), group, 0,
                                group ? (target.bytes() + 63) / 64 * 64 : 0);
  subject.tell(site, "the same to another place before all others");
  auto &list = site.program->instructions;
  list.insert(list.begin(), std::make_unique<fb::InstructionT>(decoy));
  return true;
}

std::vector<MutationKind> insertionKinds() {
  return {{"insert a fill of a state", insertFill},
          {"insert a copy over a state", insertCopy},
          {"insert a copy to another place", insertDecoy}};
}

} // namespace cleave::mutation
