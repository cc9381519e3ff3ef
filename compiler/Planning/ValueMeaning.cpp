#include "compiler/Planning/ValueMeaning.h"
#include "compiler/Planning/ValueRun.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/SavedState.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace cleave::plan {

// Programs that some call repeats more often than they are run here.
static llvm::StringSet<> repeatedPrograms(ModuleOp module) {
  llvm::StringSet<> repeated;
  int64_t most = maxTimes(module);
  for (auto function : module.getOps<func::FuncOp>())
    if (auto list = function->getAttrOfType<ArrayAttr>("cleave.calls"))
      for (auto call : list.getAsRange<DictionaryAttr>())
        if (call.getAs<IntegerAttr>("times").getInt() > most)
          repeated.insert(call.getAs<StringAttr>("program").getValue());
  return repeated;
}

// Is what a run of the function leaves in the state what its next run finds there and reads?
static bool carries(func::FuncOp function, StringRef state) {
  for (Operation &op : function.getBody().front()) {
    if (auto read = dyn_cast<ReadOp>(op); read && read.getState() == state)
      return true;
    if (auto write = dyn_cast<WriteOp>(op); write && write.getState() == state)
      return false;
  }
  return false;
}

static bool isSavedState(StateOp state) {
  bool isPartial = state.getPartialAxes() && !state.getPartialAxes()->empty();
  return rt::isSaved(static_cast<rt::fb::Role>(state.getRole()), isPartial, !state.getSlot().value_or("").empty());
}

FailureOr<std::vector<std::map<std::string, EntryMeaning>>>
meaningOfValues(ArrayRef<std::pair<ModuleOp, ModulePlan *>> kinds) {
  std::vector<std::map<std::string, EntryMeaning>> result(kinds.size());
  llvm::StringSet<> repeated = repeatedPrograms(kinds.front().first);
  for (auto function : ModuleOp(kinds.front().first).getOps<func::FuncOp>()) {
    bool isRepeated = repeated.contains(function.getSymName());
    if (!function->hasAttr("cleave.entry") && !isRepeated)
      continue;
    std::vector<std::unique_ptr<ValueRun>> runs;
    std::vector<MeaningRun *> all;
    std::vector<KindBox> boxes;
    for (auto [module, plan] : kinds) {
      auto same = ModuleOp(module).lookupSymbol<func::FuncOp>(function.getSymName());
      if (!same)
        return function.emitError("expected every kind of ranks to have this program");
      runs.push_back(std::make_unique<ValueRun>(module, *plan, same));
      all.push_back(runs.back().get());
      boxes.push_back(runs.back()->box());
    }
    bool meet = runTogether(all, boxes);
    for (auto [run, kind, meanings] : llvm::zip_equal(runs, kinds, result)) {
      ModulePlan &plan = *kind.second;
      FailureOr<EntryMeaning> meaning = run->take([&](StateOp state) {
        return isSavedState(state) || plan.survives(state.getSymName()) ||
               (isRepeated && carries(function, state.getSymName()));
      });
      if (failed(meaning))
        return failure();
      meanings[function.getSymName().str()] = std::move(*meaning);
    }
    if (!meet)
      return function.emitError("expected the kinds of ranks to run the same collectives in the same order");
  }
  return result;
}

EntryMeaning meaningOfInit(ModuleOp module, const ModulePlan &plan) {
  EntryMeaning result;
  result.meaning = meaningOfNothing();
  for (StateOp state : module.getOps<StateOp>()) {
    auto packed = plan.getPackedStates().find(state.getSymName());
    if (packed == plan.getPackedStates().end())
      continue;
    KernelFacts facts;
    facts.name = packed->second.packer;
    facts.kind = static_cast<uint64_t>(rt::findKernelDef(facts.name)->kind);
    facts.params = packed->second.params;
    StateFacts of = factsOf(state, plan.getMesh());
    Content content = resultOf(facts.number(), {}, 0, of.bytes, {of.content()});
    result.meaning["state " + of.name] = content.number();
    result.expressions.push_back(static_cast<uint32_t>(content.pieces().front().expression));
  }
  llvm::sort(result.expressions);
  return result;
}

} // namespace cleave::plan
