// Plain loops for the kernels of runtime/plan/Kernels.def, written from a kernel's specification alone. They are the
// oracle for the devices' kernels. Because they see nothing else of the op, they also test the specification itself.
#ifndef CLEAVE_DIALECTS_CLEAVE_TRANSFORMS_REFERENCEBODIES_H
#define CLEAVE_DIALECTS_CLEAVE_TRANSFORMS_REFERENCEBODIES_H

#include "dialects/Cleave/IR/CleaveInterfaces.h"
#include "dialects/Cleave/Transforms/LoopWriter.h"

namespace cleave {

// Read access to a KernelSpec by parameter name. A missing name is an error of the op that made the specification.
class KernelParams {
public:
  explicit KernelParams(const KernelSpec &spec) : spec(spec) {}
  llvm::ArrayRef<int64_t> list(llvm::StringRef name) const;
  bool has(llvm::StringRef name) const;
  int64_t operator[](llvm::StringRef name) const { return list(name).front(); }

private:
  const KernelSpec &spec;
};

// Operands are flat, and so is the result, which has the type in which its numbers are computed.
using ReferenceBody = mlir::Value (*)(LoopWriter &nest, const KernelParams &params, llvm::ArrayRef<mlir::Value> operands,
                                      mlir::Type element);

// Returns null for a kernel without a reference.
ReferenceBody findReferenceBody(llvm::StringRef kernel);

// Looks up the kernels with windows (ReferenceWindows.cpp).
ReferenceBody findWindowBody(llvm::StringRef kernel);

} // namespace cleave

#endif
