// Declarations that the families of combined edits share (CombinedMutations.cpp, CombinedOrderMutations.cpp).
#ifndef CLEAVE_TEST_PLANNING_MUTATION_COMBINEDEDITS_H
#define CLEAVE_TEST_PLANNING_MUTATION_COMBINEDEDITS_H

#include "runtime/plan/KernelDefs.h"
#include "test/compiler/Planning/mutation/Mutator.h"

#include <algorithm>

namespace cleave::mutation {

using rt::Opcode;
using Instructions = std::vector<std::unique_ptr<fb::InstructionT>>;

inline bool is(const fb::InstructionT &i, Opcode opcode) { return i.op == static_cast<uint16_t>(opcode); }

inline void erase(const Site &site) {
  site.program->instructions.erase(site.program->instructions.begin() + static_cast<std::ptrdiff_t>(site.index));
}

inline void insert(fb::ProgramT &program, size_t at, fb::InstructionT instruction) {
  program.instructions.insert(program.instructions.begin() + static_cast<std::ptrdiff_t>(at),
                              std::make_unique<fb::InstructionT>(std::move(instruction)));
}

// A range of bytes in a region.
struct Range {
  uint16_t region;
  uint64_t begin, end;
  bool meets(uint16_t r, uint64_t b, uint64_t e) const { return r == region && b < end && begin < e; }
  bool holds(uint16_t r, uint64_t b, uint64_t e) const { return r == region && begin <= b && e <= end; }
};

// For a share, the range of all ranks' shares, as far as the plan shows it: from the offset on.
inline Range rangeOf(const fb::Buffer &b) {
  return {b.region(), b.offset(), b.offset() + std::max(b.bytes(), b.stride())};
}

inline uint64_t sizeOf(const fb::PlanT &plan, const std::vector<uint32_t> &axes) {
  uint64_t size = 1;
  for (uint32_t axis : axes)
    size *= axis < plan.axes.size() ? plan.axes[axis]->size : 1;
  return size;
}

inline Range rangeOf(const fb::PlanT &plan, const fb::StateT &state) {
  uint64_t bytes = state.elements / std::max<uint64_t>(1, sizeOf(plan, state.split_axes)) * rt::dtypeSize(state.dtype);
  return {state.region, state.offset, state.offset + bytes};
}

inline std::vector<fb::StateT *> statesIn(fb::PlanT &plan, const Range &range) {
  std::vector<fb::StateT *> found;
  for (auto &state : plan.states)
    if (Range own = rangeOf(plan, *state); range.meets(own.region, own.begin, own.end))
      found.push_back(state.get());
  return found;
}

inline void setOffset(fb::Buffer &b, uint64_t offset) {
  b = fb::Buffer(offset, b.bytes(), b.region(), b.access(), b.share_of(), b.frame(), b.stride());
}
inline void setBytes(fb::Buffer &b, uint64_t bytes) {
  b = fb::Buffer(b.offset(), bytes, b.region(), b.access(), b.share_of(), b.frame(), b.stride());
}

inline std::vector<fb::PlanT *> kindsOf(fb::PlanT &root) {
  std::vector<fb::PlanT *> kinds = {&root};
  for (auto &kind : root.kinds)
    kinds.push_back(kind.get());
  return kinds;
}

// The programs that one edit changes: `only`, or all of the kind.
inline std::vector<fb::ProgramT *> programsOf(Subject &subject, fb::ProgramT *only) {
  if (only)
    return {only};
  std::vector<fb::ProgramT *> all;
  for (auto &program : subject.plan.programs)
    all.push_back(program.get());
  return all;
}

// Changes the declarations of the states on these bytes, in all kinds. Returns false if there is no such state.
inline bool redeclare(Subject &subject, const Range &range, const std::function<void(fb::StateT &)> &change) {
  std::vector<fb::StateT *> states = statesIn(subject.plan, range);
  for (fb::StateT *state : states) {
    subject.change += ", state '" + state->name + "'";
    for (fb::StateT *same : subject.statesNamed(state->name))
      change(*same);
  }
  return !states.empty();
}

inline void addAxes(std::vector<uint32_t> &axes, const std::vector<uint32_t> &more) {
  for (uint32_t axis : more)
    if (std::find(axes.begin(), axes.end(), axis) == axes.end())
      axes.push_back(axis);
}

// Edits of order, and of several kinds of ranks. The others are in CombinedMutations.cpp.
std::vector<MutationKind> combinedOrderKinds();

} // namespace cleave::mutation

#endif
