// Finds options that have no effect in a compilation.
//
//   cleave compile cnn.onnx --train ... --grad-sync last      warning: --grad-sync last has no effect: ...
//
// Options that can never be combined are errors (tools/cleave/CompileArguments.cpp). Those reported here have an effect
// for other models, meshes or numbers of micro-batches. A script gives the same options to all of its models, so an
// error would break it.
#ifndef CLEAVE_COMPILER_DRIVER_IDLEOPTIONS_H
#define CLEAVE_COMPILER_DRIVER_IDLEOPTIONS_H

#include "compiler/Driver/Options.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace cleave {

// Returns one line for each such option: the option as it was given, why it has no effect, and what to do.
// `hasBatchNorm` says whether the model has batch norm.
std::vector<std::string> idleOptions(const CompileOptions &options, bool hasBatchNorm);
// Returns a warning if --attention fused has found no attention. `kernels` must be in kernels form.
std::optional<std::string> idleAttention(const CompileOptions &options, mlir::ModuleOp kernels);
// Returns a note if the stages of a pipeline can never work at the same time.
std::optional<std::string> idleStages(const CompileOptions &options);

} // namespace cleave

#endif
