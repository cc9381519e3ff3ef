#include "compiler/Codegen/Fusion/FormedOps.h"

#include "compiler/Codegen/Loops/LinalgForm.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace cleave;

FormedOps::FormedOps(MLIRContext *context) {
  OpBuilder builder(context);
  Location location = builder.getUnknownLoc();
  module = ModuleOp::create(location);
  builder.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(builder, location, "forms", builder.getFunctionType({}, {}));
  block = function.addEntryBlock();
}

void FormedOps::add(Operation *op) {
  for (Value operand : op->getOperands())
    if (!mapping.contains(operand))
      mapping.map(operand, block->addArgument(operand.getType(), op->getLoc()));
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  std::string why;
  FailureOr<SmallVector<Operation *>> form = lowerToLinalg(builder, op, mapping, why);
  if (failed(form))
    return;
  std::vector<LoopNest> &own = nests[op];
  for (Operation *made : *form)
    own.push_back(LoopNest::of(made));
}

// True if the group sums many terms into one number and uses it for many elements (a norm of all gradients, and an
// update that is scaled by it). In one kernel, one thread or one block would do both. In two kernels, all threads do
// each.
static bool waitsForOneSum(const IterationSpace &space, ArrayRef<Value> results) {
  constexpr int64_t kMuch = 1 << 16, kFew = 8;
  int64_t parallel = 1, terms = 1;
  for (const IterationSpace::Dim &dim : space.getDims())
    (dim.reduced ? terms : parallel) *= dim.size;
  return parallel < kFew && terms >= kMuch &&
         llvm::any_of(results, [&](Value result) { return space.isFull(result) && space.getLevel(result) > 0; });
}

bool FormedOps::haveSpace(ArrayRef<Operation *> group, ArrayRef<Value> outputs) const {
  SmallVector<const LoopNest *> loops;
  for (Operation *op : group) {
    auto own = nests.find(op);
    if (own == nests.end())
      return false;
    for (const LoopNest &nest : own->second)
      loops.push_back(&nest);
  }
  SmallVector<Value> results;
  for (Value output : outputs)
    results.push_back(mapping.lookup(output));
  std::optional<IterationSpace> space = IterationSpace::find(loops, results);
  return space && !waitsForOneSum(*space, results);
}
