#include "dialects/Cleave/IR/Attributes.h"

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace cleave;

namespace {

// Sets of carriers and of levels, as bits.
enum Carrier : unsigned {
  Module = 1,
  Function = 2,
  Argument = 4,
  Result = 8,
  State = 16,
  Op = 32,
  ArgumentOrResult = Argument | Result,
  StateOrOp = State | Op
};
constexpr unsigned bitOf(Level level) { return 1u << static_cast<unsigned>(level); }
enum Levels : unsigned {
  Between = 0,
  AtModel = bitOf(Level::Model),
  AtPrograms = bitOf(Level::Programs),
  FromKernels = bitOf(Level::Kernels) | AtPrograms,
  FromSharded = bitOf(Level::Sharded) | FromKernels,
  FromStep = bitOf(Level::Step) | FromSharded,
  FromModel = AtModel | FromStep,
  Always = FromModel
};
struct Declaration {
  unsigned carriers;
  llvm::StringRef form;
  unsigned levels;
};

const llvm::StringMap<Declaration> &declarations() {
  static const llvm::StringMap<Declaration> table = {
#define CLEAVE_ATTRIBUTE(constant, name, carriers, form, levels, writer, readers, meaning)                             \
  {name, {carriers, form, levels}},
#include "dialects/Cleave/IR/Attributes.def"
  };
  return table;
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

template <typename Kind> bool is(mlir::Attribute attribute) { return llvm::isa<Kind>(attribute); }
template <typename Kind> bool isPair(mlir::Attribute attribute) {
  auto list = llvm::dyn_cast<Kind>(attribute);
  return list && list.size() == 2;
}
bool isI64(mlir::Attribute attribute) {
  auto number = llvm::dyn_cast<mlir::IntegerAttr>(attribute);
  return number && number.getType().isInteger(64);
}
template <int64_t least, int64_t most> bool isWithin(mlir::Attribute attribute) {
  auto number = isI64(attribute) ? llvm::cast<mlir::IntegerAttr>(attribute).getInt() : least - 1;
  return number >= least && number <= most;
}
constexpr int64_t kMostCount = int64_t(1) << 20, kMostIndex = INT32_MAX;
bool isF64(mlir::Attribute attribute) {
  auto number = llvm::dyn_cast<mlir::FloatAttr>(attribute);
  return number && number.getType().isF64();
}

using Test = bool (*)(mlir::Attribute);
Test testOf(llvm::StringRef word) {
  return llvm::StringSwitch<Test>(word)
      .Case("unit", is<mlir::UnitAttr>)
      .Case("bool", is<mlir::BoolAttr>)
      .Case("i64", isI64)
      .Case("count", isWithin<1, kMostCount>)
      .Case("index", isWithin<0, kMostIndex>)
      .Case("f64", isF64)
      .Case("string", is<mlir::StringAttr>)
      .Case("symbol", is<mlir::FlatSymbolRefAttr>)
      .Case("type", is<mlir::TypeAttr>)
      .Case("array<i64>", is<mlir::DenseI64ArrayAttr>)
      .Case("array<f64>", is<mlir::DenseF64ArrayAttr>)
      .Case("array<2xi64>", isPair<mlir::DenseI64ArrayAttr>)
      .Case("array<2xf64>", isPair<mlir::DenseF64ArrayAttr>)
      .Case("mesh", is<MeshAttr>)
      .Case("predicate", is<PredicateAttr>)
      .Case("sharding", is<ShardingAttr>)
      .Default(nullptr);
}

// Each `take` removes a form from the front of `text`, and returns whether the attribute has this form. A null
// attribute has no form, so with it a form is skipped.
bool takeForm(llvm::StringRef &text, mlir::Attribute attribute);

llvm::StringRef takeWord(llvm::StringRef &text) {
  llvm::StringRef word =
      text.take_while([](char c) { return llvm::isAlnum(c) || llvm::StringRef("_<>*").contains(c); });
  text = text.drop_front(word.size());
  return word;
}

// Takes "[form]", after its first character. Every element is compared with the same text.
bool takeList(llvm::StringRef &text, mlir::ArrayAttr list) {
  llvm::StringRef form = text;
  (void)takeForm(text, {});
  bool mayBeEmpty = !text.consume_front("+");
  bool fits = list && (mayBeEmpty || !list.empty());
  text.consume_front("]");
  return fits && llvm::all_of(list, [&](mlir::Attribute element) {
           llvm::StringRef each = form;
           return takeForm(each, element);
         });
}

// Takes "{key: form, optional?: form}" or "{*: form}", after its first character. No other keys are allowed.
bool takeDictionary(llvm::StringRef &text, mlir::DictionaryAttr entries) {
  bool fits = entries != nullptr;
  size_t known = 0;
  do {
    llvm::StringRef key = takeWord(text);
    bool isOptional = text.consume_front("?");
    text.consume_front(": ");
    llvm::StringRef form = text;
    mlir::Attribute entry = entries && key != "*" ? entries.get(key) : mlir::Attribute();
    bool entryFits = takeForm(text, entry);
    if (key == "*") {
      known = entries ? entries.size() : 0;
      entryFits = entries && llvm::all_of(entries, [&](mlir::NamedAttribute each) {
                    llvm::StringRef copy = form;
                    return takeForm(copy, each.getValue());
                  });
    }
    known += entry != nullptr;
    fits &= entryFits || (isOptional && !entry);
  } while (text.consume_front(", "));
  text.consume_front("}");
  return fits && known == entries.size();
}

bool takeAlternative(llvm::StringRef &text, mlir::Attribute attribute) {
  if (text.consume_front("["))
    return takeList(text, llvm::dyn_cast_if_present<mlir::ArrayAttr>(attribute));
  if (text.consume_front("{"))
    return takeDictionary(text, llvm::dyn_cast_if_present<mlir::DictionaryAttr>(attribute));
  Test test = testOf(takeWord(text));
  return attribute && test && test(attribute);
}

bool takeForm(llvm::StringRef &text, mlir::Attribute attribute) {
  bool fits = takeAlternative(text, attribute);
  while (text.consume_front(" or "))
    fits |= takeAlternative(text, attribute);
  return fits;
}

// Returns a text for people, such as "count (1 to 1048576)".
std::string explained(llvm::StringRef form) {
  if (form == "count")
    return llvm::formatv("count (1 to {0})", kMostCount);
  return form == "index" ? llvm::formatv("index (0 to {0})", kMostIndex).str() : form.str();
}

// Checks the form of an attribute. Errors about a function's argument or result are at the function, and `where` names
// the port.
llvm::LogicalResult checkForm(mlir::Operation *op, mlir::NamedAttribute attribute, unsigned carrier,
                              const llvm::Twine &where) {
  auto known = declarations().find(attribute.getName().getValue());
  // The verify pass of a level checks what may be there. And between passes, ops carry lists of `cleave.sharding`.
  if (known == declarations().end() || !(known->second.carriers & carrier))
    return llvm::success();
  llvm::StringRef text = known->second.form;
  if (takeForm(text, attribute.getValue()))
    return llvm::success();
  return op->emitOpError() << attribute.getName().getValue() << where << " expects the form " << explained(known->second.form)
                           << "; got: " << attribute.getValue();
}

unsigned carrierOf(mlir::Operation *op) {
  return llvm::isa<mlir::ModuleOp>(op)       ? Module
         : llvm::isa<mlir::func::FuncOp>(op) ? Function
         : llvm::isa<StateOp>(op)            ? State
                                             : Op;
}

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

class AttributeCheck {
public:
  explicit AttributeCheck(Level level) : level(level) {}

  llvm::LogicalResult run(mlir::ModuleOp module) {
    module.walk([&](mlir::Operation *op) {
      for (mlir::NamedAttribute attribute : op->getDiscardableAttrs())
        check(op, attribute, carrierOf(op), "");
      if (auto function = llvm::dyn_cast<mlir::func::FuncOp>(op))
        checkPorts(function);
    });
    return llvm::failure(isWrong);
  }

private:
  void checkPorts(mlir::func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      checkAll(function, function.getArgAttrDict(i), Argument, " of argument " + std::to_string(i));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      checkAll(function, function.getResultAttrDict(i), Result, " of result " + std::to_string(i));
  }

  void checkAll(mlir::func::FuncOp function, mlir::DictionaryAttr attributes, unsigned carrier,
                const std::string &where) {
    if (attributes)
      for (mlir::NamedAttribute attribute : attributes)
        check(function, attribute, carrier, where);
  }

  void check(mlir::Operation *op, mlir::NamedAttribute attribute, unsigned carrier, const std::string &where) {
    llvm::StringRef name = attribute.getName();
    if (!name.starts_with("cleave."))
      return;
    auto known = declarations().find(name);
    if (known == declarations().end())
      return (void)(error(op, name, where) << "is no attribute of the dialect (dialects/Cleave/IR/Attributes.def)");
    const Declaration &declared = known->second;
    if (!(declared.carriers & carrier))
      error(op, name, where) << "must not stand on " << carrierName(carrier);
    else if (!(declared.levels & bitOf(level)))
      error(op, name, where) << "must not be here at this level";
  }

  static llvm::StringRef carrierName(unsigned carrier) {
    switch (carrier) {
    case Module:
      return "a module";
    case Function:
      return "a function";
    case Argument:
      return "an argument";
    case Result:
      return "a result";
    case State:
      return "a state";
    default:
      return "an op";
    }
  }

  mlir::InFlightDiagnostic error(mlir::Operation *op, llvm::StringRef name, llvm::StringRef where) {
    isWrong = true;
    return op->emitOpError() << name << where << " ";
  }

  Level level;
  bool isWrong = false;
};

} // namespace

llvm::LogicalResult cleave::checkAttributes(mlir::ModuleOp module, Level level) {
  return AttributeCheck(level).run(module);
}

llvm::LogicalResult CleaveDialect::verifyOperationAttribute(mlir::Operation *op, mlir::NamedAttribute attribute) {
  return checkForm(op, attribute, carrierOf(op), "");
}

llvm::LogicalResult CleaveDialect::verifyRegionArgAttribute(mlir::Operation *op, unsigned /*region*/, unsigned argument,
                                                            mlir::NamedAttribute attribute) {
  return checkForm(op, attribute, Argument, " of argument " + llvm::Twine(argument));
}

llvm::LogicalResult CleaveDialect::verifyRegionResultAttribute(mlir::Operation *op, unsigned /*region*/,
                                                               unsigned result, mlir::NamedAttribute attribute) {
  return checkForm(op, attribute, Result, " of result " + llvm::Twine(result));
}
