// Evaluates operations on known tensors, as pure functions. They compute an exporter's shape arithmetic while the model
// is imported.
//
// Handlers must have checked the arguments. A function returns nullopt if its result would have more than
// Literal::kMaxElements elements, or if the budget (dialects/Cleave/IR/Budget.h) is exhausted.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_EVALUATE_H
#define CLEAVE_COMPILER_IMPORT_ONNX_EVALUATE_H

#include "compiler/Import/ONNX/Literal.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace cleave::onnx_import {

// Draws the elements of `shape` from the budget, and returns whether they may be evaluated. Code that loops over
// elements without the functions below must call it first.
bool mayEvaluate(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> shape);

// Returns row-major strides. The stride of a dimension of size 1 is 0, so that broadcasting reads the same element
// again.
Shape stridesOf(llvm::ArrayRef<int64_t> shape);

// Calls `visit` with every index of the shape in row-major order. Returns false if there are more than
// Literal::kMaxElements.
bool forEachIndex(llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

// Returns the literal whose element at `index` is element map(index) of the operand. All functions that only move
// elements use it.
std::optional<Literal> gatherElements(const Literal &operand, llvm::ArrayRef<int64_t> shape,
                                      llvm::function_ref<int64_t(llvm::ArrayRef<int64_t>)> map);

std::optional<Literal> transposeLiteral(const Literal &operand, llvm::ArrayRef<int64_t> permutation);
std::optional<Literal> broadcastLiteral(const Literal &operand, llvm::ArrayRef<int64_t> shape);
// Steps may be negative.
std::optional<Literal> sliceLiteral(const Literal &operand, llvm::ArrayRef<int64_t> starts,
                                    llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> steps);
std::optional<Literal> concatLiterals(llvm::ArrayRef<const Literal *> parts, int64_t dim);
// Also returns nullopt if an index is out of range.
std::optional<Literal> takeLiteral(const Literal &operand, const Literal &indices, int64_t dim);
std::optional<Literal> reduceLiteral(const Literal &operand, llvm::ArrayRef<int64_t> dims, bool keepDims,
                                     llvm::function_ref<double(double, double)> real,
                                     llvm::function_ref<int64_t(int64_t, int64_t)> integer);

// Applies a function to each pair of elements, with numpy's broadcasting. `element` is the result's element type.
// `real` is used if operand `a` is floating-point, otherwise `integer`.
std::optional<Literal> mapLiterals(const Literal &a, const Literal &b, mlir::Type element,
                                   llvm::function_ref<double(double, double)> real,
                                   llvm::function_ref<int64_t(int64_t, int64_t)> integer);
std::optional<Literal> selectLiteral(const Literal &condition, const Literal &onTrue, const Literal &onFalse);

} // namespace cleave::onnx_import

#endif
