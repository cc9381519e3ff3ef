#include "compiler/Target/Alignments.h"

#include "runtime/plan/InstructionView.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/RankKinds.h"

using namespace cleave;

namespace {

constexpr uint32_t kMost = 16; // bytes that one instruction can move

} // namespace

KernelAlignments cleave::alignmentsOf(const rt::fb::Plan &plan) {
  KernelAlignments alignments;
  for (const rt::fb::Plan *kind : rt::kindsOf(plan))
    for (const rt::fb::Program *program : *kind->programs())
      for (size_t i = 0; i < rt::lengthOf(program->instructions()); ++i) {
        rt::InstructionView view(*program->instructions()->Get(static_cast<unsigned>(i)));
        if (view.opcode() != rt::Opcode::Launch)
          continue;
        const rt::fb::Kernel &kernel = *kind->kernels()->Get(static_cast<unsigned>(view["kernel"]));
        if (kernel.kind() != rt::fb::KernelKind::generated)
          continue;
        std::vector<uint32_t> &known = alignments[kernel.name()->str()];
        known.resize(std::max<size_t>(known.size(), view.bufferCount()), kMost);
        for (size_t b = 0; b < view.bufferCount(); ++b)
          known[b] = std::min(known[b], static_cast<uint32_t>(rt::bufferAlignment(*kind, view.buffer(b))));
      }
  return alignments;
}
