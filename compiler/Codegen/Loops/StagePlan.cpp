#include "compiler/Codegen/Loops/StagePlan.h"

using namespace mlir;
using namespace cleave;

// A tied result overwrites its input, so it is stored in the last stage, after which nothing reads the input.
static void delayTied(const KernelGraph &graph, StagePlan &plan) {
  auto delay = [&](SmallVector<unsigned> Stage::*list) {
    for (Stage &stage : MutableArrayRef<Stage>(plan.stages).drop_back()) {
      auto isTied = [&](unsigned result) { return graph.getTies()[result] >= 0; };
      llvm::copy_if(stage.*list, std::back_inserter(plan.stages.back().*list), isTied);
      llvm::erase_if(stage.*list, isTied);
    }
  };
  delay(&Stage::fullResults);
  delay(&Stage::outerResults);
}

StagePlan StagePlan::make(const KernelGraph &graph) {
  StagePlan plan;
  const IterationSpace &space = graph.getSpace();
  auto stageAt = [&](unsigned index) -> Stage & {
    if (plan.stages.size() <= index)
      plan.stages.resize(index + 1);
    return plan.stages[index];
  };
  bool reduces = llvm::any_of(graph.getDims(), [](const IterationSpace::Dim &dim) { return dim.reduced; });
  for (const LoopNest &nest : graph.getNests())
    if (space.isReduction(nest.op))
      stageAt(space.getLevel(nest.op->getResult(0)) - 1).reductions.push_back(nest.op);
  for (auto [index, value] : llvm::enumerate(graph.getResults())) {
    unsigned level = space.getLevel(value);
    if (!reduces || graph.isFull(value))
      stageAt(level).fullResults.push_back(index);
    else
      stageAt(level == 0 ? 0 : level - 1).outerResults.push_back(index);
  }
  delayTied(graph, plan);
  return plan;
}
