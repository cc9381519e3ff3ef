// What every name of the graph stands for while one function is imported.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_ENVIRONMENT_H
#define CLEAVE_COMPILER_IMPORT_ONNX_ENVIRONMENT_H

#include "compiler/Import/ONNX/ConstantPool.h"
#include "compiler/Import/ONNX/Emitter.h"
#include "compiler/Import/ONNX/Operators/OperatorSchemas.h"

#include <map>
#include <memory>

namespace cleave::onnx_import {

// A name stands for one of these. `Failed` is the result of a node that was reported already: what depends on it is
// skipped silently.
struct Slot {
  enum class Kind { Absent, Failed, Computed, Known, State, Sequence };
  Kind kind = Kind::Absent;
  Value value;                                       // Computed; Known and State once they were used
  std::shared_ptr<const Literal> known;              // Known; what a State of one element is at first
  std::string symbol;                                // State
  std::shared_ptr<const std::vector<Slot>> elements; // Sequence

  // Also a sequence of known tensors.
  bool isKnown() const {
    return kind == Kind::Known ||
           (kind == Kind::Sequence && llvm::all_of(*elements, [](const Slot &slot) { return slot.isKnown(); }));
  }
  // Itself, or a sequence's elements.
  llvm::ArrayRef<Slot> parts() const {
    return kind == Kind::Sequence ? llvm::ArrayRef<Slot>(*elements) : llvm::ArrayRef<Slot>(*this);
  }

  static Slot failed() { return of(Kind::Failed); }
  static Slot computed(Value value) {
    Slot slot = of(Kind::Computed);
    slot.value = value;
    return slot;
  }
  static Slot literal(Literal literal) {
    Slot slot = of(Kind::Known);
    slot.known = std::make_shared<const Literal>(std::move(literal));
    return slot;
  }
  static Slot sequence(std::vector<Slot> elements) {
    Slot slot = of(Kind::Sequence);
    slot.elements = std::make_shared<const std::vector<Slot>>(std::move(elements));
    return slot;
  }
  static Slot state(llvm::StringRef symbol) {
    Slot slot = of(Kind::State);
    slot.symbol = symbol.str();
    return slot;
  }

private:
  static Slot of(Kind kind) {
    Slot slot;
    slot.kind = kind;
    return slot;
  }
};

// Names and states of one function. States are read where they are first used; a new value is kept aside, seen by later
// reads, and written once at the function's end, so that every read stands before every write.
class Environment {
public:
  Environment(Emitter &emit, mlir::SymbolTable &symbols, ConstantPool &constants)
      : emit_(emit), symbols_(symbols), constants_(constants) {}

  // The slot of a name; Absent for the empty name.
  Slot &slot(llvm::StringRef name) { return slots_[name]; }
  void define(llvm::StringRef name, Slot slot) { slots_[name] = std::move(slot); }

  // The tensor, made where it is used first; null for a sequence.
  Value value(llvm::StringRef name) { return materialize(slots_[name]); }
  Value materialize(Slot &slot);
  // The types that a value may have: one, or any sequence where a sequence is empty; none of what failed.
  TypeSet typesOf(const Slot &slot) const;
  Value readState(llvm::StringRef symbol);
  // A state of role scalar and type tensor<i64> that the host writes (`scalar.seed`, `scalar.step`); declared where it
  // is used first.
  Value readScalar(llvm::StringRef symbol);
  void writeState(llvm::StringRef symbol, Value value) { pending_[symbol.str()] = value; }
  void emitWrites();

private:
  Emitter &emit_;
  mlir::SymbolTable &symbols_;
  ConstantPool &constants_;
  llvm::StringMap<Slot> slots_;
  llvm::StringMap<Value> reads_;
  std::map<std::string, Value> pending_;
};

} // namespace cleave::onnx_import

#endif
