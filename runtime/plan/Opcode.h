// The opcodes of a plan, generated from Instructions.def: numbers, mnemonics, names of buffers and fields.
//
//   const OpcodeInfo *info = opcodeInfo(instruction.op());   // null: this build does not know the instruction
//   int64_t count = instruction.fields()->Get(fieldIndex(Opcode::AllReduce, "count"));
//
// The number of an opcode is its position in the definition. So two builds agree on the numbers only if their
// instructionSetHash() is equal. The plan's header has this hash. A field of the schema for each opcode was rejected,
// because each new instruction would change the wire format, the reader and the printer.
#ifndef CLEAVE_RUNTIME_PLAN_OPCODE_H
#define CLEAVE_RUNTIME_PLAN_OPCODE_H

#include <cstdint>
#include <string_view>
#include <vector>

namespace cleave::rt {

// The number of channels between two ranks in one direction. Messages of one channel (field `channel`) have one order.
constexpr unsigned kTransferChannels = 8;

// The version of Plan.fbs. It is raised if a reader of one schema would misread a plan of the other.
constexpr uint32_t kPlanFormat = 9;

enum class Opcode : uint16_t {
#define CLEAVE_INSTRUCTION(Name, mnemonic, buffers, fields) Name,
#include "runtime/plan/Instructions.def"
};

struct OpcodeInfo {
  Opcode opcode;
  std::string_view mnemonic;
  std::vector<std::string_view> buffers; // without the trailing "..."
  bool anyBuffers;                       // the last name stands for any number of buffers
  std::vector<std::string_view> fields;
};

// All opcodes, by number.
const std::vector<OpcodeInfo> &opcodes();
// Returns null if this build does not know the number.
const OpcodeInfo *opcodeInfo(unsigned opcode);
// Returns null if no opcode has this mnemonic.
const OpcodeInfo *opcodeInfo(std::string_view mnemonic);
// Returns the position of a field, or -1 if the instruction has no field of that name.
int fieldIndex(Opcode opcode, std::string_view name);
// FNV-1a over the whole definition. Plan.instruction_set has it.
uint64_t instructionSetHash();

// True for instructions with the fields `group`, `dtype`, `algorithm` and `count`.
bool isCollective(Opcode opcode);
// True for sends and receives. They have the fields `axis`, `offset`, `channel`, `dtype` and `count`.
bool isTransfer(Opcode opcode);

} // namespace cleave::rt

#endif
