// Runs the pass pipelines of the phases one after the other. Also writes dumps, runs inserted pipelines, and joins
// diagnostics into one error.
#ifndef CLEAVE_COMPILER_DRIVER_PHASERUNNER_H
#define CLEAVE_COMPILER_DRIVER_PHASERUNNER_H

#include "compiler/Driver/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cleave {

class PhaseRunner {
public:
  // Remarks of passes become notes in the log, and warnings are warnings. Those of the user's passes begin with their
  // --insert.
  PhaseRunner(mlir::ModuleOp module, const CompileOptions &options, llvm::raw_ostream &log)
      : module(module), options(options), log(log) {}

  using AddPasses = std::function<void(mlir::OpPassManager &)>;

  // Runs the passes that `build` adds, then the user's pipelines for this phase, then the passes that `check` adds, so
  // that these check the result of plug-ins. Then writes the dump.
  llvm::Error run(Phase phase, const AddPasses &build, const AddPasses &check);

  // True if the last phase that run() has completed is the one of --stop-after.
  bool done() const { return finished; }

private:
  // The text of an --insert, and its passes.
  using InsertedPasses = std::pair<std::string, std::unique_ptr<mlir::PassManager>>;

  llvm::Error parseInserted(Phase phase, std::vector<InsertedPasses> &inserted);
  // Messages of the passes begin with `place`.
  llvm::Error run(mlir::PassManager &passes, std::string place);
  llvm::Error dump(Phase phase);

  mlir::ModuleOp module;
  const CompileOptions &options;
  llvm::raw_ostream &log;
  bool finished = false;
};

// Returns the file to which --dump-phases writes the module after a phase.
std::string dumpPath(const CompileOptions &options, Phase phase);

// Writes a module as text. The file appears complete or not at all.
llvm::Error writeModule(mlir::ModuleOp module, llvm::StringRef path);

} // namespace cleave

#endif
