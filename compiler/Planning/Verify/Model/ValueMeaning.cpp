#include "compiler/Planning/Verify/Model/ValueMeaning.h"

#include "compiler/Planning/Build/Snapshot.h"
#include "compiler/Planning/Verify/Model/ValueRun.h"
#include "compiler/Planning/Verify/Values/AlikeKinds.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "runtime/plan/KernelDefs.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace cleave::plan {

// Returns the programs that some call repeats more often than they are run here.
static llvm::StringSet<> repeatedPrograms(ModuleOp module) {
  llvm::StringSet<> repeated;
  for (auto function : module.getOps<func::FuncOp>())
    if (auto list = function->getAttrOfType<ArrayAttr>(kCallsAttr))
      for (auto call : list.getAsRange<DictionaryAttr>())
        if (call.getAs<IntegerAttr>("times").getInt() > kMaxInterpretedTimes)
          repeated.insert(call.getAs<StringAttr>("program").getValue());
  return repeated;
}

// Adds the states that a function reads as it finds them.
static void addFirstReads(func::FuncOp function, llvm::StringSet<> &read) {
  llvm::StringSet<> written;
  for (Operation &op : function.getBody().front()) {
    if (auto reading = dyn_cast<ReadOp>(op); reading && !written.contains(reading.getState()))
      read.insert(reading.getState());
    if (auto write = dyn_cast<WriteOp>(op))
      written.insert(write.getState());
  }
}

// Returns the states that some function of some kind reads as it finds them.
static llvm::StringSet<> firstReads(ArrayRef<std::pair<ModuleOp, ModulePlan *>> kinds) {
  llvm::StringSet<> read;
  for (auto [module, plan] : kinds)
    for (auto function : module.getOps<func::FuncOp>())
      addFirstReads(function, read);
  return read;
}

// Computes the meaning of each called function by itself: in states of `read`, in stage buffers, and in what it sends.
// `read` is of all kinds, because kinds that do the same in their bodies may read other states after them: a server
// reads a gradient that every worker has, too.
static LogicalResult addBodies(ModuleOp module, const ModulePlan &plan, const llvm::StringSet<> &read,
                               BodyMeanings &meanings) {
  llvm::StringSet<> called;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (auto list = function->getAttrOfType<ArrayAttr>(kCallsAttr))
      for (auto call : list.getAsRange<DictionaryAttr>())
        called.insert(call.getAs<StringAttr>("program").getValue());
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!called.contains(function.getSymName()))
      continue;
    ValueRun run(module, plan, function, &meanings);
    run.advance();
    FailureOr<EntryMeaning> meaning =
        run.take([&](StateOp state) { return isSaved(state) || read.contains(state.getSymName()); });
    if (failed(meaning))
      return failure();
    meanings[function.getSymName().str()] = std::move(*meaning);
  }
  return success();
}

// Returns what the kind does in its bodies. In an entry, all calls come before its own ops.
static KindOfBodies whatItDoes(ModuleOp module, const ModulePlan &plan, const BodyMeanings &bodies) {
  KindOfBodies own;
  own.box = boxOf(plan);
  for (auto state : module.getOps<StateOp>())
    own.states.insert(state.getSymName().str());
  for (auto function : module.getOps<func::FuncOp>())
    if (auto list = function->getAttrOfType<ArrayAttr>(kCallsAttr); list && function->hasAttr(kEntryAttr)) {
      own.calls += function.getSymName().str() + ": ";
      for (auto call : list.getAsRange<DictionaryAttr>()) {
        auto skip = call.getAs<IntegerAttr>("skip");
        own.calls += textOfCall(call.getAs<StringAttr>("program").strref(), call.getAs<IntegerAttr>("times").getInt(),
                                call.getAs<IntegerAttr>("first_frame").getInt(), skip ? skip.getInt() : 0);
      }
    }
  for (const auto &[name, body] : bodies)
    own.add(name, body.meaning, body.messages);
  return own;
}

// Returns for each kind the ranks of the first kind that does the same in its bodies. Fails if kinds that meet in
// bodies do not do the same.
static FailureOr<std::vector<KindBox>> findAlike(ArrayRef<std::pair<ModuleOp, ModulePlan *>> kinds,
                                                 ArrayRef<BodyMeanings> bodies) {
  std::vector<KindOfBodies> all;
  for (auto [kind, meanings] : llvm::zip_equal(kinds, bodies))
    all.push_back(whatItDoes(kind.first, *kind.second, meanings));
  std::vector<KindBox> first = firstAlike(all);
  if (auto unlike = meetUnlike(all, first))
    return ModuleOp(kinds[unlike->first].first)
               .emitError("expected ranks that meet in the bodies of a pipeline to do the same there; got: kinds ")
           << kinds[unlike->first].second->getKind().getName() << " and "
           << kinds[unlike->second].second->getKind().getName();
  return first;
}

FailureOr<std::vector<std::map<std::string, EntryMeaning>>>
meaningOfValues(ArrayRef<std::pair<ModuleOp, ModulePlan *>> kinds) {
  std::vector<BodyMeanings> result(kinds.size());
  bool areAlone = llvm::any_of(kinds, [](auto kind) { return hasBodies(kind.first); });
  llvm::StringSet<> read = firstReads(kinds);
  for (auto [kind, meanings] : llvm::zip_equal(kinds, result))
    if (areAlone && failed(addBodies(kind.first, *kind.second, read, meanings)))
      return failure();
  FailureOr<std::vector<KindBox>> alike = findAlike(kinds, result);
  if (failed(alike))
    return failure();
  llvm::StringSet<> repeated, seen;
  SmallVector<func::FuncOp> programs; // the first of each name, on any kind
  for (auto [module, plan] : kinds) {
    if (!areAlone)
      for (const auto &name : repeatedPrograms(module))
        repeated.insert(name.getKey());
    for (auto function : ModuleOp(module).getOps<func::FuncOp>())
      if (seen.insert(function.getSymName()).second)
        programs.push_back(function);
  }
  for (func::FuncOp function : programs) {
    bool isRepeated = repeated.contains(function.getSymName());
    if (!function->hasAttr(kEntryAttr) && !isRepeated)
      continue;
    std::vector<std::unique_ptr<ValueRun>> runs;
    std::vector<MeaningRun *> all;
    std::vector<KindBox> boxes;
    for (auto [kind, meanings, firstAlike] : llvm::zip_equal(kinds, result, *alike)) {
      auto [module, plan] = kind;
      auto same = ModuleOp(module).lookupSymbol<func::FuncOp>(function.getSymName());
      if (!same)
        return function.emitError("expected every kind of ranks to have this program");
      runs.push_back(std::make_unique<ValueRun>(module, *plan, same, areAlone ? &meanings : nullptr, firstAlike));
      all.push_back(runs.back().get());
      boxes.push_back(runs.back()->box());
    }
    bool meet = runToEnd(all, boxes);
    for (auto [run, kind, meanings] : llvm::zip_equal(runs, kinds, result)) {
      ModulePlan &plan = *kind.second;
      llvm::StringSet<> carried; // states in which a run leaves what the next run reads, for each kind
      if (isRepeated)
        addFirstReads(ModuleOp(kind.first).lookupSymbol<func::FuncOp>(function.getSymName()), carried);
      FailureOr<EntryMeaning> meaning = run->take([&](StateOp state) {
        return isSaved(state) || plan.survives(state.getSymName()) || carried.contains(state.getSymName());
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
    KernelComputation computation;
    computation.name = packed->second.packer;
    computation.kind = static_cast<uint64_t>(rt::findKernelDef(computation.name)->kind);
    computation.params = packed->second.params;
    StateFacts of = factsOf(state, plan.getMesh());
    Content content = resultOf(computation.number(), {}, 0, of.bytes, {of.content()});
    result.meaning["state " + of.name] = content.number();
    result.expressions.push_back(static_cast<uint32_t>(content.pieces().front().expression.low));
  }
  llvm::sort(result.expressions);
  return result;
}

DictionaryAttr meaningAttr(Builder builder, const Meaning &meaning) {
  llvm::SmallVector<NamedAttribute> numbers;
  for (const auto &[name, number] : meaning)
    numbers.push_back(builder.getNamedAttr(
        name, builder.getIntegerAttr(builder.getIntegerType(128), llvm::APInt(128, {number.low, number.high}))));
  return numbers.empty() ? DictionaryAttr() : builder.getDictionaryAttr(numbers);
}

ValueNumber numberOf(IntegerAttr number) {
  llvm::APInt bits = number.getValue().zextOrTrunc(128);
  return {bits.extractBitsAsZExtValue(64, 0), bits.extractBitsAsZExtValue(64, 64)};
}

} // namespace cleave::plan
