#include "compiler/Import/ONNX/States.h"

#include "dialects/Cleave/IR/StepFunctions.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace cleave;
using namespace cleave::onnx_import;

// True for names of functions, regions, programs and states that later passes create, and look up by name.
static bool isReserved(llvm::StringRef symbol) {
  static const llvm::StringSet<> words = {"mesh",      "infer",    "evaluate",   "update",        "train_step",
                                          "init",      "snapshot", "persistent", "input",         "output",
                                          "transient", "residual", "workspace",  "state_copy",    "unreduced",
                                          "gathered",  "server",   "worker",     "communication", "staging"};
  static const llvm::StringSet<> owners = {"micro", "model", "group", "coordinate", "scalar", "host"};
  llvm::StringRef number = symbol;
  bool isBucket = number.consume_front("bucket") && llvm::all_of(number, llvm::isDigit);
  auto [gradient, chunk] = symbol.rsplit('.');
  bool isGradient = symbol.ends_with(".grad") || (gradient.ends_with(".grad") && chunkNumber(chunk));
  return words.contains(symbol) || owners.contains(symbol.split('.').first) || chunkNumber(symbol) || isGradient ||
         symbol.starts_with("constant.kernel.") || isBucket;
}

// Replaces all characters but letters, digits, `_` and `.`. MLIR prints the remaining symbols without quotes.
static std::string sanitize(llvm::StringRef name, Role role) {
  std::string symbol;
  for (char c : name.take_front(200))
    symbol += llvm::isAlnum(c) || c == '.' ? c : '_';
  if (role != Role::Scalar && isReserved(symbol))
    symbol = "_" + symbol + "_";
  return symbol.empty() || llvm::isDigit(symbol[0]) || symbol[0] == '.' ? "_" + symbol : symbol;
}

std::string cleave::onnx_import::declareState(mlir::SymbolTable &symbols, llvm::StringRef name,
                                              mlir::RankedTensorType type, Role role, InitKind init, bool frozen,
                                              llvm::ArrayRef<std::string> aliases) {
  auto *context = symbols.getOp()->getContext();
  auto source = init == InitKind::Weights ? mlir::StringAttr::get(context, name) : mlir::StringAttr();
  return declareState(symbols, name, type, role, InitAttr::get(context, init, source, {}), frozen, aliases);
}

std::string cleave::onnx_import::declareState(mlir::SymbolTable &symbols, llvm::StringRef name,
                                              mlir::RankedTensorType type, Role role, InitAttr initial, bool frozen,
                                              llvm::ArrayRef<std::string> aliases) {
  mlir::OpBuilder builder(symbols.getOp()->getContext());
  auto *context = builder.getContext();
  auto original = builder.getStringAttr(name);
  auto segment =
      SegmentAttr::get(context, original, type, /*offset=*/0, /*group=*/0, initial,
                       aliases.empty() ? mlir::ArrayAttr()
                                       : builder.getStrArrayAttr(llvm::SmallVector<llvm::StringRef>(llvm::map_range(
                                             aliases, [](auto &alias) { return llvm::StringRef(alias); }))));
  auto state = StateOp::create(builder, builder.getUnknownLoc(), builder.getStringAttr(sanitize(name, role)),
                               mlir::TypeAttr::get(type), RoleAttr::get(context, role), builder.getArrayAttr({segment}),
                               /*slot=*/{}, /*storage=*/{}, frozen ? builder.getUnitAttr() : mlir::UnitAttr());
  // States precede functions. If the symbol is taken, the new state gets another one.
  mlir::Block &body = *llvm::cast<mlir::ModuleOp>(symbols.getOp()).getBody();
  auto place = body.end();
  while (place != body.begin() && llvm::isa<mlir::func::FuncOp>(*std::prev(place)))
    --place;
  return symbols.insert(state, place).getValue().str();
}
