// Reads the fields of an instruction by their names. It is for binding and printing, and too slow for each step.
#ifndef CLEAVE_RUNTIME_PLAN_INSTRUCTIONVIEW_H
#define CLEAVE_RUNTIME_PLAN_INSTRUCTIONVIEW_H

#include "runtime/plan/Opcode.h"
#include "runtime/plan/PlanReader.h"

namespace cleave::rt {

class InstructionView {
public:
  // The opcode must be known, and the number of fields must be right. openPlan() checks both.
  explicit InstructionView(const fb::Instruction &instruction) : instruction_(instruction) {}

  const OpcodeInfo &info() const { return *opcodeInfo(unsigned{instruction_.op()}); }
  Opcode opcode() const { return static_cast<Opcode>(instruction_.op()); }
  unsigned stream() const { return instruction_.stream(); }
  size_t bufferCount() const { return lengthOf(instruction_.buffers()); }
  const fb::Buffer &buffer(size_t i) const { return *instruction_.buffers()->Get(i); }
  std::string_view note() const { return textOf(instruction_.note()); }
  const fb::Reason *reason() const { return instruction_.reason(); } // null: not known

  // Returns the value of a field, or 0 if the instruction has no field of that name.
  int64_t operator[](std::string_view name) const {
    int index = fieldIndex(opcode(), name);
    return index < 0 ? 0 : instruction_.fields()->Get(index);
  }

private:
  const fb::Instruction &instruction_;
};

// The frame of run number `run` of a call, relative to the caller's frame.
inline int64_t frameOfCall(const InstructionView &call, int64_t run) {
  return call["first_frame"] + run * (call["skip"] + 1);
}

} // namespace cleave::rt

#endif
