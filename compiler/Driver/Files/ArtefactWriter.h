// Writes a program, an object file or a shared library from a plan and its kernels, with the weights and the C header
// beside it. Either all of these files are written, or none of them remains.
#ifndef CLEAVE_COMPILER_DRIVER_FILES_ARTEFACTWRITER_H
#define CLEAVE_COMPILER_DRIVER_FILES_ARTEFACTWRITER_H

#include "compiler/Driver/Files/InputGuard.h"
#include "compiler/Driver/Files/WrittenFiles.h"
#include "compiler/Driver/Options.h"
#include "compiler/Import/ONNX/File/Weights.h"
#include "compiler/Target/Target.h"
#include "runtime/plan/Plan_generated.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace cleave {

struct ArtefactSource {
  const CompileOptions &options;
  std::string output;
  const Target &target;
  mlir::ModuleOp kernels; // in kernels form
  const WeightMap &weights;
  std::vector<ReadFile> read; // files that a dump of the kernels must not replace
};

// `bytes` must be those of `plan`.
llvm::Error writeArtefact(const ArtefactSource &source, const rt::fb::Plan &plan, llvm::StringRef bytes,
                          WrittenFiles &written, llvm::raw_ostream &log);

} // namespace cleave

#endif
