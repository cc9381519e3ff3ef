// Runs the pass pipeline of one phase after the other, with what a person needs to look inside: dumps, inserted
// pipelines, and diagnostics gathered into one error.
#ifndef CLEAVE_COMPILER_DRIVER_PHASERUNNER_H
#define CLEAVE_COMPILER_DRIVER_PHASERUNNER_H

#include "compiler/Driver/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <string>

namespace cleave {

class PhaseRunner {
public:
  // Warnings and remarks of passes become notes in the log.
  PhaseRunner(mlir::ModuleOp module, const CompileOptions &options, llvm::raw_ostream &log)
      : module(module), options(options), log(log) {}

  using AddPasses = std::function<void(mlir::OpPassManager &)>;

  // Runs the passes that `build` adds, then the user's pipelines for this point, then those of `check`, which so see what
  // a plug-in did; then writes the dump.
  llvm::Error run(Phase phase, const AddPasses &build, const AddPasses &check);

  // True when the phase just run was the last one asked for.
  bool done() const { return finished; }

private:
  llvm::Error addInserted(Phase phase, mlir::OpPassManager &manager);
  llvm::Error dump(Phase phase);

  mlir::ModuleOp module;
  const CompileOptions &options;
  llvm::raw_ostream &log;
  bool finished = false;
};

// Loads --load-pass-plugin libraries: their passes become known to --insert, their dialects to the context.
llvm::Error loadPlugins(const CompileOptions &options, mlir::DialectRegistry &registry);

// Where --dump-phases puts the module after a phase.
std::string dumpPath(const CompileOptions &options, Phase phase);

// Writes a module as text, whole or not at all.
llvm::Error writeModule(mlir::ModuleOp module, llvm::StringRef path);

} // namespace cleave

#endif
