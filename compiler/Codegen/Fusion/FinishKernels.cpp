// finish-kernels: see Passes.td.
#include "compiler/Codegen/Fusion/Passes.h"
#include "dialects/Cleave/IR/ChannelsLast.h"

namespace cleave {
#define GEN_PASS_DEF_FINISHKERNELS
#include "compiler/Codegen/Fusion/Passes.h.inc"
} // namespace cleave

using namespace mlir;
using namespace cleave;

// Returns the library kernel that makes the value; null if the value has other uses.
static EpilogueOpInterface kernelOf(Value value) {
  return value.hasOneUse() ? dyn_cast_if_present<EpilogueOpInterface>(value.getDefiningOp()) : EpilogueOpInterface();
}

// Returns the vector that the value repeats along its last dimension; null if it is not such a broadcast.
static Value vectorOf(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  int64_t last = cast<RankedTensorType>(value.getType()).getRank() - 1;
  return broadcast && broadcast.getDims() == ArrayRef(last) ? broadcast.getOperand() : Value();
}

static bool finish(AddOp add, Value sum, Value addend) {
  EpilogueOpInterface kernel = kernelOf(sum);
  Value bias = vectorOf(addend);
  OpBuilder builder(add);
  Value whole = kernel && bias ? kernel.withEpilogue(builder, bias) : Value();
  if (!whole)
    return false;
  whole.getDefiningOp()->setDiscardableAttrs(kernel->getDiscardableAttrDictionary());
  add.replaceAllUsesWith(whole);
  add.erase();
  kernel->erase();
  if (addend.use_empty())
    addend.getDefiningOp()->erase();
  return true;
}

namespace {
struct FinishKernels : cleave::impl::FinishKernelsBase<FinishKernels> {
  void runOnOperation() override {
    SmallVector<AddOp> adds;
    getOperation().walk([&](AddOp add) { adds.push_back(add); });
    for (AddOp add : adds)
      if (!finish(add, add.getLhs(), add.getRhs()))
        finish(add, add.getRhs(), add.getLhs());
  }
};
} // namespace
