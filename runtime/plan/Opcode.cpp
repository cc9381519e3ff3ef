#include "runtime/plan/Opcode.h"

#include "runtime/base/Hash.h"
#include "runtime/plan/Names.h"

#include <algorithm>

namespace cleave::rt {

static OpcodeInfo makeInfo(Opcode opcode, std::string_view mnemonic, std::string_view buffers,
                           std::string_view fields) {
  OpcodeInfo info{opcode, mnemonic, splitNames(buffers), false, splitNames(fields)};
  if (!info.buffers.empty())
    info.anyBuffers = consumeEllipsis(info.buffers.back());
  return info;
}

const std::vector<OpcodeInfo> &opcodes() {
  static const std::vector<OpcodeInfo> table = {
#define CLEAVE_INSTRUCTION(Name, mnemonic, buffers, fields) makeInfo(Opcode::Name, #mnemonic, buffers, fields),
#include "runtime/plan/Instructions.def"
  };
  return table;
}

const OpcodeInfo *opcodeInfo(unsigned opcode) { return opcode < opcodes().size() ? &opcodes()[opcode] : nullptr; }

const OpcodeInfo *opcodeInfo(std::string_view mnemonic) {
  auto found = std::find_if(opcodes().begin(), opcodes().end(),
                            [&](const OpcodeInfo &info) { return info.mnemonic == mnemonic; });
  return found == opcodes().end() ? nullptr : &*found;
}

int fieldIndex(Opcode opcode, std::string_view name) {
  const auto &fields = opcodes()[static_cast<size_t>(opcode)].fields;
  auto found = std::find(fields.begin(), fields.end(), name);
  return found == fields.end() ? -1 : static_cast<int>(found - fields.begin());
}

uint64_t instructionSetHash() {
  constexpr std::string_view definition =
#define CLEAVE_INSTRUCTION(Name, mnemonic, buffers, fields) #Name "|" #mnemonic "|" buffers "|" fields "\n"
#include "runtime/plan/Instructions.def"
      ;
  return fnv1a(definition);
}

// The answers for all opcodes, computed once, because every instruction that is visited asks for them.
template <typename Ask> static std::vector<bool> askAll(Ask ask) {
  std::vector<bool> answers;
  for (const OpcodeInfo &info : opcodes())
    answers.push_back(ask(info.opcode));
  return answers;
}

bool isCollective(Opcode opcode) {
  static const std::vector<bool> answers =
      askAll([](Opcode each) { return fieldIndex(each, "group") >= 0 && fieldIndex(each, "algorithm") >= 0; });
  return answers[static_cast<size_t>(opcode)];
}

bool isTransfer(Opcode opcode) {
  static const std::vector<bool> answers = askAll([](Opcode each) { return fieldIndex(each, "offset") >= 0; });
  return answers[static_cast<size_t>(opcode)];
}

} // namespace cleave::rt
