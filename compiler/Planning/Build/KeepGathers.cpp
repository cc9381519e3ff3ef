#include "compiler/Planning/Build/GatherEquality.h"
#include "compiler/Planning/Build/StagePrograms.h"
#include "compiler/Planning/Passes.h"
#include "dialects/Cleave/IR/StepFunctions.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace cleave::plan {

#define GEN_PASS_DEF_KEEPGATHERS
#include "compiler/Planning/Passes.h.inc"

namespace {

// Keeps the gathers of one chunk's functions.
class ChunkKeeper {
public:
  ChunkKeeper(ModuleOp module, unsigned chunk, const llvm::StringSet<> &written)
      : module(module), chunk(chunk), written(written) {}

  void run() {
    llvm::SmallVector<func::FuncOp> functions;
    for (auto function : module.getOps<func::FuncOp>())
      if (chunkNumber(function.getName()) == chunk)
        functions.push_back(function);
    for (func::FuncOp function : functions)
      for (auto gather : llvm::make_early_inc_range(function.getOps<shard::AllGatherOp>()))
        if (isMadeOfStates(gather.getInput()))
          keep(gather);
    if (gathering)
      func::ReturnOp::create(builder, module.getLoc());
    for (func::FuncOp function : functions)
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
        if (op.getNumResults() > 0 && op.use_empty() && isMemoryEffectFree(&op))
          op.erase();
  }

private:
  // True if the value is made only of states that no chunk writes, so that it is the same for all micro-batches.
  bool isMadeOfStates(Value value) const {
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    if (auto read = dyn_cast<ReadOp>(op))
      return !written.contains(read.getState());
    return !isa<shard::ShardDialect>(op->getDialect()) && isMemoryEffectFree(op) && op->getNumOperands() > 0 &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return isMadeOfStates(operand); });
  }

  void keep(shard::AllGatherOp gather) {
    auto sameRead = [](ReadOp a, ReadOp b) { return a.getState() == b.getState(); };
    auto *known = llvm::find_if(kept, [&](const Kept &other) { return gathersSame(other.gather, gather, sameRead); });
    std::string state = known == kept.end() ? gatherOnce(gather) : known->state;
    OpBuilder atGather(gather);
    auto read = ReadOp::create(atGather, gather.getLoc(), gather.getType(), state);
    gather.getResult().replaceAllUsesWith(read.getResult());
    eraseWithMakers(gather);
  }

  // Adds a state for the gathered value, and adds the gather to the function that runs before the chunk's first
  // micro-batch. Returns the state's name.
  std::string gatherOnce(shard::AllGatherOp gather) {
    MLIRContext *context = module.getContext();
    if (!gathering) {
      builder.setInsertionPointToEnd(module.getBody());
      gathering = func::FuncOp::create(builder, module.getLoc(), chunkName(chunk) + kGatherSuffix.str(),
                                       builder.getFunctionType({}, {}));
      builder.setInsertionPointToEnd(gathering.addEntryBlock());
    }
    Operation *copy = copyWithMakers(gather);
    std::string name = chunkName(chunk) + ".gathered." + std::to_string(kept.size());
    auto type = cast<RankedTensorType>(gather.getType());
    auto zeros = InitAttr::get(context, cleave::InitKind::Zeros, StringAttr(), FloatAttr());
    while (module.lookupSymbol(name))
      name += '_';
    Attribute segment = cleave::SegmentAttr::get(context, builder.getStringAttr(name), type, 0, 0, zeros, ArrayAttr());
    OpBuilder front = OpBuilder::atBlockBegin(module.getBody());
    cleave::StateOp::create(front, gather.getLoc(), builder.getStringAttr(name), TypeAttr::get(type),
                            cleave::RoleAttr::get(context, cleave::Role::Buffer), builder.getArrayAttr(segment),
                            builder.getStringAttr("gathered"), ShardingAttr::replicated(context, type.getRank()),
                            /*frozen=*/UnitAttr());
    WriteOp::create(builder, gather.getLoc(), copy->getResult(0), name);
    kept.push_back({cast<shard::AllGatherOp>(copy), name});
    return name;
  }

  Operation *copyWithMakers(Operation *op) {
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand))
        copyWithMakers(operand.getDefiningOp());
    return builder.clone(*op, mapping);
  }

  struct Kept {
    shard::AllGatherOp gather; // in the gathering function
    std::string state;
  };

  ModuleOp module;
  unsigned chunk;
  const llvm::StringSet<> &written;
  OpBuilder builder = OpBuilder(module.getContext());
  func::FuncOp gathering;
  IRMapping mapping;
  llvm::SmallVector<Kept> kept;
};

struct KeepGathers : impl::KeepGathersBase<KeepGathers> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module->hasAttr(kPipelineAttr))
      return;
    llvm::StringSet<> written;
    for (auto function : module.getOps<func::FuncOp>())
      if (chunkNumber(function.getName()))
        function.walk([&](WriteOp write) { written.insert(write.getState()); });
    for (unsigned chunk : chunksOf(module))
      ChunkKeeper(module, chunk, written).run();
  }
};

} // namespace
} // namespace cleave::plan
