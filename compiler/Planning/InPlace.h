// Which results of a kernel may take over an input's buffer.
#ifndef CLEAVE_COMPILER_PLANNING_INPLACE_H
#define CLEAVE_COMPILER_PLANNING_INPLACE_H

#include "compiler/Planning/ByteViews.h"

namespace cleave::plan {

// True when element i of input `input` is read for element i of results alone: on every path from it to a result, all
// ops index operand and result by the same map, so that no reduction, broadcast or transpose reads it. Only then may a
// result overwrite the input while the kernel runs, in any order of elements and on any number of threads.
bool isElementwiseIn(cleave::KernelOp kernel, unsigned input);

// One entry a result: the input that it takes over, or -1. `families` are those of the kernel's block.
llvm::SmallVector<int64_t> chooseTies(cleave::KernelOp kernel, const ValueFamilies &families);

// Whether `result` may have the bytes of `input`, whose last use is `kernel`: not a port, and a state's bytes only when
// the result is what the state becomes.
bool mayTakeOver(mlir::Operation *kernel, mlir::Value input, mlir::Value result, const ValueFamilies &families);

} // namespace cleave::plan

#endif
