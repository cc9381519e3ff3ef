#include "compiler/Import/ONNX/States.h"

#include "llvm/ADT/StringExtras.h"

using namespace cleave;
using namespace cleave::onnx_import;

// Letters, digits, `_` and `.` stay: MLIR prints such symbols without quotes.
static std::string sanitize(llvm::StringRef name) {
  std::string symbol;
  for (char c : name.take_front(200))
    symbol += llvm::isAlnum(c) || c == '.' ? c : '_';
  return symbol.empty() || llvm::isDigit(symbol[0]) || symbol[0] == '.' ? "_" + symbol : symbol;
}

std::string cleave::onnx_import::declareState(mlir::SymbolTable &symbols, llvm::StringRef name,
                                              mlir::RankedTensorType type, Role role, InitKind init, bool frozen) {
  mlir::OpBuilder builder(symbols.getOp()->getContext());
  auto *context = builder.getContext();
  auto original = builder.getStringAttr(name);
  auto initial = InitAttr::get(context, init, init == InitKind::Weights ? original : mlir::StringAttr(), {});
  auto segment = SegmentAttr::get(context, original, type, /*offset=*/0, /*group=*/0, initial, {});
  auto state = StateOp::create(builder, builder.getUnknownLoc(), builder.getStringAttr(sanitize(name)),
                               mlir::TypeAttr::get(type), RoleAttr::get(context, role), builder.getArrayAttr({segment}),
                               /*slot=*/{}, /*storage=*/{}, frozen ? builder.getUnitAttr() : mlir::UnitAttr());
  // States stand before functions. A symbol that is taken is renamed.
  mlir::Block &body = *llvm::cast<mlir::ModuleOp>(symbols.getOp()).getBody();
  auto place = body.end();
  while (place != body.begin() && llvm::isa<mlir::func::FuncOp>(*std::prev(place)))
    --place;
  return symbols.insert(state, place).getValue().str();
}
