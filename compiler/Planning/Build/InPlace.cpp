#include "compiler/Planning/Build/InPlace.h"

#include "dialects/Cleave/IR/Attributes.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace cleave::plan {

InPlaceRule::InPlaceRule(cleave::KernelOp kernel) {
  std::string why;
  graph = KernelGraph::tryBuild(kernel, why);
}

bool InPlaceRule::allows(unsigned input, unsigned result) const {
  if (!graph)
    return false;
  const IterationSpace &space = graph->getSpace();
  Value argument = graph->getInputs()[input], stored = graph->getResults()[result];
  if (space.dimsOf(argument) != space.dimsOf(stored) || graph->shapeOf(argument) != graph->shapeOf(stored))
    return false;
  // A value that is computed from the input is computed again wherever it is read, up to the next reduction. So each
  // read of it reads the input.
  llvm::DenseSet<Value> touched{argument};
  for (const LoopNest &nest : graph->getNests()) {
    bool reads = false;
    for (unsigned i = 0; i < nest.op->getNumOperands(); ++i)
      if (touched.contains(nest.values[i])) {
        reads = true;
        if (!space.readsAtOwnIndex(nest, i))
          return false;
      }
    if (reads && !space.isReduction(nest.op))
      touched.insert(nest.op->result_begin(), nest.op->result_end());
  }
  return true;
}

bool mayTakeOver(Operation *kernel, Value input, Value result, const ValueFamilies &families) {
  if (input.getType() != result.getType() || families.lastUse(input) != families.position(kernel))
    return false;
  WriteOp write = findStateWrite(result);
  ReadOp read = findStateRead(input);
  if (write || families.touchesState(input))
    return write && read && write.getState() == read.getState() && !families.outlives(result, write.getState(), write);
  if (auto argument = dyn_cast<BlockArgument>(input)) {
    auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    // A residual that a later function reads, too (split-backward), must stay.
    return function && function.getArgAttr(argument.getArgNumber(), kResidualAttr) &&
           !function.getArgAttr(argument.getArgNumber(), kSharedResidualAttr);
  }
  return input.getDefiningOp() && !isa<ConstantOp>(input.getDefiningOp());
}

llvm::SmallVector<int64_t> chooseTies(cleave::KernelOp kernel, const ValueFamilies &families) {
  llvm::SmallVector<int64_t> ties;
  InPlaceRule rule(kernel);
  for (OpResult result : kernel.getResults()) {
    int64_t tie = -1;
    for (unsigned input = 0; input < kernel.getInputs().size() && tie < 0; ++input) {
      Value value = kernel.getInputs()[input];
      bool alone = llvm::count_if(kernel.getInputs(),
                                  [&](Value other) { return other == value || families.related(other, value); }) == 1;
      if (alone && !llvm::is_contained(ties, input) && mayTakeOver(kernel, value, result, families) &&
          rule.allows(input, result.getResultNumber()))
        tie = input;
    }
    ties.push_back(tie);
  }
  return ties;
}

} // namespace cleave::plan
