// Stores large constant tensors: those that the importer computes from constants, and those of Constant nodes. Each
// becomes a state of role `constant`. Equal tensors share one state. A dimension of copies, such as the batch of an
// expanded mask, is not stored: it is broadcast where it is used. So it shows that the values are those of every sample.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_CONSTANTPOOL_H
#define CLEAVE_COMPILER_IMPORT_ONNX_CONSTANTPOOL_H

#include "compiler/Import/ONNX/File/Weights.h"
#include "compiler/Import/ONNX/Literal.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

#include <map>

namespace cleave::onnx_import {

class ConstantPool {
public:
  ConstantPool(mlir::SymbolTable &symbols, WeightMap &weights) : symbols_(symbols), weights_(weights) {}

  // True if the literal is too large for a `cleave.constant`.
  static bool isLarge(const Literal &literal);
  struct Stored {
    Literal literal;    // with size 1 in each dimension along which it repeats itself
    std::string symbol; // of the state that holds it; empty if it is small
  };
  // Declares the state of a large literal if no equal one has a state. The bytes are compared once for each type and
  // place of bytes, however often a loop or a second name asks for them, and the comparison is drawn from the budget.
  const Stored &stored(const Literal &literal);
  // Returns the elements of a state that stored() has declared; null for another state.
  std::shared_ptr<const Literal> find(llvm::StringRef symbol) const { return literals_.lookup(symbol); }

private:
  std::string stateOf(const Literal &literal);

  mlir::SymbolTable &symbols_;
  WeightMap &weights_;
  std::map<std::pair<const void *, const void *>, std::pair<Literal, Stored>>
      stored_; // by type and bytes, which it keeps
  std::map<std::pair<const void *, size_t>, std::vector<std::pair<Literal, std::string>>>
      known_;                                                // (type, hash) -> symbols
  llvm::StringMap<std::shared_ptr<const Literal>> literals_; // by symbol
  size_t count_ = 0;
};

} // namespace cleave::onnx_import

#endif
