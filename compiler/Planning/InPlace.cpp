#include "compiler/Planning/InPlace.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace cleave::plan {

// Whether operand `number` of the nest is read at the index of the kernel's loops at which it stands, dimension by
// dimension.
static bool readsAtOwnIndex(const LoopNest &nest, unsigned number, const IterationSpace &space) {
  llvm::SmallVector<int> dims = space.dimsOf(nest.values[number]), loops = space.loopsOf(nest.op);
  if (nest.maps.empty() || nest.maps[number].getNumResults() != dims.size())
    return false;
  for (auto [dim, expr] : llvm::zip_equal(dims, nest.maps[number].getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (dim != IterationSpace::kUnit && (dim == IterationSpace::kOther || !loop || loops[loop.getPosition()] != dim))
      return false;
  }
  return true;
}

InPlaceRule::InPlaceRule(cleave::KernelOp kernel) : body(kernel.getBody().front()) {
  for (Operation &op : body.without_terminator())
    nests.push_back(LoopNest::of(&op));
  space = IterationSpace::find(nests, llvm::to_vector(body.getTerminator()->getOperands()));
}

bool InPlaceRule::allows(unsigned input, unsigned result) const {
  BlockArgument argument = body.getArgument(input);
  if (!space || space->dimsOf(argument) != space->dimsOf(body.getTerminator()->getOperand(result)))
    return false;
  // What is computed from the input is computed from it again wherever it is read, up to the next reduction.
  llvm::DenseSet<Value> touched{argument};
  for (const LoopNest &nest : nests) {
    bool reads = false;
    for (unsigned i = 0; i < nest.op->getNumOperands(); ++i)
      if (touched.contains(nest.values[i])) {
        reads = true;
        if (!readsAtOwnIndex(nest, i, *space))
          return false;
      }
    if (reads && !space->isReduction(nest.op))
      touched.insert(nest.op->result_begin(), nest.op->result_end());
  }
  return true;
}

bool mayTakeOver(Operation *kernel, Value input, Value result, const ValueFamilies &families) {
  if (input.getType() != result.getType() || families.lastUse(input) != families.position(kernel))
    return false;
  WriteOp write = writeAhead(result);
  ReadOp read = readBehind(input);
  if (write || families.touchesState(input))
    return write && read && write.getState() == read.getState() && !families.outlives(result, write.getState(), write);
  if (auto argument = dyn_cast<BlockArgument>(input)) {
    auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    return function && function.getArgAttr(argument.getArgNumber(), "cleave.residual");
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
