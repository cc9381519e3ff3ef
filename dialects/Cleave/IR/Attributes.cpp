#include "dialects/Cleave/IR/Attributes.h"

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

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
enum class AttributeType { Any, Unit, I64, String, Symbol, Type, Array, Dictionary, I64List, F64List, Mesh, Sharding };

struct Declaration {
  unsigned carriers;
  AttributeType type;
  unsigned levels;
};

const llvm::StringMap<Declaration> &declarations() {
  static const llvm::StringMap<Declaration> table = {
#define CLEAVE_ATTRIBUTE(constant, name, carriers, type, levels, writer, readers, meaning)                             \
  {name, {carriers, AttributeType::type, levels}},
#include "dialects/Cleave/IR/Attributes.def"
  };
  return table;
}

bool hasType(mlir::Attribute attribute, AttributeType type) {
  switch (type) {
  case AttributeType::Any:
    return true;
  case AttributeType::Unit:
    return llvm::isa<mlir::UnitAttr>(attribute);
  case AttributeType::I64: {
    auto number = llvm::dyn_cast<mlir::IntegerAttr>(attribute);
    return number && number.getType().isInteger(64);
  }
  case AttributeType::String:
    return llvm::isa<mlir::StringAttr>(attribute);
  case AttributeType::Symbol:
    return llvm::isa<mlir::FlatSymbolRefAttr>(attribute);
  case AttributeType::Type:
    return llvm::isa<mlir::TypeAttr>(attribute);
  case AttributeType::Array:
    return llvm::isa<mlir::ArrayAttr>(attribute);
  case AttributeType::Dictionary:
    return llvm::isa<mlir::DictionaryAttr>(attribute);
  case AttributeType::I64List:
    return llvm::isa<mlir::DenseI64ArrayAttr>(attribute);
  case AttributeType::F64List:
    return llvm::isa<mlir::DenseF64ArrayAttr>(attribute);
  case AttributeType::Mesh:
    return llvm::isa<MeshAttr>(attribute);
  case AttributeType::Sharding:
    return llvm::isa<ShardingAttr>(attribute);
  }
  llvm_unreachable("all types are above");
}

llvm::StringRef nameOf(AttributeType type) {
  constexpr llvm::StringLiteral names[] = {"an attribute",  "a unit",        "an i64",   "a string",
                                           "a symbol",      "a type",        "an array", "a dictionary",
                                           "an array<i64>", "an array<f64>", "a mesh",   "a sharding"};
  return names[static_cast<unsigned>(type)];
}

class AttributeCheck {
public:
  explicit AttributeCheck(Level level) : level(level) {}

  llvm::LogicalResult run(mlir::ModuleOp module) {
    module.walk([&](mlir::Operation *op) {
      auto function = llvm::dyn_cast<mlir::func::FuncOp>(op);
      unsigned carrier = llvm::isa<mlir::ModuleOp>(op) ? Module
                         : function                    ? Function
                         : llvm::isa<StateOp>(op)      ? State
                                                       : Op;
      for (mlir::NamedAttribute attribute : op->getDiscardableAttrs())
        check(op, attribute, carrier, "");
      if (function)
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
    else if (!hasType(attribute.getValue(), declared.type))
      error(op, name, where) << "expects " << nameOf(declared.type) << "; got: " << attribute.getValue();
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
