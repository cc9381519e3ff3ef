#include "runtime/plan/KernelOperands.h"

#include "runtime/plan/KernelDefs.h"

namespace cleave::rt {

// Each pair of operands is tested for overlap. A kernel with more operands than this comes from a damaged plan.
static constexpr size_t kMaxOperands = 1024;

static Status definedOperands(const fb::Kernel &kernel, std::vector<Operand> *operands) {
  const KernelDef *def = findKernelDef(textOf(kernel.name()));
  if (!def || def->kind != kernel.kind())
    return dataLoss("it is not a kernel of this runtime");
  if (lengthOf(kernel.operands()) != 0 || lengthOf(kernel.depends()) != 0)
    return dataLoss("its operands are those of its definition, not the plan's");
  if (kernel.scratch() != 0 && !def->hasScratch())
    return dataLoss("it takes no scratch; the plan gives it " + std::to_string(kernel.scratch()) + " bytes");
  KernelArgs args;
  CLEAVE_TRY(
      KernelArgs::read(*def, kernel.params() ? kernel.params()->data() : nullptr, lengthOf(kernel.params()), &args));
  for (size_t i = 0; i < def->buffers.size(); ++i) {
    const KernelDef::BufferDef &buffer = def->buffers[i];
    fb::DType dtype = args.bufferType(i);
    Operand operand{buffer.name, buffer.access, dtype, dtypeSize(dtype), 0, buffer.over};
    if (buffer.factors.empty()) {
      operand.bytes = kernel.scratch();
      operand.alignment = kScratchAlignment;
    } else {
      CLEAVE_TRY(args.bufferBytes(i, &operand.bytes));
    }
    operands->push_back(operand);
  }
  return Status::ok();
}

static Status listedOperands(const fb::Kernel &kernel, std::vector<Operand> *operands) {
  size_t count = lengthOf(kernel.operands());
  if (count > kMaxOperands)
    return dataLoss("it has " + std::to_string(count) + " operands");
  for (size_t i = 0; i < count; ++i) {
    const fb::Operand &listed = *kernel.operands()->Get(static_cast<unsigned>(i));
    if (listed.access() > fb::Access::MAX || listed.over() > count || dtypeSize(listed.dtype()) == 0)
      return dataLoss("its operand " + std::to_string(i) +
                      " has no known access or type, or is over none of its operands");
    Operand operand{"", listed.access(), listed.dtype(), dtypeSize(listed.dtype()), listed.bytes()};
    if (listed.over() != 0) {
      operand.over = listed.over() - 1u;
      operand.mustBeOver = true;
    }
    operands->push_back(operand);
  }
  return Status::ok();
}

Status operandsOf(const fb::Kernel &kernel, std::vector<Operand> *operands) {
  operands->clear();
  CLEAVE_TRY(kernel.kind() == fb::KernelKind::generated ? listedOperands(kernel, operands)
                                                        : definedOperands(kernel, operands));
  for (size_t i = 0; i < operands->size(); ++i) {
    const Operand &operand = (*operands)[i];
    if (!operand.over)
      continue;
    const Operand &under = (*operands)[*operand.over];
    if (operand.access != fb::Access::write || under.access != fb::Access::read || operand.bytes != under.bytes)
      return dataLoss("its operand " + std::to_string(i) + " is over " + std::to_string(*operand.over) +
                      "; expected one that is written over one of as many bytes that is read");
  }
  return Status::ok();
}

static bool isSame(const fb::Buffer &a, const fb::Buffer &b) {
  return a.region() == b.region() && a.offset() == b.offset() && a.bytes() == b.bytes() &&
         a.share_of() == b.share_of() && a.stride() == b.stride() && a.frame() == b.frame();
}

namespace {

class BufferChecker {
public:
  BufferChecker(const fb::Plan &plan, const fb::Kernel &kernel, const std::vector<Operand> &operands,
                const InstructionView &launch)
      : plan_(plan), kernel_(kernel), operands_(operands), launch_(launch) {}

  Status check() const {
    if (launch_.bufferCount() != operands_.size())
      return dataLoss(kernelText() + " takes " + std::to_string(operands_.size()) +
                      " buffers; got: " + std::to_string(launch_.bufferCount()));
    for (size_t i = 0; i < operands_.size(); ++i) {
      CLEAVE_TRY(checkBytes(i));
      if (operands_[i].mustBeOver && !isSame(launch_.buffer(i), launch_.buffer(*operands_[i].over)))
        return dataLoss(kernelText() + " writes " + operandText(i) + " where " + operandText(*operands_[i].over) +
                        " lies; expected one buffer for both");
    }
    for (size_t i = 0; i < operands_.size(); ++i)
      for (size_t j = i + 1; j < operands_.size(); ++j)
        CLEAVE_TRY(checkApart(i, j));
    return Status::ok();
  }

private:
  Status checkBytes(size_t i) const {
    const fb::Buffer &buffer = launch_.buffer(i);
    if (operands_[i].bytes != buffer.bytes())
      return dataLoss(kernelText() + " touches " + std::to_string(operands_[i].bytes) + " bytes of " + operandText(i) +
                      "; got: " + std::to_string(buffer.bytes()));
    uint64_t alignment = operands_[i].alignment;
    if (buffer.bytes() != 0 && bufferAlignment(plan_, buffer) < alignment)
      return dataLoss(kernelText() + " takes " + operandText(i) + " at a multiple of " + std::to_string(alignment) +
                      " bytes; got: " + addressText(buffer));
    return Status::ok();
  }

  Status checkApart(size_t i, size_t j) const {
    const Operand &a = operands_[i], &b = operands_[j];
    const fb::Buffer &bufferOfA = launch_.buffer(i), &bufferOfB = launch_.buffer(j);
    if ((!writes(a.access) && !writes(b.access)) || !buffersOverlap(plan_, bufferOfA, bufferOfB))
      return Status::ok();
    if ((a.over == j || b.over == i) && isSame(bufferOfA, bufferOfB))
      return Status::ok();
    return dataLoss(kernelText() + " cannot work in place: " + operandText(i) + " and " + operandText(j) + " overlap");
  }

  std::string addressText(const fb::Buffer &buffer) const {
    const fb::Region &region = *plan_.regions()->Get(buffer.region());
    return std::to_string(buffer.offset()) +
           (buffer.share_of() ? " and a stride of " + std::to_string(buffer.stride()) : "") +
           (region.frames() > 1 ? " in frames of " + std::to_string(region.bytes()) : "");
  }
  std::string kernelText() const { return "kernel " + kernel_.name()->str(); }
  std::string operandText(size_t i) const {
    std::string number = "buffer " + std::to_string(i);
    return operands_[i].name.empty() ? number : number + " (" + std::string(operands_[i].name) + ")";
  }

  const fb::Plan &plan_;
  const fb::Kernel &kernel_;
  const std::vector<Operand> &operands_;
  const InstructionView &launch_;
};

} // namespace

Status checkBuffers(const fb::Plan &plan, const fb::Kernel &kernel, const InstructionView &launch) {
  std::vector<Operand> operands;
  CLEAVE_TRY(operandsOf(kernel, &operands));
  return BufferChecker(plan, kernel, operands, launch).check();
}

} // namespace cleave::rt
