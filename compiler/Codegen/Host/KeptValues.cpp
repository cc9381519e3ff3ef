#include "compiler/Codegen/Host/KeptValues.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace cleave;

// The most bytes of all row buffers of one kernel. They are on a thread's stack.
static constexpr int64_t kMaxRowBufferBytes = 256 * 1024;

static bool isCostly(Operation *op) {
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (!generic)
    return false;
  int64_t ops = 0;
  bool transcendental = false;
  generic.getBody()->walk([&](Operation *inner) {
    ++ops;
    transcendental |= isa<math::MathDialect>(inner->getDialect()) &&
                      !isa<math::AbsFOp, math::FloorOp, math::CeilOp, math::RoundEvenOp, math::FmaOp>(inner);
  });
  return transcendental || ops > 24;
}

namespace {
class Planner {
public:
  Planner(const KernelGraph &graph, const LoopForm &form, StagePlan &plan) : graph(graph), form(form), plan(plan) {}
  void run();

private:
  void collectNeeds(Value value, unsigned stage);
  void chooseRowBuffers();
  void chooseBlockValues();
  bool isOuter(Value value) const;
  int64_t bytesInStage(Value value) const;

  const KernelGraph &graph;
  const LoopForm &form;
  StagePlan &plan;
  std::vector<llvm::SetVector<Value>> needs; // for each stage: values computed inside its loops
};
} // namespace

// True if the value has one element for each parallel index, and no reduced dimensions.
bool Planner::isOuter(Value value) const {
  for (int dim : graph.dimsOf(value))
    if (dim < 0 || graph.getDims()[dim].reduced)
      return false;
  return true;
}

int64_t Planner::bytesInStage(Value value) const {
  int64_t elements = form.tile ? form.tile.length : 1;
  for (int dim : form.reduced)
    elements *= graph.getDims()[dim].size;
  return elements * std::max(4u, cast<RankedTensorType>(value.getType()).getElementTypeBitWidth() / 8);
}

void Planner::collectNeeds(Value value, unsigned stage) {
  Operation *op = value.getDefiningOp();
  if (!op || graph.getSpace().isReduction(op) || graph.getSpace().pickedSum(op) || !needs[stage].insert(value))
    return;
  for (Value operand : op->getOperands())
    collectNeeds(operand, stage);
}

// Keeps costly full values that several stages need. The first of these stages stores them for the others.
void Planner::chooseRowBuffers() {
  int64_t budget = kMaxRowBufferBytes;
  for (const LoopNest &nest : graph.getNests()) {
    if (graph.getSpace().isReduction(nest.op) || !isCostly(nest.op))
      continue;
    Value value = nest.op->getResult(0);
    SmallVector<unsigned> users;
    for (unsigned stage = 0; stage < needs.size(); ++stage)
      if (needs[stage].contains(value))
        users.push_back(stage);
    if (users.size() < 2 || !graph.isFull(value) || llvm::is_contained(graph.getResults(), value))
      continue;
    if (int64_t bytes = bytesInStage(value); bytes <= budget) {
      budget -= bytes;
      plan.stages[users.front()].rowBuffers.push_back(value);
    }
  }
}

// If accumulators are arrays along a tile, a value like 1/sqrt(variance + epsilon) would be computed again for every
// row.
void Planner::chooseBlockValues() {
  const IterationSpace &space = graph.getSpace();
  if (!form.accumulatesInTile())
    return;
  for (const LoopNest &nest : graph.getNests()) {
    Value value = nest.op->getNumResults() ? nest.op->getResult(0) : Value();
    if (!value || space.isReduction(nest.op) || space.getLevel(value) == 0 || !isOuter(value))
      continue;
    bool readInside = llvm::any_of(value.getUsers(), [&](Operation *user) {
      return space.isReduction(user) ||
             llvm::any_of(user->getResults(), [&](Value result) { return !isOuter(result); });
    });
    if (readInside)
      plan.stages[space.getLevel(value) - 1].tileValues.push_back(value);
  }
}

void Planner::run() {
  needs.resize(plan.stages.size());
  for (auto [index, stage] : llvm::enumerate(plan.stages)) {
    for (Operation *reduction : stage.reductions)
      for (Value operand : reduction->getOperands())
        collectNeeds(operand, index);
    for (unsigned result : stage.fullResults)
      collectNeeds(graph.getResults()[result], index);
  }
  if (plan.stages.size() > 1)
    chooseRowBuffers();
  chooseBlockValues();
}

void cleave::keepValues(const KernelGraph &graph, const LoopForm &form, StagePlan &plan) {
  Planner(graph, form, plan).run();
}
