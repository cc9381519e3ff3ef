#include "compiler/Planning/Build/InferenceStages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;

namespace cleave::plan {

static double elementsOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? static_cast<double>(type.getNumElements()) : 0;
}

// Returns the floating-point operations of a library's op. For other ops, counts one operation for each element of the
// results.
static double costOf(Operation &op) {
  if (!byteViews(&op).empty() || isa<ReadOp>(op) || op.hasTrait<OpTrait::ConstantLike>())
    return 0;
  auto compute = dyn_cast<ComputeOpInterface>(op);
  if (auto cost = dyn_cast<CostOpInterface>(op); cost && compute && compute.getComputeKind() == ComputeKind::Kernel)
    return static_cast<double>(cost.getCost().flops);
  double cost = 0;
  for (Value result : op.getResults())
    cost += elementsOf(result);
  return cost;
}

StateStages locateByCost(func::FuncOp function, StageAxis axis) {
  Block &block = function.getBody().front();
  double total = 0, before = 0;
  for (Operation &op : block)
    total += costOf(op);
  llvm::DenseMap<Operation *, unsigned> stageOf;
  for (Operation &op : block) {
    double part = total == 0 ? 0 : (before + costOf(op) / 2) / total * axis.stages;
    stageOf[&op] = std::min(static_cast<unsigned>(part), axis.stages - 1);
    before += costOf(op);
  }
  StateStages states;
  for (auto read : block.getOps<ReadOp>()) {
    StageSet &where = states.try_emplace(read.getState(), axis.stages).first->second;
    llvm::SmallVector<Operation *> open(read->user_begin(), read->user_end());
    while (!open.empty()) { // through views
      Operation *user = open.pop_back_val();
      if (!byteViews(user).empty())
        open.append(user->user_begin(), user->user_end());
      else
        where.set(stageOf.lookup(user));
    }
  }
  return states;
}

static llvm::SmallVector<unsigned> idleStages(StageAxis axis, const StateStages &states) {
  StageSet busy(axis.stages);
  for (const auto &entry : states)
    busy |= entry.second;
  llvm::SmallVector<unsigned> idle;
  for (unsigned stage = 0; stage < axis.stages; ++stage)
    if (!busy.test(stage))
      idle.push_back(stage);
  return idle;
}

LogicalResult checkNoneIdle(func::FuncOp function, StageAxis axis, const StateStages &states) {
  llvm::SmallVector<unsigned> idle = idleStages(axis, states);
  if (idle.empty() || idle.size() == axis.stages)
    return success();
  StageAxis fewer = axis;
  while (--fewer.stages > 1)
    if (idleStages(fewer, locateByCost(function, fewer)).empty())
      break;
  InFlightDiagnostic error = function.emitError("--mesh: of the ");
  error << axis.stages << " stages of pp, ";
  for (auto [place, stage] : llvm::enumerate(idle))
    error << (place == 0 ? "" : ", ") << stage;
  return error << " (counted from 0) would have no parameters and nothing to compute: use pp=" << fewer.stages
               << ", and give the other ranks to dp or fsdp";
}

} // namespace cleave::plan
