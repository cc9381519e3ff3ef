// Imports Dropout. It is the identity in inference, and where the file says that this node does not train. Else it is a
// mask of the counter-based generator in training, which recomputation repeats exactly.
#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "runtime/plan/ScalarNames.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

LogicalResult identity(OpContext &op) {
  Value x = op.value(0);
  if (op.wants(1))
    (void)op.result(1, op.emit.splat(1, typeOf(x).clone(op.emit.builder.getI1Type())));
  return op.result(x);
}

// True if the input `training_mode` is there and false: a layer in eval(). It is not there in files in inference form.
bool isSwitchedOff(OpContext &op) {
  const Literal *training = op.has(2) ? op.literal(2) : nullptr;
  return training && training->numElements() == 1 && training->asInt(0) == 0;
}

LogicalResult importDropout(OpContext &op) {
  Value x = op.value(0);
  if (failed(op.expectFloat(x)))
    return failure();
  if (!op.mode.training || isSwitchedOff(op)) // then the ratio may be a value that the model computes
    return identity(op);
  auto given = op.number("ratio", 1);
  if (failed(given))
    return failure();
  double ratio = given->value_or(0.5);
  if (!(ratio >= 0 && ratio < 1))
    return op.fail("the ratio must be at least 0 and below 1; got: " + std::to_string(ratio));
  if (ratio == 0)
    return identity(op);
  mlir::OpBuilder &b = op.emit.builder;
  Value seed = op.environment().readScalar(rt::kSeedScalar), step = op.environment().readScalar(rt::kStepScalar);
  Value uniform = op.emit.make<RandomUniformOp>(typeOf(x).clone(b.getF32Type()), seed, step, Value(),
                                                b.getI64IntegerAttr(op.takeSite()), b.getDenseI64ArrayAttr(shapeOf(x)));
  Value keep = op.emit.compare(Predicate::Ge, uniform, ratio);
  if (op.wants(1))
    (void)op.result(1, keep);
  Value scaled = op.emit.mul(x, 1 / (1 - ratio));
  return op.result(op.emit.select(keep, scaled, op.emit.splat(0, typeOf(x))));
}

} // namespace

void cleave::onnx_import::addDropoutOperators(OperatorTable &table) { table.add("Dropout", 13, inF32<importDropout>); }
