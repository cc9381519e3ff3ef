// Declaring states as the model level wants them: one segment each, under a symbol made of the original name.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_STATES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_STATES_H

#include "dialects/Cleave/IR/Cleave.h"

namespace cleave::onnx_import {

// Bytes above which a constant tensor is a state.
constexpr int64_t kMaxConstantBytes = 4096;

// Returns the symbol: a sanitized and unique form of the name. Its weights, if any, are found under `name` itself.
std::string declareState(mlir::SymbolTable &symbols, llvm::StringRef name, mlir::RankedTensorType type, Role role,
                         InitAttr initial, bool frozen = false);
std::string declareState(mlir::SymbolTable &symbols, llvm::StringRef name, mlir::RankedTensorType type, Role role,
                         InitKind init, bool frozen = false);

} // namespace cleave::onnx_import

#endif
