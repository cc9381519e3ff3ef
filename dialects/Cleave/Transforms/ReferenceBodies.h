// Plain loops for the kernels of runtime/plan/Kernels.def, written from a kernel's specification alone. They are the
// oracle for the devices' kernels, and, since they see nothing else of the op, for the specification itself.
#ifndef CLEAVE_DIALECTS_CLEAVE_TRANSFORMS_REFERENCEBODIES_H
#define CLEAVE_DIALECTS_CLEAVE_TRANSFORMS_REFERENCEBODIES_H

#include "dialects/Cleave/IR/CleaveInterfaces.h"
#include "dialects/Cleave/Transforms/LoopWriter.h"

namespace cleave {

// Read access to a KernelSpec by parameter name; a name that is not there is an error of the op that made it.
class KernelParams {
public:
  explicit KernelParams(const KernelSpec &spec) : spec(spec) {}
  llvm::ArrayRef<int64_t> list(llvm::StringRef name) const;
  bool has(llvm::StringRef name) const;
  int64_t operator[](llvm::StringRef name) const { return list(name).front(); }

private:
  const KernelSpec &spec;
};

// Operands come flat; so goes the result, in the type that its numbers are computed in.
using ReferenceBody = mlir::Value (*)(LoopWriter &nest, const KernelParams &params, llvm::ArrayRef<mlir::Value> operands,
                                      mlir::Type element);

// Null for a kernel without reference.
ReferenceBody findReferenceBody(llvm::StringRef kernel);

// The windows' part of the table (ReferenceWindows.cpp).
ReferenceBody findWindowBody(llvm::StringRef kernel);

} // namespace cleave

#endif
