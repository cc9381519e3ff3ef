#include "compiler/Planning/Verify/Rules/DeclaredTypes.h"

#include "compiler/Planning/Verify/PlanText.h"
#include "compiler/Planning/Verify/Values/PlanMeaning.h"
#include "runtime/plan/KernelOperands.h"
#include "runtime/plan/RankKinds.h"

#include <map>

namespace cleave::plan {

using namespace rt;

namespace {

struct Declared {
  uint64_t end;
  fb::DType type;
  std::string name;
};

// The states and ports of an entry program. They do not overlap (rules "state" and "port").
class DeclaredBytes {
public:
  DeclaredBytes(const fb::Plan &plan, const fb::Program &entry) : plan_(plan) {
    for (uint32_t i = 0; i < lengthOf(plan.states()); ++i) {
      const fb::State &state = *plan.states()->Get(i);
      add(state.region(), state.offset(), stateShardBytes(plan, state), state.dtype(), "state " + quoted(state.name()));
    }
    for (const auto *ports : {entry.inputs(), entry.outputs()})
      for (uint32_t i = 0; i < lengthOf(ports); ++i)
        if (const fb::Port &port = *ports->Get(i); !port.absent())
          add(port.region(), port.offset(), portBytes(port), port.dtype(),
              (ports == entry.inputs() ? "input " : "output ") + quoted(port.name()));
  }

  // Returns a state or port of another type of which the buffer has bytes; null if there is none.
  const Declared *findOther(const fb::Buffer &buffer, fb::DType type) const {
    auto range = ranges_.upper_bound({buffer.region(), buffer.offset()});
    if (range != ranges_.begin())
      --range;
    for (; range != ranges_.end() &&
           range->first < std::pair<unsigned, uint64_t>(buffer.region(), bufferEnd(plan_, buffer));
         ++range)
      if (range->first.first == buffer.region() && range->second.end > buffer.offset() && range->second.type != type)
        return &range->second;
    return nullptr;
  }

private:
  void add(unsigned region, uint64_t offset, uint64_t bytes, fb::DType type, std::string name) {
    if (bytes != 0)
      ranges_[{region, offset}] = {offset + bytes, type, std::move(name)};
  }

  const fb::Plan &plan_;
  std::map<std::pair<unsigned, uint64_t>, Declared> ranges_; // by region and first byte
};

} // namespace

static void checkEntry(const fb::Plan &plan, uint32_t entry, std::vector<Finding> *findings) {
  DeclaredBytes declared(plan, *plan.programs()->Get(entry));
  std::vector<std::vector<Operand>> operands(lengthOf(plan.kernels())); // openPlan() has read them
  for (uint32_t i = 0; i < lengthOf(plan.kernels()); ++i)
    if (!operandsOf(*plan.kernels()->Get(i), &operands[i]).isOk())
      operands[i].clear();
  std::vector<uint32_t> programs = calledBy(plan, entry);
  programs.push_back(entry);
  for (uint32_t program : programs)
    for (uint32_t i = 0; i < lengthOf(plan.programs()->Get(program)->instructions()); ++i) {
      InstructionView view = viewOf(plan, {program, i});
      if (view.opcode() != Opcode::Launch)
        continue;
      const std::vector<Operand> &ofKernel = operands[static_cast<size_t>(view["kernel"])];
      for (size_t b = 0; b < view.bufferCount() && b < ofKernel.size(); ++b)
        if (const Declared *other = declared.findOther(view.buffer(b), ofKernel[b].dtype);
            other && view.buffer(b).bytes() != 0)
          findings->push_back({"type", describe(plan, {program, i}) + " uses " + other->name + " as elements of " +
                                           fb::EnumNameDType(ofKernel[b].dtype) + "; it is declared as " +
                                           fb::EnumNameDType(other->type)});
    }
}

void checkDeclaredTypes(const fb::Plan &plan, std::vector<Finding> *findings) {
  for (const fb::Plan *kind : kindsOf(plan))
    for (uint32_t i = 0; i < lengthOf(kind->programs()); ++i)
      if (kind->programs()->Get(i)->entry())
        checkEntry(*kind, i, findings);
}

} // namespace cleave::plan
