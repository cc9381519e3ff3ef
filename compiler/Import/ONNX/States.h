// Declares states in the form of the model level: one segment each, and a symbol that is derived from the original
// name.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_STATES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_STATES_H

#include "dialects/Cleave/IR/Cleave.h"

namespace cleave::onnx_import {

// A constant tensor of more bytes becomes a state.
constexpr int64_t kMaxConstantBytes = 4096;

// Declares a state, and returns its symbol: a sanitized and unique form of `name`. Its weights, if any, are stored
// under `name` itself. `aliases` are further names that users know it by.
std::string declareState(mlir::SymbolTable &symbols, llvm::StringRef name, mlir::RankedTensorType type, Role role,
                         InitAttr initial, bool frozen = false, llvm::ArrayRef<std::string> aliases = {});
std::string declareState(mlir::SymbolTable &symbols, llvm::StringRef name, mlir::RankedTensorType type, Role role,
                         InitKind init, bool frozen = false, llvm::ArrayRef<std::string> aliases = {});

} // namespace cleave::onnx_import

#endif
