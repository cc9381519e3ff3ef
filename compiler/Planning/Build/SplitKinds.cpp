// split-kinds: see Passes.td.
#include "compiler/Planning/Build/StagePrograms.h"
#include "compiler/Planning/Passes.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/RankKinds.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace cleave::plan {

#define GEN_PASS_DEF_SPLITKINDS
#include "compiler/Planning/Passes.h.inc"

namespace {

// Reduces a module for all kinds to the module of one kind.
class Specializer {
public:
  explicit Specializer(ModuleOp module) : module(module), kind(RankKind::of(module)) {}

  LogicalResult run() {
    for (auto state : module.getOps<cleave::StateOp>())
      if (!kind.holds(state.getStorageAttr()))
        absent.insert(state.getSymName());
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(specialize(function.getBody().front())))
        return failure();
    for (auto state : llvm::make_early_inc_range(module.getOps<cleave::StateOp>()))
      if (absent.contains(state.getSymName()))
        state.erase();
    return success();
  }

private:
  // Goes from the last op to the first, so that ops that were used only by erased ops are erased, too.
  LogicalResult specialize(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (op.hasTrait<OpTrait::IsTerminator>())
        continue;
      if (auto owners = op.getAttrOfType<ArrayAttr>(kOwnerAxesAttr)) {
        op.removeAttr(kOwnerAxesAttr);
        auto axes = llvm::map_to_vector(owners.getAsValueRange<StringAttr>(), [](StringRef axis) { return axis; });
        if (kind.isAt(axes, llvm::SmallVector<int64_t>(axes.size(), 0)).value_or(false))
          continue;
        if (failed(expectUnused(&op, "received by owners alone")))
          return failure();
        op.erase();
        continue;
      }
      if (auto write = dyn_cast<WriteOp>(op)) {
        if (absent.contains(write.getState()))
          write.erase();
        continue;
      }
      if (auto broadcast = dyn_cast<shard::BroadcastOp>(op)) {
        if (failed(specialize(broadcast)))
          return failure();
      } else if (auto reduce = dyn_cast<shard::ReduceOp>(op)) {
        FailureOr<bool> isRoot = isAtRoot(reduce, reduce.getGridAxes(), reduce.getRoot());
        if (failed(isRoot) || (!*isRoot && failed(expectUnused(reduce, "what only the root of a reduce has"))))
          return failure();
      } else if (op.use_empty() && !isCommunication(op)) {
        op.erase();
      } else if (auto read = dyn_cast<ReadOp>(op); read && absent.contains(read.getState())) {
        return expectUnused(read, "a state that only its owners have");
      }
    }
    return success();
  }

  LogicalResult specialize(shard::BroadcastOp broadcast) {
    FailureOr<bool> isRoot = isAtRoot(broadcast, broadcast.getGridAxes(), broadcast.getRoot());
    if (failed(isRoot) || *isRoot)
      return isRoot;
    OpBuilder builder(broadcast);
    broadcast.getInputMutable().assign(
        ub::PoisonOp::create(builder, broadcast.getLoc(), broadcast.getInput().getType()));
    return success();
  }

  // A collective runs even if nobody here uses its result, because other ranks do. A slice moves nothing.
  static bool isCommunication(Operation &op) {
    return isa<shard::ShardDialect>(op.getDialect()) && !isa<shard::AllSliceOp>(op);
  }

  LogicalResult expectUnused(Operation *op, StringRef what) {
    if (op->use_empty())
      return success();
    auto error = op->emitOpError("is ") << what << ", but ranks of kind " << kind.getName() << " need it";
    error.attachNote(op->user_begin()->getLoc()) << "used here";
    return error;
  }

  FailureOr<bool> isAtRoot(Operation *op, ArrayRef<int16_t> gridAxes, ArrayRef<int64_t> root) {
    auto mesh = module->getAttrOfType<MeshAttr>(kMeshAttr);
    llvm::SmallVector<StringRef> axes;
    for (int16_t axis : gridAxes)
      if (mesh && axis >= 0 && axis < static_cast<int64_t>(mesh.getNames().size()))
        axes.push_back(mesh.getNames()[axis].getValue());
    std::optional<bool> isRoot = axes.size() == root.size() ? kind.isAt(axes, root) : std::nullopt;
    if (!isRoot)
      return op->emitOpError("expected every kind of ranks to be its root or not; got: kind ") << kind.getName();
    return *isRoot;
  }

  ModuleOp module;
  RankKind kind;
  llvm::StringSet<> absent; // states that the kind does not have
};

// Returns the entry of a kind within the module's stage, or of the kind alone if the module has no stages.
DictionaryAttr kindOfStage(DictionaryAttr stage, DictionaryAttr kind) {
  if (!stage)
    return kind;
  Builder builder(kind.getContext());
  NamedAttrList where(stage.getAs<DictionaryAttr>("where"));
  where.append(kind.getAs<DictionaryAttr>("where").getValue());
  std::string name =
      (stage.getAs<StringAttr>("name").getValue() + "." + kind.getAs<StringAttr>("name").getValue()).str();
  return builder.getDictionaryAttr({builder.getNamedAttr("name", builder.getStringAttr(name)),
                                    builder.getNamedAttr("where", where.getDictionary(kind.getContext()))});
}

struct SplitKinds : impl::SplitKindsBase<SplitKinds> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module->hasAttr(kKindsAttr))
      return;
    // Takes out the modules of the stages first: a copy of the first stage's module must not contain them.
    llvm::SmallVector<ModuleOp> stages{module}, result;
    for (ModuleOp stage : llvm::to_vector(module.getOps<ModuleOp>())) {
      stage->remove();
      stages.push_back(stage);
    }
    bool isWrong = false;
    for (ModuleOp stage : stages)
      isWrong |= failed(split(stage, result));
    for (ModuleOp kind : result)
      if (kind != module)
        module.push_back(kind);
    if (isWrong)
      signalPassFailure();
  }

  // The module becomes that of the first kind. It is added to `result`, and the modules of the other kinds after it.
  LogicalResult split(ModuleOp module, llvm::SmallVector<ModuleOp> &result) {
    auto kinds = cast<ArrayAttr>(module->removeAttr(kKindsAttr));
    auto stage = module->getAttrOfType<DictionaryAttr>(kKindAttr);
    llvm::SmallVector<ModuleOp> modules{module};
    for (size_t i = 1; i < kinds.size(); ++i)
      modules.push_back(module.clone());
    for (auto [kind, one] : llvm::zip_equal(modules, kinds.getAsRange<DictionaryAttr>())) {
      DictionaryAttr entry = kindOfStage(stage, one);
      kind->setAttr(kKindAttr, entry);
      if (kind != getOperation())
        kind.setSymNameAttr(entry.getAs<StringAttr>("name"));
      result.push_back(kind);
    }
    for (ModuleOp kind : modules)
      if (failed(Specializer(kind).run()))
        return failure();
    return success();
  }
};

} // namespace
} // namespace cleave::plan
