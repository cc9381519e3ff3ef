// ShardedMutants [--mutants N] FILE...: changes sharded programs (ShardedMutations.h), and asks verify-sharded and an
// independent oracle (RankOracle.h) about each mutant. It fails if an unchanged program is refused, if a mutant is
// accepted that changes a state or an output on some rank, and if there was no mutant.
//
// One change does not concern the sharding: a slice along another dimension, if both slices cut equal parts of a value
// that all ranks have, and a reshape corrects the shape. Then the graph seems to have another op there. All ranks still
// run one program, and verify-sharded does not claim that the program is the model. Such mutants are counted
// separately.
//
// A FILE is a module at the sharded level or in kernels form. Without --mutants, each mutation of each file is tried.
// With it, every k-th mutation is tried, so that about N are tried in all.
#include "compiler/Sharding/Passes.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "test/compiler/Sharding/mutation/RankOracle.h"
#include "test/compiler/Sharding/mutation/ShardedMutations.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace cleave;
using namespace cleave::test;

namespace {

struct Counts {
  size_t mutants = 0, refused = 0, equal = 0, local = 0, illFormed = 0, cautious = 0;
};

class Trial {
public:
  Trial() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<CleaveDialect, mlir::func::FuncDialect, mlir::shard::ShardDialect>();
  }

  bool load(const std::string &path) {
    auto module = mlir::parseSourceFile<mlir::ModuleOp>(path, &context);
    std::string why;
    if (!module || !accepts(*module, &why)) {
      llvm::errs() << path << ": refused as it is: " << why << "\n";
      return false;
    }
    auto execution = execute(*module, &why);
    if (!execution) {
      llvm::errs() << path << ": the oracle cannot execute it: " << why << "\n";
      return false;
    }
    for (ShardedMutation &mutation : listMutations(*module))
      all.push_back({originals.size(), std::move(mutation)});
    originals.push_back({path, std::move(module), std::move(*execution)});
    return true;
  }

  bool run(size_t wanted) {
    size_t step = wanted == 0 ? 1 : std::max<size_t>(1, all.size() / wanted);
    bool isRight = true;
    for (size_t i = 0; i < all.size(); i += step)
      isRight &= judge(originals[all[i].first], all[i].second);
    bool isTried = std::any_of(counts.begin(), counts.end(), [](const auto &of) { return of.second.mutants != 0; });
    if (!isTried)
      llvm::errs() << "there was no mutant: no mutation fits a program; nothing was tried\n";
    return isRight && isTried;
  }

  void print() const {
    for (const auto &[kind, count] : counts)
      llvm::outs() << kind << ": " << count.mutants << " mutants, " << count.refused << " refused (of these "
                   << count.cautious << " do no harm), " << count.equal << " accepted and equal on all ranks, "
                   << count.local << " accepted as another op, the same on all ranks, "
                   << count.illFormed << " no programs\n";
  }

private:
  struct Original {
    std::string path;
    mlir::OwningOpRef<mlir::ModuleOp> module;
    Execution execution;
  };

  static bool isLocal(const ShardedMutation &mutation, const Execution &before, const Execution &after) {
    return mutation.slice && before.localSlices.count(*mutation.slice) && after.localSlices.count(*mutation.slice);
  }

  // Asks verify-sharded, without printing its messages.
  bool accepts(mlir::ModuleOp module, std::string *why) {
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
      if (why->empty())
        *why = diagnostic.str();
      return mlir::success();
    });
    mlir::PassManager manager(&context);
    manager.enableVerifier(false);
    manager.addPass(createVerifySharded());
    return mlir::succeeded(manager.run(module));
  }

  bool isWellFormed(mlir::ModuleOp module) {
    mlir::ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &) { return mlir::success(); });
    return mlir::succeeded(mlir::verify(module));
  }

  bool judge(Original &original, const ShardedMutation &mutation) {
    mlir::OwningOpRef<mlir::ModuleOp> mutant(mlir::cast<mlir::ModuleOp>(original.module->clone()));
    if (!mutation.apply(*mutant))
      return true; // the mutation does not fit this shape
    Counts &count = counts[mutation.kind];
    if (!isWellFormed(*mutant)) {
      ++count.illFormed;
      return true;
    }
    ++count.mutants;
    std::string why, unknown;
    auto execution = execute(*mutant, &unknown);
    bool isEqual = execution && execution->outcome == original.execution.outcome;
    if (!accepts(*mutant, &why)) {
      ++count.refused;
      count.cautious += isEqual;
      return true;
    }
    if (isEqual) {
      ++count.equal;
      return true;
    }
    if (execution && isLocal(mutation, original.execution, *execution)) {
      ++count.local;
      return true;
    }
    llvm::errs() << original.path << ": accepted, but does harm: " << mutation.kind << ", " << mutation.what << "\n";
    return false;
  }

  mlir::MLIRContext context;
  std::vector<Original> originals;
  std::vector<std::pair<size_t, ShardedMutation>> all;
  std::map<std::string, Counts> counts;
};

} // namespace

int main(int argc, char **argv) {
  size_t wanted = 0;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i)
    if (llvm::StringRef(argv[i]) == "--mutants" && i + 1 < argc)
      wanted = std::strtoull(argv[++i], nullptr, 10);
    else
      paths.push_back(argv[i]);
  if (paths.empty()) {
    llvm::errs() << "usage: ShardedMutants [--mutants N] FILE...\n";
    return 2;
  }
  Trial trial;
  bool isRight = true;
  for (const std::string &path : paths)
    isRight &= trial.load(path);
  isRight &= trial.run(wanted);
  trial.print();
  return isRight ? 0 : 1;
}
