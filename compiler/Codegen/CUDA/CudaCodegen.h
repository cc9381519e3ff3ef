// Compiles the kernels of a module (`form-kernels`, `name-kernels`) to PTX.
//
//   auto image = compileForCuda(module, {"sm_90", "+ptx80"}, "cleave_gpt_", alignments);
//   // image->ptx: one module with an entry for each kernel; its parameters are the launch's buffers, one pointer each
//   // image->kernels["k0"]: how it is launched, and what the plan may say of its code
//
// The PTX calls no functions. Most f32 functions are the polynomials of the host (MathExpansion.h). exp, tanh and erf
// use the GPU's own instructions (FloatFunctions.h), and functions of f64 are separate formulas (DoubleFunctions.h).
// Any other function without an instruction is an error that names the kernel.
#ifndef CLEAVE_COMPILER_CODEGEN_CUDA_CUDACODEGEN_H
#define CLEAVE_COMPILER_CODEGEN_CUDA_CUDACODEGEN_H

#include "dialects/Cleave/IR/Cleave.h"
#include "runtime/plan/KernelFacts.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace cleave {

// A compute capability that code is generated for.
struct CudaArchitecture {
  std::string chip;     // "sm_90"
  std::string features; // the PTX version: "+ptx80"
};

struct CudaImage {
  struct Kernel {
    uint32_t blockSize;
    uint64_t blocks;
    uint64_t alignments; // on which the code relies: of buffer i, 2 to the power of the i-th four bits
    rt::KernelFacts facts;
  };
  std::string ptx;
  std::map<std::string, Kernel> kernels; // by label
};

// Returns the number of pieces of work for blocks (ThreadForm.h). Fails, with a diagnostic, if the kernel cannot be
// compiled.
mlir::FailureOr<int64_t> cudaExtent(KernelOp kernel);

// `alignments` has, by label, the multiples of bytes at which buffers begin (compiler/Target/Alignments.h). An error
// has the text of the first diagnostic.
llvm::Expected<CudaImage> compileForCuda(mlir::ModuleOp module, const CudaArchitecture &architecture,
                                         llvm::StringRef prefix,
                                         const std::map<std::string, std::vector<uint32_t>> &alignments = {});

} // namespace cleave

#endif
