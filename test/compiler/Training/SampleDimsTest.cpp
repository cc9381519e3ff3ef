// Samples are followed through any op that says how it cuts its operand, also one that the compiler does not know.
#include "compiler/Training/Chunks/SampleDims.h"
#include "dialects/Cleave/IR/Algebra.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace cleave::test {

// An op of a plug-in: 8 rows of its operand, from row `first`.
class RowsOp : public mlir::Op<RowsOp, mlir::OpTrait::OneResult, mlir::OpTrait::OneOperand> {
public:
  using Op::Op;
  static llvm::StringRef getOperationName() { return "plugin.rows"; }
  static llvm::ArrayRef<llvm::StringRef> getAttributeNames() {
    static llvm::StringRef names[] = {"first"};
    return names;
  }
};

struct CutsRows : IndexingOpInterface::ExternalModel<CutsRows, RowsOp> {
  llvm::SmallVector<llvm::ArrayRef<int64_t>, 2> getStarts(mlir::Operation *op) const {
    static constexpr int64_t kSteps[] = {1, 1};
    return {op->getAttrOfType<mlir::DenseI64ArrayAttr>("first").asArrayRef(), kSteps};
  }
};

class PluginDialect : public mlir::Dialect {
public:
  explicit PluginDialect(mlir::MLIRContext *context)
      : Dialect(getDialectNamespace(), context, mlir::TypeID::get<PluginDialect>()) {
    addOperations<RowsOp>();
    RowsOp::attachInterface<CutsRows>(*context);
  }
  static llvm::StringRef getDialectNamespace() { return "plugin"; }
};

// The position of the samples in the rows that the op takes of two batches of 8 samples, one after the other.
static std::optional<SamplePosition> positionFrom(int64_t first) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<CleaveDialect, mlir::func::FuncDialect, PluginDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    func.func @f(%x: tensor<8x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) {
      %two = cleave.concat %x, %x dim = 0 : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<16x4xf32>
      %one = "plugin.rows"(%two) {first = array<i64: )" + std::to_string(first) +
                                                            R"(, 0>} : (tensor<16x4xf32>) -> tensor<8x4xf32>
      return
    })",
                                                        &context);
  EXPECT_TRUE(module);
  auto function = module->lookupSymbol<mlir::func::FuncOp>("f");
  mlir::Operation *rows = function.getBody().front().getTerminator()->getPrevNode();
  EXPECT_EQ(SampleDims(function).get(rows->getOperand(0))->count, 8);
  return SampleDims(function).get(rows->getResult(0));
}

TEST(SampleDims, AWholeBatchThatAPluginCutsHasItsSamples) {
  auto position = positionFrom(8);
  ASSERT_TRUE(position);
  EXPECT_EQ(position->dim, 0);
  EXPECT_EQ(position->inner, 1);
  EXPECT_EQ(position->count, 8);
}

TEST(SampleDims, RowsOfTwoBatchesAreNoBatch) { EXPECT_FALSE(positionFrom(4)); }

} // namespace cleave::test
