// Declares and finds states. After import, only the training passes add states.
#ifndef CLEAVE_COMPILER_TRAINING_STATES_H
#define CLEAVE_COMPILER_TRAINING_STATES_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace cleave {

// Returns the state of that name, or null. It looks through all states, so use a mlir::SymbolTable to look up many.
StateOp lookupState(mlir::ModuleOp module, llvm::StringRef name);

// Declares a state after the existing ones.
StateOp addState(mlir::SymbolTable &symbols, llvm::StringRef name, mlir::RankedTensorType type, Role role,
                 mlir::ArrayAttr segments, llvm::StringRef slot = "");

// Returns the scalar `name` (role scalar, zero at first). Declares it if it is missing.
StateOp getScalar(mlir::ModuleOp module, llvm::StringRef name, mlir::Type elementType);

// Returns the segment of a state that is not a bucket.
SegmentAttr onlySegment(StateOp state);

// Returns the original name of a segment, and its other names: those of tied parameters, and further names in the file.
std::vector<std::string> namesOf(SegmentAttr segment);

// Returns the parameter that has this original name, as its first name or as another one. Null if there is none.
StateOp findParameter(mlir::ModuleOp module, llvm::StringRef originalName);

// Returns the same segments with that first value for every element. Gradients and optimizer states begin with it.
mlir::ArrayAttr beginningWith(mlir::ArrayAttr segments, double value);
inline mlir::ArrayAttr zeroedSegments(mlir::ArrayAttr segments) { return beginningWith(segments, 0); }

// Returns the same segments with another element type.
mlir::ArrayAttr retyped(mlir::ArrayAttr segments, mlir::Type element);

// Reads the state at the builder's insertion point.
mlir::Value readState(mlir::OpBuilder &builder, mlir::Location loc, StateOp state);

// Replaces all reads of a state in a function by the first one. (They are equal, because reads are before the write.)
void mergeReads(mlir::func::FuncOp function);

// Returns the function of that name, or null.
mlir::func::FuncOp lookupFunction(mlir::ModuleOp module, llvm::StringRef name);

// The slot of a buffer's copy from before the step. A skipped step restores it.
constexpr llvm::StringLiteral kBeforeSlot = "before";

// The slot of the sum over a step's micro-batches for a running statistic (DeferStatistics.cpp).
constexpr llvm::StringLiteral kSumSlot = "sum";

// "w.grad" for "w".
std::string gradientName(llvm::StringRef parameter);
// "w" for the state "w.grad"; empty if the state is not named as a gradient.
llvm::StringRef parameterName(StateOp gradient);
// A parameter that several chunks use has an accumulator in each of them: "w.grad" in the last chunk, "w.grad.c0" in
// c0. The update adds them.
std::string furtherGradientName(llvm::StringRef gradient, unsigned chunk);
// Returns the further accumulators of each "w.grad" that has some, by descending chunk.
llvm::StringMap<llvm::SmallVector<StateOp>> furtherGradients(mlir::ModuleOp module);
// Returns the parameter state of a gradient state, or null.
StateOp getParameterOf(const mlir::SymbolTable &symbols, StateOp gradient);

// True if both are matrices of one element type, and each has the transposed shape of the other. --tie joins these, and
// matrices of equal types.
bool areTransposed(mlir::RankedTensorType a, mlir::RankedTensorType b);

// True for a counter of micro-batches: "scalar.micro", "scalar.micro.c1". Each chunk counts its own.
bool isMicroCounter(StateOp state);

// True for states that add up over the micro-batches of one step, and so begin each step at zero: gradients, the
// training loss's sum and count, the micro-batch counter, deferred statistics.
bool isAccumulator(StateOp state);

} // namespace cleave

#endif
