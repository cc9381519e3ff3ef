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
struct Binding {
  enum class Kind { Absent, Failed, Computed, Known, State, Sequence };
  Kind kind = Kind::Absent;
  Value value;                                          // Computed; Known and State once they were used
  std::shared_ptr<const Literal> known;                 // Known; what a State of one element is at first
  std::string symbol;                                   // State
  std::shared_ptr<const std::vector<Binding>> elements; // Sequence

  // Also a sequence of known tensors.
  bool isKnown() const {
    return kind == Kind::Known || (kind == Kind::Sequence &&
                                   llvm::all_of(*elements, [](const Binding &binding) { return binding.isKnown(); }));
  }
  // Itself, or a sequence's elements.
  llvm::ArrayRef<Binding> parts() const {
    return kind == Kind::Sequence ? llvm::ArrayRef<Binding>(*elements) : llvm::ArrayRef<Binding>(*this);
  }

  static Binding failed() { return of(Kind::Failed); }
  static Binding computed(Value value) {
    Binding binding = of(Kind::Computed);
    binding.value = value;
    return binding;
  }
  static Binding literal(Literal literal) {
    Binding binding = of(Kind::Known);
    binding.known = std::make_shared<const Literal>(std::move(literal));
    return binding;
  }
  static Binding sequence(std::vector<Binding> elements) {
    Binding binding = of(Kind::Sequence);
    binding.elements = std::make_shared<const std::vector<Binding>>(std::move(elements));
    return binding;
  }
  static Binding state(llvm::StringRef symbol) {
    Binding binding = of(Kind::State);
    binding.symbol = symbol.str();
    return binding;
  }

private:
  static Binding of(Kind kind) {
    Binding binding;
    binding.kind = kind;
    return binding;
  }
};

// Names and states of one function. States are read where they are first used; a new value is kept aside, seen by later
// reads, and written once at the function's end, so that every read stands before every write.
class Environment {
public:
  Environment(Emitter &emit, mlir::SymbolTable &symbols, ConstantPool &constants)
      : emit_(emit), symbols_(symbols), constants_(constants) {}

  // The binding of a name; Absent for the empty name.
  Binding &binding(llvm::StringRef name) { return bindings_[name]; }
  void define(llvm::StringRef name, Binding binding) { bindings_[name] = std::move(binding); }

  // The tensor, made where it is used first; null for a sequence.
  Value value(llvm::StringRef name) { return materialize(bindings_[name]); }
  Value materialize(Binding &binding);
  // The types that a value may have: one, or any sequence where a sequence is empty; none of what failed.
  TypeSet typesOf(const Binding &binding) const;
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
  llvm::StringMap<Binding> bindings_;
  llvm::StringMap<Value> reads_;
  std::map<std::string, Value> pending_;
};

} // namespace cleave::onnx_import

#endif
