// The whole compilation: ONNX file in, artefact out.
//
// The order of phases is the table in Phases.def. Lowering.cpp says which passes run in each phase that lowers the
// module, and why they stand in that order; Compiler.cpp runs the phases.
#ifndef CLEAVE_COMPILER_DRIVER_COMPILER_H
#define CLEAVE_COMPILER_DRIVER_COMPILER_H

#include "compiler/Driver/Options.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace cleave {

// Compiles as asked. Notes and the summary of what the plan needs go to `log` after everything has succeeded. On an
// error nothing is logged and no output file is left; diagnostics of MLIR passes are part of the error.
llvm::Error compile(const CompileOptions &options, llvm::raw_ostream &log);

} // namespace cleave

#endif
