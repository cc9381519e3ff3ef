// The opcodes of a plan, generated from Instructions.def: numbers, mnemonics, names of buffers and fields.
//
//   const OpcodeInfo *info = opcodeInfo(instruction.op());   // null: not an instruction of this build
//   int64_t count = instruction.fields()->Get(fieldIndex(Opcode::AllReduce, "count"));
//
// An opcode's number is its position in the definition, so instructionSetHash() in the plan's header is what says
// that two builds mean the same by it. A field per opcode in the schema was rejected: every new instruction would
// have changed the wire format, the reader and the printer.
#ifndef CLEAVE_RUNTIME_PLAN_OPCODE_H
#define CLEAVE_RUNTIME_PLAN_OPCODE_H

#include <cstdint>
#include <string_view>
#include <vector>

namespace cleave::rt {

// What two ranks send each other in one direction has this many orders, the field `channel`.
constexpr unsigned kTransferChannels = 8;

// The version of Plan.fbs itself: raised when a reader of one schema would misread the other.
constexpr uint32_t kPlanFormat = 8;

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
// What an opcode number means; null when this build does not know it.
const OpcodeInfo *opcodeInfo(unsigned opcode);
// The opcode of a mnemonic; null when there is none.
const OpcodeInfo *opcodeInfo(std::string_view mnemonic);
// The position of a field; -1 when the instruction has none of that name.
int fieldIndex(Opcode opcode, std::string_view name);
// FNV-1a over the whole definition; Plan.instruction_set.
uint64_t instructionSetHash();

// A collective has the fields `group`, `dtype`, `algorithm`, `count`.
bool isCollective(Opcode opcode);
// A send or a receive has the fields `axis`, `offset`, `channel`, `dtype`, `count`.
bool isTransfer(Opcode opcode);

} // namespace cleave::rt

#endif
