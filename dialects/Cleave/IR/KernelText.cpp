#include "dialects/Cleave/IR/KernelText.h"

#include "runtime/base/Hash.h"

#include "mlir/IR/OperationSupport.h"

using namespace mlir;

namespace cleave {

void dropMarks(KernelOp kernel) {
  kernel.removeLabelAttr();
  kernel->setDiscardableAttrs(DictionaryAttr::get(kernel.getContext()));
}

std::string textOf(KernelOp kernel) {
  StringAttr label = kernel.getLabelAttr();
  DictionaryAttr marks = kernel->getDiscardableAttrDictionary();
  dropMarks(kernel);
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel->print(stream, OpPrintingFlags().useLocalScope());
  kernel.setLabelAttr(label);
  kernel->setDiscardableAttrs(marks);
  return text;
}

uint64_t codeOf(KernelOp kernel) { return rt::fnv1a(textOf(kernel)); }

bool haveEqualCode(KernelOp a, KernelOp b) {
  return a.getTied() == b.getTied() && a->getOperandTypes() == b->getOperandTypes() &&
         a->getResultTypes() == b->getResultTypes() &&
         OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

} // namespace cleave
