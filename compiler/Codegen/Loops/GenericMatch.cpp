#include "compiler/Codegen/Loops/GenericMatch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace cleave;

linalg::GenericOp cleave::elementwiseMaker(Value value) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  bool fits =
      op && op->getNumResults() == 1 && op.getNumReductionLoops() == 0 && op.getIndexingMapsArray().back().isIdentity();
  return fits ? op : linalg::GenericOp();
}

Value cleave::yieldedOf(linalg::GenericOp op) { return op.getBody()->getTerminator()->getOperand(0); }

Value cleave::operandOf(linalg::GenericOp op, Value element) {
  auto argument = dyn_cast<BlockArgument>(element);
  if (!argument || argument.getOwner() != op.getBody() ||
      !op.getIndexingMapsArray()[argument.getArgNumber()].isIdentity())
    return {};
  return op->getOperand(argument.getArgNumber());
}

Terms cleave::termsOf(linalg::GenericOp reduction) {
  if (reduction.getNumDpsInputs() != 1 || reduction->getNumResults() != 1)
    return {};
  Value accumulator = reduction.getBody()->getArgument(1);
  Operation *combiner = yieldedOf(reduction).getDefiningOp();
  if (!combiner || combiner->getNumOperands() != 2 || !llvm::is_contained(combiner->getOperands(), accumulator))
    return {};
  Value term = combiner->getOperand(combiner->getOperand(0) == accumulator);
  if (auto wide = term.getDefiningOp<arith::ExtFOp>())
    term = wide.getIn();
  Value tensor = operandOf(reduction, term);
  return tensor && term != accumulator ? Terms{tensor, combiner} : Terms();
}
