#include "runtime/plan/KernelFacts.h"

#include "runtime/base/Hash.h"
#include "runtime/plan/Checks.h"
#include "runtime/plan/RankKinds.h"

namespace cleave::rt {

KernelFacts KernelFacts::of(const fb::Kernel &kernel) {
  KernelFacts facts;
  facts.name = textOf(kernel.name());
  facts.extent = kernel.extent();
  for (size_t i = 0; i < lengthOf(kernel.depends()); ++i)
    facts.depends.push_back(kernel.depends()->Get(static_cast<unsigned>(i)));
  for (size_t i = 0; i < lengthOf(kernel.operands()); ++i)
    facts.operands.push_back(*kernel.operands()->Get(static_cast<unsigned>(i)));
  return facts;
}

KernelFacts KernelFacts::of(const fb::KernelT &kernel) {
  return {kernel.name, kernel.extent, kernel.depends, kernel.operands};
}

uint64_t KernelFacts::hash() const {
  uint64_t hash = fnv1a(name);
  auto add = [&](uint64_t number) { hash = fnv1a("|" + std::to_string(number), hash); };
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

} // namespace cleave::rt
