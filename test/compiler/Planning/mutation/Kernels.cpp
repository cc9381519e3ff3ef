#include "test/compiler/Planning/mutation/Kernels.h"

#include "runtime/plan/KernelDefs.h"

#include <algorithm>

namespace cleave::mutation {

using rt::lengthOf;

static const fb::Kernel &kernelOf(const World &world, unsigned kind, size_t kernel) {
  return *world.kinds()[kind]->kernels()->Get(static_cast<uint32_t>(kernel));
}

std::vector<OperandUse> operandUses(const fb::Kernel &kernel) {
  auto use = [](fb::Access access, bool isScratch, std::optional<size_t> over) {
    return OperandUse{access != fb::Access::write, access != fb::Access::read, isScratch, over};
  };
  std::vector<OperandUse> uses;
  if (kernel.kind() == fb::KernelKind::generated) {
    for (uint32_t i = 0; i < lengthOf(kernel.operands()); ++i) {
      const fb::Operand &operand = *kernel.operands()->Get(i);
      std::optional<size_t> over;
      if (operand.over() != 0)
        over = operand.over() - 1u;
      uses.push_back(use(operand.access(), false, over));
    }
    return uses;
  }
  for (const rt::KernelDef::BufferDef &buffer : rt::findKernelDef(rt::textOf(kernel.name()))->buffers)
    uses.push_back(use(buffer.access, buffer.name == "scratch", buffer.over));
  return uses;
}

static Id tableFacts(const fb::Kernel &kernel) {
  Hasher hasher("generated");
  hasher.add(kernel.code()).add(kernel.extent());
  for (uint32_t i = 0; i < lengthOf(kernel.operands()); ++i) {
    const fb::Operand &operand = *kernel.operands()->Get(i);
    hasher.add(operand.bytes()).add(operand.over()).add(static_cast<uint64_t>(operand.access()));
    hasher.add(static_cast<uint64_t>(operand.dtype()));
  }
  hasher.add("depends");
  for (uint32_t i = 0; i < lengthOf(kernel.depends()); ++i)
    hasher.add(kernel.depends()->Get(i));
  return hasher.id();
}

static Id nameAndParams(const fb::Kernel &kernel) {
  Hasher hasher("library");
  hasher.add(rt::textOf(kernel.name()));
  for (uint32_t i = 0; i < lengthOf(kernel.params()); ++i)
    hasher.add(static_cast<uint64_t>(kernel.params()->Get(i)));
  return hasher.id();
}

// The number of bytes of the launch's scratch. No value if the kernel has none.
static std::optional<uint64_t> scratchBytes(const fb::Kernel &kernel, const rt::InstructionView &launch) {
  std::vector<OperandUse> uses = operandUses(kernel);
  for (size_t i = 0; i < uses.size(); ++i)
    if (uses[i].isScratch)
      return launch.buffer(i).bytes();
  return std::nullopt;
}

Code::Code(const World &original) {
  for (unsigned kind = 0; kind < original.kinds().size(); ++kind) {
    const fb::Plan &plan = *original.kinds()[kind];
    for (size_t i = 0; i < lengthOf(plan.kernels()); ++i)
      if (kernelOf(original, kind, i).kind() == fb::KernelKind::generated)
        generated_[original.codeIndex(kind, i)] = {tableFacts(kernelOf(original, kind, i)),
                                                   kernelOf(original, kind, i).name()->str()};
    for (const fb::Program *program : *plan.programs())
      for (uint32_t i = 0; i < lengthOf(program->instructions()); ++i) {
        rt::InstructionView view(*program->instructions()->Get(i));
        if (view.opcode() != rt::Opcode::Launch)
          continue;
        const fb::Kernel &kernel = kernelOf(original, kind, static_cast<size_t>(view["kernel"]));
        if (std::optional<uint64_t> bytes = scratchBytes(kernel, view)) {
          auto [known, isNew] = scratchBytes_.emplace(nameAndParams(kernel), *bytes);
          known->second = std::min(known->second, *bytes);
        }
      }
  }
}

std::string Code::objection(const World &world, unsigned kind, size_t index, const rt::InstructionView &launch) const {
  const fb::Kernel &kernel = kernelOf(world, kind, index);
  if (kernel.kind() == fb::KernelKind::generated) {
    auto code = generated_.find(world.codeIndex(kind, index));
    if (code == generated_.end())
      return "there is no code for kernel " + std::to_string(index);
    if (code->second.facts != tableFacts(kernel))
      return "the table tells of kernel " + std::to_string(index) + " what its code does not do";
    return "";
  }
  auto needed = scratchBytes_.find(nameAndParams(kernel));
  std::optional<uint64_t> given = scratchBytes(kernel, launch);
  if (given && needed != scratchBytes_.end() && *given < needed->second)
    return "the kernel needs " + std::to_string(needed->second) + " bytes of scratch, not " + std::to_string(*given);
  return "";
}

std::optional<Id> Code::check(const World &world, unsigned kind, size_t index,
                              const std::vector<Bytes> &operands) const {
  // The operand with the numbers.
  static const std::map<std::string_view, size_t> checked = {
      {"take", 1}, {"put_add", 1}, {"pick", 1}, {"put", 1}, {"check_index", 0}};
  const fb::Kernel &kernel = kernelOf(world, kind, index);
  auto found = checked.find(rt::textOf(kernel.name()));
  if (kernel.kind() == fb::KernelKind::generated || found == checked.end())
    return std::nullopt;
  return Hasher("check").add(nameAndParams(kernel)).add(operands[found->second].id()).id();
}

// Bit i of the mask stands for the i-th operand that is read. Without a mask, all operands are used.
static Id inputsOf(const std::vector<OperandUse> &uses, const std::vector<Bytes> &operands, uint64_t mask) {
  Hasher hasher("inputs");
  unsigned number = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    if (!uses[i].reads)
      continue;
    if (number >= 64 || mask >> number & 1)
      hasher.add(number).add(operands[i].id());
    ++number;
  }
  return hasher.id();
}

std::vector<Bytes> Code::results(const World &world, unsigned kind, size_t index, const std::vector<OperandUse> &uses,
                                 const std::vector<Bytes> &operands) const {
  const fb::Kernel &kernel = kernelOf(world, kind, index);
  Id identity = nameAndParams(kernel);
  if (kernel.kind() == fb::KernelKind::generated) {
    const Generated &code = generated_.at(world.codeIndex(kind, index));
    identity = Hasher("code").add(code.symbol).add(code.facts).id();
  }
  std::vector<Bytes> results;
  uint32_t number = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    if (!uses[i].writes)
      continue;
    uint64_t mask = number < lengthOf(kernel.depends()) ? kernel.depends()->Get(number) : ~uint64_t{0};
    if (uses[i].isScratch)
      results.push_back(undefined(operands[i].size()));
    else
      results.push_back(Bytes(Piece{Hasher("result").add(identity).add(number).add(inputsOf(uses, operands, mask)).id(),
                                    0, 0, operands[i].size()}));
    ++number;
  }
  return results;
}

} // namespace cleave::mutation
