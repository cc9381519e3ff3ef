// Tests how form-kernels splits a kernel that has no common iteration space.
#include "compiler/Codegen/Fusion/SplitKernel.h"
#include "compiler/Codegen/Loops/KernelGraph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace cleave;
using namespace mlir;

// Row sums and column sums of one value, and a constant that both read.
static const char *kText = R"(
  func.func @f(%x: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0:2 = cleave.kernel ins(%x : tensor<4x4xf32>) -> tensor<4xf32>, tensor<4xf32> {
    ^bb0(%a: tensor<4x4xf32>):
      %table = cleave.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
      %e = cleave.exp %a : tensor<4x4xf32>
      %r = cleave.reduce sum %e, [1] : tensor<4x4xf32> -> tensor<4xf32>
      %c = cleave.reduce sum %e, [0] : tensor<4x4xf32> -> tensor<4xf32>
      %s = cleave.mul %r, %table : tensor<4xf32>
      %t = cleave.mul %c, %table : tensor<4xf32>
      cleave.yield %s, %t : tensor<4xf32>, tensor<4xf32>
    }
    return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
  })";

TEST(SplitKernel, EveryOpGetsAKernelThatCompiles) {
  DialectRegistry registry;
  registry.insert<CleaveDialect, func::FuncDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(kText, &context);
  ASSERT_TRUE(module);
  func::FuncOp function = *module->getOps<func::FuncOp>().begin();
  KernelOp kernel = *function.getOps<KernelOp>().begin();
  std::string why;
  ASSERT_FALSE(KernelGraph::tryBuild(kernel, why));
  EXPECT_NE(why.find("share no iteration space"), std::string::npos) << why;

  SmallVector<KernelOp> parts = splitKernel(kernel);
  EXPECT_TRUE(succeeded(verify(*module)));
  ASSERT_EQ(parts.size(), 5u);
  for (KernelOp part : parts) {
    EXPECT_TRUE(KernelGraph::tryBuild(part, why)) << why;
    int64_t ops = 0;
    for (Operation &op : part.getBody().front().without_terminator())
      ops += !op.hasTrait<OpTrait::ConstantLike>();
    EXPECT_EQ(ops, 1);
  }
  Operation *end = function.getBody().front().getTerminator();
  EXPECT_EQ(end->getOperand(0), parts[3].getResult(0));
  EXPECT_EQ(end->getOperand(1), parts[4].getResult(0));
}
