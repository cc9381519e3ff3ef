#include "compiler/Planning/Verify/StatedMeaning.h"

#include "dialects/Plan/IR/Plan.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace cleave::plan {

namespace {

StatedMeaning statedIn(ModuleOp module) {
  StatedMeaning stated;
  module.walk([&](ModuleOp kind) {
    std::string name;
    for (auto header : kind.getOps<HeaderOp>())
      name = header.getKind().value_or("").str();
    for (auto program : kind.getOps<ProgramOp>())
      if (DictionaryAttr meaning = program.getMeaningAttr())
        stated[{name, program.getSymName().str()}] = meaning;
  });
  return stated;
}

struct NoteMeaning : PassWrapper<NoteMeaning, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NoteMeaning)
  explicit NoteMeaning(StatedMeaning &stated) : stated(stated) {}

  void runOnOperation() override {
    stated = statedIn(getOperation());
    markAllAnalysesPreserved();
  }

  StatedMeaning &stated;
};

struct CompareMeaning : PassWrapper<CompareMeaning, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CompareMeaning)
  explicit CompareMeaning(const StatedMeaning &stated) : stated(stated) {}

  void runOnOperation() override {
    markAllAnalysesPreserved();
    StatedMeaning found = statedIn(getOperation()), all = found;
    all.insert(stated.begin(), stated.end());
    for (const auto &[program, meaning] : all)
      if (of(program, found) != of(program, stated)) {
        getOperation().emitError("an inserted pass changed `meaning` of program '")
            << program.second << "', which says what the model computes; expected it as it was";
        signalPassFailure();
      }
  }

  // Returns null if the program states nothing, or does not exist.
  static DictionaryAttr of(const StatedMeaning::key_type &program, const StatedMeaning &stated) {
    auto found = stated.find(program);
    return found == stated.end() ? DictionaryAttr() : found->second;
  }

  const StatedMeaning &stated;
};

} // namespace

std::unique_ptr<Pass> createNoteMeaning(StatedMeaning &stated) { return std::make_unique<NoteMeaning>(stated); }
std::unique_ptr<Pass> createCompareMeaning(const StatedMeaning &stated) {
  return std::make_unique<CompareMeaning>(stated);
}

} // namespace cleave::plan
