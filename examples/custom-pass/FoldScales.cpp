// A pass of one's own: joins two multiplications by constants into one.
//
//   mul(mul(x, splat a), splat b)  ->  mul(x, splat a*b)
//
// Built as a plug-in, it is loaded into either tool:
//   cleave-opt in.mlir --load-pass-plugin=libFoldScales.so --pass-pipeline='builtin.module(fold-scales)'
//   cleave compile model.onnx -o model --load-pass-plugin libFoldScales.so --insert import=fold-scales

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace {

// The value of a constant all of whose elements are equal floating-point numbers.
std::optional<APFloat> splatValue(Value value) {
  auto constant = value.getDefiningOp<cleave::ConstantOp>();
  auto elements = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  return elements.getSplatValue<APFloat>();
}

// Splits a product into its variable factor and its constant one.
std::optional<std::pair<Value, APFloat>> splitProduct(Value value) {
  auto mul = value.getDefiningOp<cleave::MulOp>();
  if (!mul)
    return std::nullopt;
  if (auto scale = splatValue(mul.getRhs()))
    return std::make_pair(mul.getLhs(), *scale);
  if (auto scale = splatValue(mul.getLhs()))
    return std::make_pair(mul.getRhs(), *scale);
  return std::nullopt;
}

struct FoldScales : OpRewritePattern<cleave::MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(cleave::MulOp op, PatternRewriter &rewriter) const override {
    auto outer = splitProduct(op);
    auto inner = outer ? splitProduct(outer->first) : std::nullopt;
    if (!inner)
      return rewriter.notifyMatchFailure(op, "not a product of a product with two constants");
    auto type = cast<RankedTensorType>(op.getType());
    auto scale =
        cleave::ConstantOp::create(rewriter, op.getLoc(), DenseElementsAttr::get(type, outer->second * inner->second));
    rewriter.replaceOpWithNewOp<cleave::MulOp>(op, type, inner->first, scale);
    return success();
  }
};

struct FoldScalesPass : PassWrapper<FoldScalesPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldScalesPass)

  StringRef getArgument() const final { return "fold-scales"; }
  StringRef getDescription() const final { return "join multiplications by constants"; }

  void runOnOperation() final {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldScales>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "FoldScales", "0.1", [] { PassRegistration<FoldScalesPass>(); }};
}
