// Declaring and finding states. The training passes are the only ones that add states after import.
#ifndef CLEAVE_COMPILER_TRAINING_STATES_H
#define CLEAVE_COMPILER_TRAINING_STATES_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace cleave {

// The state of that name, or null. It looks at all states: who asks for many has a mlir::SymbolTable.
StateOp lookupState(mlir::ModuleOp module, llvm::StringRef name);

// Declares a state after the ones that are there.
StateOp addState(mlir::SymbolTable &symbols, llvm::StringRef name, mlir::RankedTensorType type, Role role,
                 mlir::ArrayAttr segments, llvm::StringRef slot = "");

// The scalar `name` (role scalar, zero at first), declared if it is missing.
StateOp getScalar(mlir::ModuleOp module, llvm::StringRef name, mlir::Type elementType);

// The segment of a state that is no bucket.
SegmentAttr onlySegment(StateOp state);

// The same segments with every element of every tensor beginning with that value: how gradients and optimizer states begin.
mlir::ArrayAttr beginningWith(mlir::ArrayAttr segments, double value);
inline mlir::ArrayAttr zeroedSegments(mlir::ArrayAttr segments) { return beginningWith(segments, 0); }

// The same segments with another element type.
mlir::ArrayAttr retyped(mlir::ArrayAttr segments, mlir::Type element);

// The state's value at the builder's position.
mlir::Value readState(mlir::OpBuilder &builder, mlir::Location loc, StateOp state);

// All reads of a state in a function become its first one. (Reads stand before the write, so they are equal.)
void mergeReads(mlir::func::FuncOp function);

// The function of that name, or null.
mlir::func::FuncOp lookupFunction(mlir::ModuleOp module, llvm::StringRef name);

// The slot of a buffer's copy from before the step, which a skipped step puts back.
constexpr llvm::StringLiteral kBeforeSlot = "before";

// The slot of what a step adds up of a running statistic (DeferStatistics.cpp).
constexpr llvm::StringLiteral kSumSlot = "sum";

// "w.grad" for "w".
std::string gradientName(llvm::StringRef parameter);
// "w" for the state "w.grad"; empty for one that is no gradient by name.
llvm::StringRef parameterName(StateOp gradient);
// A parameter that several chunks use has an accumulator in each of them: "w.grad" in the last, "w.grad.c0" in c0. They
// are added in the update.
std::string furtherGradientName(llvm::StringRef gradient, unsigned chunk);
// The further accumulators of each "w.grad" that has some, by descending chunk.
llvm::StringMap<llvm::SmallVector<StateOp>> furtherGradients(mlir::ModuleOp module);
// The parameter state that a gradient state belongs to.
StateOp getParameterOf(const mlir::SymbolTable &symbols, StateOp gradient);

// Whether these are matrices of one element type and of each other's shape transposed: what --tie joins beside equals.
bool areTransposed(mlir::RankedTensorType a, mlir::RankedTensorType b);

// Whether this counts micro-batches: "scalar.micro", "scalar.micro.c1". Each chunk counts those that it has seen.
bool isMicroCounter(StateOp state);

// True for states that add up over the micro-batches of one step, and so begin each step at zero: gradients, the
// training loss's sum and count, the micro-batch counter, deferred statistics.
bool isAccumulator(StateOp state);

} // namespace cleave

#endif
