// The kernels of a module as text, each as a module of its own. So code can be generated from them in other contexts,
// by several threads that share nothing.
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_ISOLATEDKERNELS_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_ISOLATEDKERNELS_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace cleave {

struct IsolatedKernel {
  std::string label; // a kernel without a label is named by its position in the module: "k7"
  uint64_t code = 0; // KernelText.h
  std::string text;
};

// Returns one kernel for each label, in the module's order.
std::vector<IsolatedKernel> isolateKernels(mlir::ModuleOp module);

// The module that `text` describes, and the kernel in it. Both are null if the text cannot be parsed (a diagnostic says
// why).
struct ParsedKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  KernelOp kernel;
};
ParsedKernel parseKernel(llvm::StringRef text, mlir::MLIRContext &context);

} // namespace cleave

#endif
