#include "compiler/Training/Precision/LossScale.h"

#include "compiler/Training/Diagnose.h"
#include "compiler/Training/States.h"
#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "mlir/IR/Matchers.h"
#include "runtime/plan/ScalarNames.h"

#include <cmath>

using namespace mlir;

namespace cleave {

namespace {

double getNumber(DictionaryAttr settings, StringRef key) { return settings.getAs<FloatAttr>(key).getValueAsDouble(); }

// Returns a number that the count does not exceed if each term counts at most 1. Returns 1 if no bound is known.
double boundOf(Value count) {
  while (Operation *op = count.getDefiningOp()) {
    DenseElementsAttr constant;
    if (matchPattern(count, m_Constant(&constant)) && constant.isSplat())
      if (auto number = dyn_cast<FloatAttr>(constant.getSplatValue<Attribute>()))
        return number.getValueAsDouble();
    for (const LinearOperand &linear : linearOperands(op))
      if (linear.sums)
        return static_cast<double>(tensorType(op->getOperand(linear.number)).getNumElements());
    if (op->getNumOperands() != 1)
      return 1;
    count = op->getOperand(0);
  }
  return 1;
}

double unitOf(Value count, LossAverage average, int64_t microBatches) {
  double bound = average == LossAverage::Rank ? 1 : boundOf(count) * static_cast<double>(microBatches);
  return bound > 1 ? std::exp2(-std::floor(std::log2(bound))) : 1;
}

} // namespace

FailureOr<bool> needsLossScale(ModuleOp module, const LossScaleOptions &options, bool hasFp16Gradients) {
  using Mode = LossScaleOptions::Mode;
  if (!hasFp16Gradients && (options.mode == Mode::Dynamic || options.mode == Mode::Fixed))
    return diagnose(module,
                    usageError("--loss-scale", "gradients of f32 and bf16 have f32's range and need none; leave "
                                               "it out, or ask for --precision fp16"));
  return hasFp16Gradients && options.mode != Mode::None;
}

void declareLossScale(ModuleOp module, const LossScaleOptions &options, Value count, LossAverage average,
                      int64_t microBatches) {
  Builder b(module.getContext());
  bool isFixed = options.mode == LossScaleOptions::Mode::Fixed;
  StateOp scale = getScalar(module, rt::kLossScaleScalar, b.getF32Type());
  SegmentAttr zero = onlySegment(scale);
  auto init = InitAttr::get(b.getContext(), InitKind::Constant, {}, b.getF64FloatAttr(options.init));
  auto segment = SegmentAttr::get(b.getContext(), zero.getName(), zero.getType(), 0, 0, init, {});
  scale.setSegmentsAttr(b.getArrayAttr({segment}));
  getScalar(module, rt::kGoodStepsScalar, b.getF32Type());
  getScalar(module, rt::kSkippedScalar, b.getF32Type());
  auto entry = [&](StringRef name, double value) { return b.getNamedAttr(name, b.getF64FloatAttr(value)); };
  module->setAttr(kLossScaleAttr,
                  b.getDictionaryAttr({entry("unit", unitOf(count, average, microBatches)),
                                       entry("growth", options.growth), entry("backoff", options.backoff),
                                       entry("interval", isFixed ? 0 : static_cast<double>(options.interval))}));
}

Value readLossScale(ModuleOp module, OpBuilder &builder, Location loc) {
  auto settings = module->getAttrOfType<DictionaryAttr>(kLossScaleAttr);
  if (!settings)
    return nullptr;
  Value scale = readState(builder, loc, getScalar(module, rt::kLossScaleScalar, builder.getF32Type()));
  return Arithmetic(builder, loc).scale(scale, getNumber(settings, "unit"));
}

void writeLossScale(ModuleOp module, OpBuilder &builder, Location loc, Value finite) {
  auto settings = module->getAttrOfType<DictionaryAttr>(kLossScaleAttr);
  Arithmetic a(builder, loc);
  Type f32 = builder.getF32Type();
  StateOp skippedState = getScalar(module, rt::kSkippedScalar, f32);
  Value skipped = readState(builder, loc, skippedState), zero = a.scalar(f32, 0);
  WriteOp::create(builder, loc, a.select(finite, skipped, a.shift(skipped, 1)), skippedState.getSymName());
  double interval = getNumber(settings, "interval");
  if (interval == 0)
    return;
  StateOp scaleState = getScalar(module, rt::kLossScaleScalar, f32),
          goodState = getScalar(module, rt::kGoodStepsScalar, f32);
  Value scale = readState(builder, loc, scaleState), good = a.shift(readState(builder, loc, goodState), 1);
  Value grows = a.compare(Predicate::Ge, good, a.scalar(f32, interval));
  Value grown = a.min(a.scale(scale, getNumber(settings, "growth")), a.scalar(f32, 0x1p126));
  Value next = a.select(finite, a.select(grows, grown, scale), a.scale(scale, getNumber(settings, "backoff")));
  WriteOp::create(builder, loc, next, scaleState.getSymName());
  WriteOp::create(builder, loc, a.select(finite, a.select(grows, zero, good), zero), goodState.getSymName());
}

} // namespace cleave
