#include "compiler/Planning/Verify/Model/StatedMeaning.h"

#include "dialects/Plan/IR/Plan.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace cleave::plan {

namespace {

struct PropertyReaders {
  llvm::StringRef key, readers;
};
constexpr PropertyReaders kReaders[] = {
#define CLEAVE_PROPERTY(constant, key, writer, readers, meaning) {key, readers},
#define CLEAVE_PROPERTIES(constant, prefix, writer, readers, meaning) {prefix, readers},
#include "runtime/plan/Properties.def"
};

// True if more than `inspect` reads the property.
bool actsOn(llvm::StringRef key) {
  auto *found = llvm::find_if(kReaders, [&](const PropertyReaders &each) {
    return key == each.key || (key.starts_with(each.key) && key.substr(each.key.size()).starts_with("."));
  });
  return found == std::end(kReaders) || llvm::any_of(llvm::split(found->readers, ", "), [](llvm::StringRef reader) {
           return reader != "people" && reader != "Summary.cpp" && reader != "PageData.cpp" &&
                  reader != "PlanSummary.cpp";
         });
}

// Returns the header's attributes, with the options that a program acts on.
DictionaryAttr statedBy(HeaderOp header) {
  NamedAttrList stated(header->getAttrDictionary());
  if (DictionaryAttr options = header.getOptionsAttr()) {
    SmallVector<NamedAttribute> kept;
    llvm::copy_if(options, std::back_inserter(kept), [](NamedAttribute each) { return actsOn(each.getName()); });
    stated.set(header.getOptionsAttrName(), DictionaryAttr::get(header.getContext(), kept));
  }
  return stated.getDictionary(header.getContext());
}

StatedMeaning statedIn(ModuleOp module) {
  StatedMeaning stated;
  module.walk([&](ModuleOp kind) {
    std::string name;
    for (auto header : kind.getOps<HeaderOp>()) {
      name = header.getKind().value_or("").str();
      stated[{name, ""}] = statedBy(header);
    }
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
        report(program, of(program, stated), of(program, found));
        signalPassFailure();
      }
  }

  void report(const StatedMeaning::key_type &program, DictionaryAttr before, DictionaryAttr after) {
    InFlightDiagnostic error = getOperation().emitError("an inserted pass changed ");
    if (!program.second.empty() || !before || !after) {
      error << "`meaning` of program '" << program.second << "', which says what the model computes";
    } else {
      error << "the plan's header, which says how the host feeds and runs it:";
      for (NamedAttribute each : before)
        if (after.get(each.getName()) != each.getValue())
          error << " " << each.getName().getValue();
      for (NamedAttribute each : after)
        if (!before.contains(each.getName()))
          error << " " << each.getName().getValue();
    }
    error << "; expected it as it was";
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
