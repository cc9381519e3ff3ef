#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/Elementwise.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace cleave;

#include "dialects/Cleave/IR/CleaveDialect.cpp.inc"
#include "dialects/Cleave/IR/CleaveEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Cleave/IR/CleaveAttrs.cpp.inc"

#include "dialects/Cleave/IR/CleaveInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Cleave/IR/CleaveOps.cpp.inc"

void CleaveDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Cleave/IR/CleaveAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Cleave/IR/CleaveOps.cpp.inc"
      >();
}

mlir::Operation *CleaveDialect::materializeConstant(mlir::OpBuilder &builder, mlir::Attribute value, mlir::Type type,
                                                    mlir::Location loc) {
  auto elements = llvm::dyn_cast<mlir::ElementsAttr>(value);
  return elements && elements.getType() == type ? ConstantOp::create(builder, loc, elements) : nullptr;
}
