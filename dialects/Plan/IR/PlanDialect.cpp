#include "dialects/Plan/IR/Plan.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace cleave::plan;

// Parses a plain number. The declarative printer would add ": i64" to it.
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

// Parses an event: the number of one of the program's own events, or the symbol of one of the plan's events with its
// frame. The frame is left out if it is the running program's.
static mlir::ParseResult parseEvent(mlir::OpAsmParser &parser, mlir::Attribute &event, mlir::IntegerAttr &frame) {
  int64_t number = 0;
  mlir::OptionalParseResult isNumber = parser.parseOptionalInteger(number);
  frame = parser.getBuilder().getI64IntegerAttr(0);
  if (isNumber.has_value()) {
    event = parser.getBuilder().getI64IntegerAttr(number);
    return *isNumber;
  }
  mlir::StringAttr symbol;
  if (parser.parseSymbolName(symbol))
    return mlir::failure();
  event = mlir::FlatSymbolRefAttr::get(symbol);
  if (mlir::succeeded(parser.parseOptionalLSquare()))
    return mlir::failure(parseI64(parser, frame) || parser.parseRSquare());
  return mlir::success();
}
static void printEvent(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Attribute event, mlir::IntegerAttr frame) {
  if (auto number = llvm::dyn_cast<mlir::IntegerAttr>(event))
    printer << number.getInt();
  else
    printer << event;
  if (frame && frame.getInt() != 0)
    printer << "[" << frame.getInt() << "]";
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
