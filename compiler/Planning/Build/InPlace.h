// Which results of a kernel may take over an input's buffer.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_INPLACE_H
#define CLEAVE_COMPILER_PLANNING_BUILD_INPLACE_H

#include "compiler/Codegen/Loops/KernelGraph.h"
#include "compiler/Planning/Draft/ValueFamilies.h"

#include <optional>

namespace cleave::plan {

// When a result may overwrite an input while the kernel runs, on any number of threads: the kernel walks one iteration
// space, and reads the input nowhere but at the index at which the result is stored. That is asked of the kernel's
// linalg form, of which its code is made (Codegen/Loops/KernelGraph.h).
//
//   %d = mul %dy, %g        %dy is read at (r, c) for %d and for the sum alike, so %d may take over its bytes
//   %b = reduce sum %d, [0]
//   %t = transpose %d       with this, %dy would be read at (r, c) when its bytes at (c, r) are overwritten
//
// Reductions are finished before their results are read, and code generators store such results in their last pass over
// the reduced loops: softmax may overwrite its input. Rejected: asking that no reduction reads the input, which doubled
// the largest buffers of a backward pass (the gradient of an activation, whose column sum is the bias' gradient).
class InPlaceRule {
public:
  explicit InPlaceRule(cleave::KernelOp kernel);

  bool allows(unsigned input, unsigned result) const;

private:
  std::optional<KernelGraph> graph;
};

// One entry a result: the input that it takes over, or -1. `families` are those of the kernel's block.
llvm::SmallVector<int64_t> chooseTies(cleave::KernelOp kernel, const ValueFamilies &families);

// Whether `result` may have the bytes of `input`, whose last use is `kernel`: not a port, and a state's bytes only when
// the result is what the state becomes.
bool mayTakeOver(mlir::Operation *kernel, mlir::Value input, mlir::Value result, const ValueFamilies &families);

} // namespace cleave::plan

#endif
