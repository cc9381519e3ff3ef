// Loads plug-ins: shared libraries with passes, dialects, ONNX operators and optimizers.
#ifndef CLEAVE_COMPILER_DRIVER_PLUGINS_H
#define CLEAVE_COMPILER_DRIVER_PLUGINS_H

#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace cleave {

// Loads the libraries of --load-pass-plugin. Their passes, operators and optimizers are registered, and their dialects
// are added to `registry`. Fails with a UsageError that names the library.
llvm::Error loadPlugins(llvm::ArrayRef<std::string> paths, mlir::DialectRegistry &registry);

} // namespace cleave

#endif
