#include "compiler/Codegen/CUDA/FloatFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace cleave;

namespace {

// exp(x) = 2^j 2^r with an integer j near x log2(e), so that |r| <= 1/2 and 2^r is right to 2 ulp (PTX ISA, "ex2"). j is
// at most 126 in magnitude: 2^j is then a normal number, and r makes up for the rest of it, so that large results become
// infinite and small ones subnormal by the last product. NaN stays NaN in r.
struct ExpandExp : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    Location location = op.getLoc();
    auto number = [&](float value) {
      return arith::ConstantOp::create(rewriter, location, rewriter.getF32FloatAttr(value)).getResult();
    };
    auto bits = [&](int32_t value) { return arith::ConstantIntOp::create(rewriter, location, value, 32).getResult(); };
    // log2(e) as a sum of two. The lowest bits of a number from 1.5 * 2^23 on are those of an integer: j and the
    // exponent's bias.
    constexpr float kHigh = 1.44269502f, kLow = 1.92596299e-8f, kShift = 0x1.8p23f + 127;
    Value x = op.getOperand();
    Value shifted = math::FmaOp::create(rewriter, location, x, number(kHigh), number(kShift));
    shifted = arith::MaximumFOp::create(rewriter, location, shifted, number(kShift - 126));
    shifted = arith::MinimumFOp::create(rewriter, location, shifted, number(kShift + 126));
    Value minus = arith::SubFOp::create(rewriter, location, number(kShift), shifted);
    Value r = math::FmaOp::create(rewriter, location, x, number(kHigh), minus);
    r = math::FmaOp::create(rewriter, location, x, number(kLow), r);
    Value power = LLVM::CallIntrinsicOp::create(rewriter, location, rewriter.getF32Type(),
                                                rewriter.getStringAttr("llvm.nvvm.ex2.approx.ftz"), ValueRange{r})
                      .getResult(0);
    Value word = arith::BitcastOp::create(rewriter, location, rewriter.getI32Type(), shifted);
    Value scale = arith::BitcastOp::create(rewriter, location, rewriter.getF32Type(),
                                           arith::ShLIOp::create(rewriter, location, word, bits(23)));
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, power, scale);
    return success();
  }
};

} // namespace

void cleave::populateFloatFunctions(RewritePatternSet &patterns) { patterns.add<ExpandExp>(patterns.getContext()); }
