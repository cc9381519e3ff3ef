// Decides which results of a kernel may take over an input's buffer.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_INPLACE_H
#define CLEAVE_COMPILER_PLANNING_BUILD_INPLACE_H

#include "compiler/Codegen/Loops/KernelGraph.h"
#include "compiler/Planning/Build/ValueFamilies.h"

#include <optional>

namespace cleave::plan {

// A result may overwrite an input while the kernel runs, on any number of threads, if the kernel has one iteration
// space, and reads the input only at the index at which the result is stored. This is checked on the kernel's linalg
// form, from which its code is made (Codegen/Loops/KernelGraph.h).
//
//   %d = mul %dy, %g        %dy is read at (r, c), for %d and for the sum, so %d may take over its bytes
//   %b = reduce sum %d, [0]
//   %t = transpose %d       with this, %dy would be read at (r, c) when its bytes at (c, r) are overwritten
//
// Reductions are finished before their results are read, and code generators store such results in their last pass over
// the reduced loops. So softmax may overwrite its input. Rejected: requiring that no reduction reads the input. This
// doubled the largest buffers of a backward pass (the gradient of an activation, whose column sum is the bias'
// gradient).
class InPlaceRule {
public:
  explicit InPlaceRule(cleave::KernelOp kernel);

  bool allows(unsigned input, unsigned result) const;

private:
  std::optional<KernelGraph> graph;
};

// Returns one entry for each result: the input that it takes over, or -1. `families` are those of the kernel's block.
llvm::SmallVector<int64_t> chooseTies(cleave::KernelOp kernel, const ValueFamilies &families);

// True if `result` may have the bytes of `input`: `kernel` is the last use of `input`, `input` is no port, and if it
// has a state's bytes, the result is written to that state.
bool mayTakeOver(mlir::Operation *kernel, mlir::Value input, mlir::Value result, const ValueFamilies &families);

} // namespace cleave::plan

#endif
