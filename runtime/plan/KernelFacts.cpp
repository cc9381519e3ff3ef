#include "runtime/plan/KernelFacts.h"

#include "runtime/base/Hash.h"
#include "runtime/plan/Checks.h"
#include "runtime/plan/InstructionView.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/RankKinds.h"

#include <algorithm>

namespace cleave::rt {

KernelFacts KernelFacts::of(const fb::Kernel &kernel) {
  KernelFacts facts;
  facts.name = textOf(kernel.name());
  facts.code = kernel.code();
  facts.extent = kernel.extent();
  for (size_t i = 0; i < lengthOf(kernel.depends()); ++i)
    facts.depends.push_back(kernel.depends()->Get(static_cast<unsigned>(i)));
  for (size_t i = 0; i < lengthOf(kernel.operands()); ++i)
    facts.operands.push_back(*kernel.operands()->Get(static_cast<unsigned>(i)));
  return facts;
}

KernelFacts KernelFacts::of(const fb::KernelT &kernel) {
  return {kernel.name, kernel.code, kernel.extent, kernel.depends, kernel.operands};
}

uint64_t KernelFacts::hash() const {
  uint64_t hash = fnv1a(std::to_string(name.size()) + "|" + name); // the length tells where the name ends
  auto add = [&](uint64_t number) { hash = fnv1a("|" + std::to_string(number), hash); };
  add(code);
  add(extent);
  add(depends.size());
  for (uint64_t mask : depends)
    add(mask);
  for (const fb::Operand &operand : operands) {
    add(operand.bytes());
    add(operand.over());
    add(static_cast<uint64_t>(operand.access()));
    add(static_cast<uint64_t>(operand.dtype()));
  }
  return hash;
}

Status checkFacts(const fb::Plan &plan, const uint64_t *facts, size_t count) {
  size_t index = 0;
  for (const fb::Plan *kind : kindsOf(plan))
    for (size_t i = 0; i < lengthOf(kind->kernels()); ++i, ++index) {
      const fb::Kernel &kernel = *kind->kernels()->Get(static_cast<unsigned>(i));
      if (kernel.kind() != fb::KernelKind::generated)
        continue;
      if (index >= count || facts[index] != kernel.facts())
        return badPlan("kernel " + std::to_string(i) + " '" + kernel.name()->str() +
                       "' is not the code that the program has in its place; compile the model again");
    }
  if (index != count)
    return badPlan("it has " + std::to_string(index) + " kernels, and the program has code for " +
                   std::to_string(count) + "; compile the model again");
  return Status::ok();
}

static Status checkLaunchAlignments(const fb::Plan &plan, const fb::Program &program, const uint64_t *alignments) {
  constexpr size_t kMostBuffers = 16; // alignments are packed: 4 bits each in 64 bits
  for (uint32_t i = 0; i < lengthOf(program.instructions()); ++i) {
    InstructionView view(*program.instructions()->Get(i));
    if (view.opcode() != Opcode::Launch)
      continue;
    for (size_t b = 0; b < std::min(kMostBuffers, view.bufferCount()); ++b) {
      uint64_t needed = uint64_t{1} << (alignments[view["kernel"]] >> (4 * b) & 15);
      if (uint64_t is = bufferAlignment(plan, view.buffer(b)); is < needed)
        return badPlan("program '" + program.name()->str() + "', instruction " + std::to_string(i) +
                       " (launch): the code of kernel " +
                       plan.kernels()->Get(static_cast<uint32_t>(view["kernel"]))->name()->str() + " takes buffer " +
                       std::to_string(b) + " at a multiple of " + std::to_string(needed) +
                       " bytes; got a multiple of " + std::to_string(is));
    }
  }
  return Status::ok();
}

Status checkAlignments(const fb::Plan &plan, const std::vector<uint64_t> &alignments) {
  size_t first = 0; // the index of the kind's first kernel
  for (const fb::Plan *kind : kindsOf(plan)) {
    if (alignments.size() - first < lengthOf(kind->kernels()))
      return badPlan("it has more kernels than the program has alignments for; compile the model again");
    for (uint32_t i = 0; i < lengthOf(kind->programs()); ++i)
      CLEAVE_TRY(checkLaunchAlignments(*kind, *kind->programs()->Get(i), alignments.data() + first));
    first += lengthOf(kind->kernels());
  }
  return Status::ok();
}

} // namespace cleave::rt
