// Maps each name of the graph to its binding while one function is imported.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_ENVIRONMENT_H
#define CLEAVE_COMPILER_IMPORT_ONNX_ENVIRONMENT_H

#include "compiler/Import/ONNX/ConstantPool.h"
#include "compiler/Import/ONNX/Emitter.h"
#include "compiler/Import/ONNX/Operators/OperatorSchemas.h"

#include <map>
#include <memory>

namespace cleave::onnx_import {

// The meaning of a name. `Failed` is the result of a node that has already been reported: nodes that depend on it are
// skipped without another message.
struct Binding {
  // Sequences share their elements: a chain of SequenceInserts keeps a copy of the list for each of its names.
  using Sequence = std::vector<std::shared_ptr<const Binding>>;

  enum class Kind { Absent, Failed, Computed, Known, State, Sequence };
  Kind kind = Kind::Absent;
  Value value;                              // Computed; Known after its first use
  std::shared_ptr<const Literal> known;     // Known; the initial value of a State of one element
  std::string symbol;                       // State
  std::shared_ptr<const Sequence> elements; // Sequence

  // Also true for a sequence whose elements are all known tensors.
  bool isKnown() const {
    return kind == Kind::Known ||
           (kind == Kind::Sequence && llvm::all_of(*elements, [](const auto &element) { return element->isKnown(); }));
  }
  // Returns the elements of a sequence, or the binding itself.
  llvm::SmallVector<const Binding *, 1> parts() const {
    if (kind != Kind::Sequence)
      return {this};
    return llvm::map_to_vector<1>(*elements, [](const auto &element) { return element.get(); });
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
  static Binding sequence(Sequence elements) {
    Binding binding = of(Kind::Sequence);
    binding.elements = std::make_shared<const Sequence>(std::move(elements));
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

// The names and states of one function. A state is read at its first use. A new value of a state is kept in `pending_`,
// where later reads find it, and is written once at the end of the function. So all reads precede all writes.
class Environment {
public:
  Environment(Emitter &emit, mlir::SymbolTable &symbols, ConstantPool &constants)
      : emit_(emit), symbols_(symbols), constants_(constants) {}

  // Returns the binding of a name. The empty name is Absent.
  Binding &binding(llvm::StringRef name) { return bindings_[name]; }
  void define(llvm::StringRef name, Binding binding) { bindings_[name] = std::move(binding); }

  // Returns the tensor, which is emitted at its first use. Returns null for a sequence.
  Value value(llvm::StringRef name) { return materialize(bindings_[name]); }
  Value materialize(Binding &binding);
  // Returns the types that the value may have. This is one type, except for an empty sequence, which may be any
  // sequence. It is 0 if the binding failed.
  TypeSet typesOf(const Binding &binding) const;
  Value readState(llvm::StringRef symbol);
  StateOp state(llvm::StringRef symbol) const { return symbols_.lookup<StateOp>(symbol); }
  // Returns the elements of a large constant of the graph that a state holds; null if the state holds something else.
  std::shared_ptr<const Literal> constant(llvm::StringRef symbol) const { return constants_.find(symbol); }
  // Reads a state of role `scalar` and type tensor<i64> that the host writes (`scalar.seed`, `scalar.step`). The first
  // read declares the state.
  Value readScalar(llvm::StringRef symbol);
  void writeState(llvm::StringRef symbol, Value value);
  // Returns how many values the state was given so far.
  int64_t writesOf(llvm::StringRef symbol) const { return writes_.lookup(symbol); }
  void emitWrites();

private:
  Value materialize(const Literal &literal);

  Emitter &emit_;
  mlir::SymbolTable &symbols_;
  ConstantPool &constants_;
  llvm::StringMap<Binding> bindings_;
  llvm::StringMap<Value> reads_;
  std::map<std::string, Value> pending_;
  llvm::StringMap<int64_t> writes_;
};

} // namespace cleave::onnx_import

#endif
