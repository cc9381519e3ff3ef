#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attention.h"
#include "dialects/Cleave/IR/Budget.h"
#include "dialects/Cleave/IR/ChannelsLast.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/ConvolutionGradients.h"
#include "dialects/Cleave/IR/CutLoops.h"
#include "dialects/Cleave/IR/Elementwise.h"
#include "dialects/Cleave/IR/ElementwiseGradients.h"
#include "dialects/Cleave/IR/GradientFlow.h"
#include "dialects/Cleave/IR/IndexingGradients.h"
#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/IR/Products.h"
#include "dialects/Cleave/IR/Scatter.h"
#include "dialects/Cleave/IR/StopGradient.h"
#include "dialects/Cleave/IR/Trigonometry.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace cleave;

#include "dialects/Cleave/IR/CleaveDialect.cpp.inc"
#include "dialects/Cleave/IR/CleaveEnums.cpp.inc"

// Parses `, source = "w"` and `, value = 1.0`, both optional. A declarative format cannot tell apart two optional
// groups that both begin with a comma.
static mlir::ParseResult parseInitFields(mlir::AsmParser &parser, mlir::StringAttr &source, mlir::FloatAttr &value) {
  while (mlir::succeeded(parser.parseOptionalComma())) {
    bool isSource = mlir::succeeded(parser.parseOptionalKeyword("source"));
    if (!isSource && parser.parseKeyword("value", " or `source`"))
      return mlir::failure();
    if (parser.parseEqual())
      return mlir::failure();
    if (isSource ? parser.parseAttribute(source) : parser.parseAttribute(value))
      return mlir::failure();
  }
  return mlir::success();
}

static void printInitFields(mlir::AsmPrinter &printer, mlir::StringAttr source, mlir::FloatAttr value) {
  if (source)
    printer << ", source = " << source;
  if (value) {
    printer << ", value = ";
    printer.printAttribute(value);
  }
}

#define GET_ATTRDEF_CLASSES
#include "dialects/Cleave/IR/CleaveAttrs.cpp.inc"

#include "dialects/Cleave/IR/CleaveInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Cleave/IR/CleaveOps.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Cleave/IR/CleaveScatterOps.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Cleave/IR/CleaveGradientOps.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Cleave/IR/CleaveTrigonometryOps.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Cleave/IR/CleaveAttentionOps.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Cleave/IR/CleaveProductOps.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Cleave/IR/CleaveChannelsLastOps.cpp.inc"

void CleaveDialect::initialize() {
  addInterfaces<Budget>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Cleave/IR/CleaveAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Cleave/IR/CleaveOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Cleave/IR/CleaveScatterOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Cleave/IR/CleaveGradientOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Cleave/IR/CleaveTrigonometryOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Cleave/IR/CleaveAttentionOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Cleave/IR/CleaveProductOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Cleave/IR/CleaveChannelsLastOps.cpp.inc"
      >();
  attachPutAddGradient(*getContext());
  attachConvolutionGradients(*getContext());
  attachElementwiseGradients(*getContext());
  attachDecisions(*getContext());
  attachChannelsLast(*getContext());
  attachCutLoops(*getContext());
  attachAlgebra(*getContext());
}

mlir::Operation *CleaveDialect::materializeConstant(mlir::OpBuilder &builder, mlir::Attribute value, mlir::Type type,
                                                    mlir::Location loc) {
  auto elements = llvm::dyn_cast<mlir::ElementsAttr>(value);
  return elements && elements.getType() == type ? ConstantOp::create(builder, loc, elements) : nullptr;
}
