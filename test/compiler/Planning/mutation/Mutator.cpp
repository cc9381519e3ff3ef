#include "test/compiler/Planning/mutation/Mutator.h"

#include <cstring>

namespace cleave::mutation {

std::vector<Site> Subject::sites(const std::function<bool(const fb::InstructionT &)> &fits) const {
  std::vector<Site> found;
  for (auto &program : plan.programs)
    for (size_t i = 0; i < program->instructions.size(); ++i)
      if (fits(*program->instructions[i]))
        found.push_back({program.get(), i});
  return found;
}

std::string Subject::text(const Site &site) const {
  return site.program->name + "[" + std::to_string(site.index) + "] " + std::string(infoOf(*site).mnemonic) + " on " +
         plan.streams[site->stream];
}

std::vector<fb::StateT *> Subject::statesNamed(const std::string &name) const {
  std::vector<fb::StateT *> found;
  auto collect = [&](fb::PlanT &kind) {
    for (auto &state : kind.states)
      if (state->name == name)
        found.push_back(state.get());
  };
  collect(root);
  for (auto &kind : root.kinds)
    collect(*kind);
  return found;
}

int64_t *fieldOf(fb::InstructionT &instruction, const char *name) {
  int index = rt::fieldIndex(static_cast<rt::Opcode>(instruction.op), name);
  return index < 0 ? nullptr : &instruction.fields[static_cast<size_t>(index)];
}

bool haveSameOperands(const fb::KernelT &a, const fb::KernelT &b) {
  if (a.kind != b.kind || a.operands.size() != b.operands.size() || a.params.size() != b.params.size())
    return false;
  for (size_t i = 0; i < a.operands.size(); ++i)
    if (a.operands[i].bytes() != b.operands[i].bytes() || a.operands[i].over() != b.operands[i].over() ||
        a.operands[i].access() != b.operands[i].access())
      return false;
  return true;
}

const std::vector<MutationKind> &allKinds() {
  static const std::vector<MutationKind> kinds = [] {
    std::vector<MutationKind> all;
    for (auto family : {orderKinds, insertionKinds, bufferKinds, fieldKinds, stateKinds, meaningKinds, tableKinds,
                        combinedKinds, sharedKinds})
      for (MutationKind &kind : family())
        all.push_back(std::move(kind));
    return all;
  }();
  return kinds;
}

static Mutant pack(const fb::PlanT &plan) {
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishPlanBuffer(builder, fb::Plan::Pack(builder, &plan));
  Mutant mutant;
  mutant.size = builder.GetSize();
  mutant.bytes.resize((mutant.size + 7) / 8);
  std::memcpy(mutant.bytes.data(), builder.GetBufferPointer(), mutant.size);
  return mutant;
}

// Applies a mutation and records it. Returns false if it does not fit the plan.
static bool edit(fb::PlanT &plan, const MutationKind &kind, Dice &dice, Mutant &mutant) {
  size_t which = dice.below(plan.kinds.size() + 1);
  Subject subject{plan, which == 0 ? plan : *plan.kinds[which - 1], dice, ""};
  if (!kind.apply(subject))
    return false;
  mutant.kinds.push_back(kind.name);
  mutant.change += (mutant.change.empty() ? "" : "; then ") +
                   (subject.plan.kind.empty() ? "" : "kind '" + subject.plan.kind + "', ") + subject.change;
  return true;
}

std::optional<Mutant> mutate(const fb::Plan &original, uint64_t seed, const std::string &only) {
  Dice dice(seed);
  std::vector<const MutationKind *> kinds;
  for (const MutationKind &kind : allKinds())
    if (kind.name.rfind(only, 0) == 0)
      kinds.push_back(&kind);
  std::unique_ptr<fb::PlanT> plan(original.UnPack());
  Mutant before = pack(*plan);
  for (int tries = 0; tries < 200 && !kinds.empty(); ++tries) {
    plan.reset(original.UnPack());
    Mutant mutant;
    // One mutant of five has two edits. The second one may hide the first.
    for (uint64_t edits = dice.below(5) ? 1 : 2; edits > 0; --edits)
      if (!edit(*plan, *dice.of(kinds), dice, mutant))
        break;
    if (mutant.kinds.empty())
      continue;
    Mutant packed = pack(*plan);
    if (packed.bytes == before.bytes)
      continue;
    mutant.bytes = std::move(packed.bytes);
    mutant.size = packed.size;
    return mutant;
  }
  return std::nullopt;
}

} // namespace cleave::mutation
