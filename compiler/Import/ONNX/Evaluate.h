// Operations on known tensors, as pure functions: with them an exporter's shape arithmetic vanishes at import.
//
// Arguments have been checked by the handlers. A result that would have more than Literal::kMaxElements elements is
// none, and so is one for which the budget (dialects/Cleave/IR/Budget.h) has too little left.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_EVALUATE_H
#define CLEAVE_COMPILER_IMPORT_ONNX_EVALUATE_H

#include "compiler/Import/ONNX/Literal.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace cleave::onnx_import {

// Asked before a loop over all elements of a shape. Whoever evaluates by other means than the functions below asks, too.
bool mayEvaluate(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> shape);

// Row-major strides, 0 in dimensions of size 1 so that broadcasting reads the same element again.
Shape stridesOf(llvm::ArrayRef<int64_t> shape);

// Calls `visit` with every index of the shape in row-major order. False when there are more than
// Literal::kMaxElements.
bool forEachIndex(llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

// Result element at `index` is operand element map(index). The base of all that only moves elements.
std::optional<Literal> gatherElements(const Literal &operand, llvm::ArrayRef<int64_t> shape,
                                      llvm::function_ref<int64_t(llvm::ArrayRef<int64_t>)> map);

std::optional<Literal> transposeLiteral(const Literal &operand, llvm::ArrayRef<int64_t> permutation);
std::optional<Literal> broadcastLiteral(const Literal &operand, llvm::ArrayRef<int64_t> shape);
// Steps may be negative.
std::optional<Literal> sliceLiteral(const Literal &operand, llvm::ArrayRef<int64_t> starts,
                                    llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> steps);
std::optional<Literal> concatLiterals(llvm::ArrayRef<const Literal *> parts, int64_t dim);
// None also when an index is out of range.
std::optional<Literal> takeLiteral(const Literal &operand, const Literal &indices, int64_t dim);
std::optional<Literal> reduceLiteral(const Literal &operand, llvm::ArrayRef<int64_t> dims, bool keepDims,
                                     llvm::function_ref<double(double, double)> real,
                                     llvm::function_ref<int64_t(int64_t, int64_t)> integer);

// Element-wise with numpy's broadcasting, `element` being the result's type. Floating-point operands go to `real`,
// others to `integer`.
std::optional<Literal> mapLiterals(const Literal &a, const Literal &b, mlir::Type element,
                                   llvm::function_ref<double(double, double)> real,
                                   llvm::function_ref<int64_t(int64_t, int64_t)> integer);
std::optional<Literal> selectLiteral(const Literal &condition, const Literal &onTrue, const Literal &onFalse);

} // namespace cleave::onnx_import

#endif
