// Runs a whole compilation, from an ONNX file to an artefact.
//
// Phases.def is the table of phases, in order. Lowering.cpp says which passes run in each phase that lowers the module,
// and gives the reasons for their order. Compiler.cpp runs the phases.
#ifndef CLEAVE_COMPILER_DRIVER_COMPILER_H
#define CLEAVE_COMPILER_DRIVER_COMPILER_H

#include "compiler/Driver/Options.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace cleave {

// Compiles a model. Notes and the summary of the plan's needs are written to `log` after everything has succeeded. If
// it fails, nothing is logged and no output file remains. The error contains the diagnostics of MLIR passes.
llvm::Error compile(const CompileOptions &options, llvm::raw_ostream &log);

} // namespace cleave

#endif
