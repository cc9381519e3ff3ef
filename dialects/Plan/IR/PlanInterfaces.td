#ifndef PLAN_INTERFACES_TD
#define PLAN_INTERFACES_TD

include "mlir/IR/OpBase.td"

def InstructionOpInterface : OpInterface<"InstructionOpInterface"> {
  let cppNamespace = "::cleave::plan";
  let description = [{
    An op that stands for one entry of runtime/plan/Instructions.def. Its mnemonic and the names of its attributes are those of
    the entry. The default implementations need nothing else. So one loop over the table writes every instruction.
  }];
  let methods = [
    InterfaceMethod<"Returns the entry of the definition table; null if it has none with this mnemonic.",
      "const ::cleave::plan::InstructionDef *", "getDefinition", (ins), "",
      "return ::cleave::plan::findInstruction($_op->getName().stripDialect());">,
    InterfaceMethod<"Returns the buffers in the order of the definition.",
      "::llvm::SmallVector<::cleave::plan::BufferAttr, 4>", "getInstructionBuffers", (ins), "",
      "return ::cleave::plan::collectBuffers($_op);">,
    InterfaceMethod<"Returns the values of the fields in the order of the definition. Symbols and types are not numbers yet.",
      "::llvm::SmallVector<::mlir::Attribute, 6>", "getInstructionFields", (ins), "",
      "return ::cleave::plan::collectFields($_op);">,
    InterfaceMethod<"Returns the name of the stream.", "::llvm::StringRef", "getStreamName", (ins), "",
      "return $_op.getStream();">,
    InterfaceMethod<"Returns where the instruction comes from; empty if this is not known.", "::llvm::StringRef", "getNoteText", (ins), "",
      "return $_op.getNote().value_or(\"\");">
  ];
}

#endif
