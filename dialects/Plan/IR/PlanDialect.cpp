#include "dialects/Plan/IR/Plan.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace cleave::plan;

// The one custom directive: a plain number. The declarative printer would add ": i64" to it.
static mlir::ParseResult parseI64(mlir::OpAsmParser &parser, mlir::IntegerAttr &value) {
  int64_t number = 0;
  if (parser.parseInteger(number))
    return mlir::failure();
  value = parser.getBuilder().getI64IntegerAttr(number);
  return mlir::success();
}
static void printI64(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::IntegerAttr value) {
  printer << value.getInt();
}

#include "dialects/Plan/IR/PlanDialect.cpp.inc"
#include "dialects/Plan/IR/PlanEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/IR/PlanAttrs.cpp.inc"

#include "dialects/Plan/IR/PlanInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Plan/IR/PlanOps.cpp.inc"

void PlanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Plan/IR/PlanAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Plan/IR/PlanOps.cpp.inc"
      >();
}
