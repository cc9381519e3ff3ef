// Compiles the kernels of a module (`form-kernels`, `name-kernels`) to machine code.
//
//   Expected<HostTarget> target = HostTarget::parse("host");
//   HostCodegenOptions options;
//   options.prefix = "gpt_";
//   Expected<HostObjects> code = compileKernels(module, *target, options);
//   // code->objects: object files that define gpt_k0, gpt_k1, … (model.h, cleave_kernel_fn)
//   // code->facts["k0"]: what the plan may say of that code
//
// A kernel without label is called by its place in the module. Buffers are inputs, then results; all start on 64 bytes.
// A tied result has no buffer of its own: the entry is ignored, the input's is updated in place.
#ifndef CLEAVE_COMPILER_CODEGEN_HOST_HOSTCODEGEN_H
#define CLEAVE_COMPILER_CODEGEN_HOST_HOSTCODEGEN_H

#include "compiler/Codegen/Host/HostTarget.h"
#include "compiler/Codegen/Host/KernelCache.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "runtime/plan/KernelFacts.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>
#include <vector>

namespace cleave {

struct HostCodegenOptions {
  std::string prefix;                 // of every symbol
  unsigned threads = 2;               // of the compiler
  const KernelCache *cache = nullptr; // of code that was compiled before; none: everything is compiled
  bool withListings = false;          // then everything is compiled, too: the cache has no texts
};

struct HostObjects {
  std::vector<std::string> objects;             // bytes of object files, one of each kernel
  std::map<std::string, rt::KernelFacts> facts; // of each kernel's code, by label
  std::map<std::string, std::string> listings;  // optimized LLVM IR, by label, where it was asked for
};

// Iterations of the kernel's outermost loop, any split of which over threads gives the same bits; see LoopForm.h. 1 for
// a reduction to a scalar. Fails, with a diagnostic, where the kernel cannot be compiled.
mlir::FailureOr<int64_t> kernelExtent(KernelOp kernel);

// Errors carry the first diagnostic's text.
llvm::Expected<HostObjects> compileKernels(mlir::ModuleOp module, const HostTarget &target,
                                           const HostCodegenOptions &options = {});

} // namespace cleave

#endif
