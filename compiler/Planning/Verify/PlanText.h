// How findings name an instruction: `train_step[12] all_reduce on reduce ("bucket 0")`.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_PLANTEXT_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_PLANTEXT_H

#include "runtime/plan/InstructionView.h"
#include "runtime/plan/PlanReader.h"

#include <map>
#include <string>
#include <utility>

namespace cleave::plan {

// An instruction of a plan, by its position.
struct InstructionRef {
  uint32_t program = 0;
  uint32_t index = 0;
};

// For each receive that has run, by (program, index): the axes along which the bytes that it wrote may differ.
using Received = std::map<std::pair<uint32_t, uint32_t>, uint64_t>;

inline rt::InstructionView viewOf(const rt::fb::Plan &plan, InstructionRef ref) {
  return rt::InstructionView(*plan.programs()->Get(ref.program)->instructions()->Get(ref.index));
}

inline std::string describe(const rt::fb::Plan &plan, InstructionRef ref) {
  rt::InstructionView view = viewOf(plan, ref);
  std::string text = plan.programs()->Get(ref.program)->name()->str() + "[" + std::to_string(ref.index) + "] " +
                     std::string(view.info().mnemonic) + " on " + plan.streams()->Get(view.stream())->str();
  return view.note().empty() ? text : text + " (\"" + std::string(view.note()) + "\")";
}

inline std::string quoted(const flatbuffers::String *name) { return "'" + std::string(rt::textOf(name)) + "'"; }

// `transient[64, 128)`
inline std::string describeBytes(const rt::fb::Plan &plan, unsigned region, uint64_t begin, uint64_t end) {
  return plan.regions()->Get(region)->name()->str() + "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
}

} // namespace cleave::plan

#endif
