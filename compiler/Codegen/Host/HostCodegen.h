// Compiles the kernels of a module (`form-kernels`, `name-kernels`) to machine code.
//
//   Expected<HostTarget> target = HostTarget::parse("host");
//   HostCodegenOptions options;
//   options.prefix = "gpt_";
//   Expected<HostObjects> code = compileKernels(module, *target, options);
//   // code->objects: object files that define gpt_k0, gpt_k1, … (model.h, cleave_kernel_fn)
//   // code->facts["k0"]: what the plan may say of that code
//
// A kernel without a label is named by its position in the module. Buffers are inputs, then results; all start at
// multiples of 64 bytes. A tied result has no buffer of its own: its entry is ignored, and the input's is updated in
// place.
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
  const KernelCache *cache = nullptr; // has code that was compiled before; null: everything is compiled
  bool withListings = false;          // then everything is compiled too: the cache has no texts
};

struct HostObjects {
  std::vector<std::string> objects;             // bytes of object files, one for each kernel
  std::map<std::string, rt::KernelFacts> facts; // of each kernel's code, by label
  std::map<std::string, std::string> listings;  // optimized LLVM IR, by label, if it was asked for
};

// Returns the number of iterations of the kernel's outermost loop. Any split of it over threads gives the same bits;
// see LoopForm.h. 1 for a reduction to a scalar. Fails, with a diagnostic, if the kernel cannot be compiled.
mlir::FailureOr<int64_t> kernelExtent(KernelOp kernel);

// Compiles all kernels of the module. An error has the text of the first diagnostic.
llvm::Expected<HostObjects> compileKernels(mlir::ModuleOp module, const HostTarget &target,
                                           const HostCodegenOptions &options = {});

} // namespace cleave

#endif
