#include "dialects/Plan/IR/InstructionTable.h"

#include "dialects/Plan/IR/Plan.h"

using namespace mlir;

namespace cleave::plan {

static InstructionDef makeDef(unsigned opcode, llvm::StringRef mnemonic, llvm::StringRef buffers,
                              llvm::StringRef fields) {
  InstructionDef def{opcode, mnemonic, {}, false, {}};
  buffers.split(def.buffers, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  fields.split(def.fields, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  if (!def.buffers.empty())
    def.anyBuffers = def.buffers.back().consume_back("...");
  return def;
}

llvm::ArrayRef<InstructionDef> instructionTable() {
  static const std::vector<InstructionDef> table = [] {
    std::vector<InstructionDef> defs;
#define CLEAVE_INSTRUCTION(Name, mnemonic, buffers, fields)                                                            \
  defs.push_back(makeDef(defs.size(), #mnemonic, buffers, fields));
#include "runtime/plan/Instructions.def"
    return defs;
  }();
  return table;
}

const InstructionDef *findInstruction(llvm::StringRef mnemonic) {
  auto found = llvm::find_if(instructionTable(), [&](const InstructionDef &def) { return def.mnemonic == mnemonic; });
  return found == instructionTable().end() ? nullptr : found;
}

llvm::SmallVector<BufferAttr, 4> collectBuffers(Operation *op) {
  llvm::SmallVector<BufferAttr, 4> buffers;
  const InstructionDef *def = findInstruction(op->getName().stripDialect());
  if (!def)
    return buffers;
  for (llvm::StringRef name : def->buffers) {
    if (auto list = op->getAttrOfType<ArrayAttr>(name))
      llvm::append_range(buffers, list.getAsRange<BufferAttr>());
    else if (auto single = op->getAttrOfType<BufferAttr>(name))
      buffers.push_back(single);
  }
  return buffers;
}

llvm::SmallVector<Attribute, 6> collectFields(Operation *op) {
  llvm::SmallVector<Attribute, 6> fields;
  if (const InstructionDef *def = findInstruction(op->getName().stripDialect()))
    for (llvm::StringRef name : def->fields)
      fields.push_back(op->getAttr(name));
  return fields;
}

} // namespace cleave::plan
