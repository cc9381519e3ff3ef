#ifndef PLAN_INTERFACES_TD
#define PLAN_INTERFACES_TD

include "mlir/IR/OpBase.td"

def InstructionOpInterface : OpInterface<"InstructionOpInterface"> {
  let cppNamespace = "::cleave::plan";
  let description = [{
    An op that is one entry of runtime/plan/Instructions.def. Its mnemonic and the names of its attributes are those of the
    definition, which is all that the default implementations need; serialization is one loop over the definition table.
  }];
  let methods = [
    InterfaceMethod<"The entry of the definition table, or null when the mnemonic is not there.",
      "const ::cleave::plan::InstructionDef *", "getDefinition", (ins), "",
      "return ::cleave::plan::findInstruction($_op->getName().stripDialect());">,
    InterfaceMethod<"The buffers in the definition's order.",
      "::llvm::SmallVector<::cleave::plan::BufferAttr, 4>", "getInstructionBuffers", (ins), "",
      "return ::cleave::plan::collectBuffers($_op);">,
    InterfaceMethod<"The values of the definition's fields, in its order; symbols and types are not yet numbers.",
      "::llvm::SmallVector<::mlir::Attribute, 6>", "getInstructionFields", (ins), "",
      "return ::cleave::plan::collectFields($_op);">,
    InterfaceMethod<"The name of the stream.", "::llvm::StringRef", "getStreamName", (ins), "",
      "return $_op.getStream();">,
    InterfaceMethod<"Where the instruction comes from; empty when unknown.", "::llvm::StringRef", "getNoteText", (ins), "",
      "return $_op.getNote().value_or(\"\");">
  ];
}

#endif
