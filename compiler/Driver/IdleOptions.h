// Options that change nothing of this compilation.
//
//   cleave compile cnn.onnx --train ... --grad-sync last      warning: --grad-sync last has no effect: ...
//
// Options that can never go together are errors (tools/cleave/CompileArguments.cpp). Here stand those that fit one model,
// mesh or number of micro-batches and not another one: a script gives them to all of its models, so that an error would
// break it.
#ifndef CLEAVE_COMPILER_DRIVER_IDLEOPTIONS_H
#define CLEAVE_COMPILER_DRIVER_IDLEOPTIONS_H

#include "compiler/Driver/Options.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace cleave {

// One line an option: the option as it was given, why it has no effect, and what to do. `hasBatchNorm` is the model's.
std::vector<std::string> idleOptions(const CompileOptions &options, bool hasBatchNorm);
// What is known once the model is lowered to kernels: whether --attention fused has found attention.
std::optional<std::string> idleAttention(const CompileOptions &options, mlir::ModuleOp kernels);

} // namespace cleave

#endif
