// The instruction set for the dialect, from the one definition in runtime/plan/Instructions.def.
//
//   const InstructionDef *def = findInstruction("copy");   // opcode 1, buffers {"target", "source"}, no fields
//
// An instruction op has the mnemonic of a definition, and attributes with the definition's names. So buffers and fields
// are collected by name, and no code lists instructions. Rejected: a hand-written accessor for each op, because the two
// sides would drift apart.
#ifndef CLEAVE_DIALECTS_PLAN_IR_INSTRUCTIONTABLE_H
#define CLEAVE_DIALECTS_PLAN_IR_INSTRUCTIONTABLE_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace cleave::plan {

class BufferAttr;

struct InstructionDef {
  unsigned opcode; // the position in the definition
  llvm::StringRef mnemonic;
  llvm::SmallVector<llvm::StringRef> buffers; // without the trailing "..."
  bool anyBuffers;                            // the last name stands for any number of buffers
  llvm::SmallVector<llvm::StringRef> fields;
};

llvm::ArrayRef<InstructionDef> instructionTable();
// Returns null if there is no such instruction.
const InstructionDef *findInstruction(llvm::StringRef mnemonic);

// Return the attributes of `op` that its definition names, in the definition's order.
llvm::SmallVector<BufferAttr, 4> collectBuffers(mlir::Operation *op);
llvm::SmallVector<mlir::Attribute, 6> collectFields(mlir::Operation *op);

} // namespace cleave::plan

#endif
