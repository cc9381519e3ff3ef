// Compares constants of two imports with different batches: which differ only in size, and which are made from which.
#include "compiler/Driver/Model/ConstantCompare.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace cleave;

namespace {

mlir::MLIRContext &context() {
  static mlir::MLIRContext *context = [] {
    auto *made = new mlir::MLIRContext(mlir::MLIRContext::Threading::DISABLED);
    made->loadDialect<CleaveDialect, mlir::func::FuncDialect>();
    return made;
  }();
  return *context;
}

// An import of which one value is compared.
class Import {
public:
  // A constant with a literal as it is written in an op: "dense<[1, 2]> : tensor<2xi64>".
  static std::shared_ptr<Import> ofConstant(const std::string &literal) {
    return std::shared_ptr<Import>(new Import("cleave.constant " + literal, ""));
  }
  // A state as the weights have it, with its initial bytes (none: a parameter that is drawn).
  static std::shared_ptr<Import> ofState(const std::string &name, const std::string &type, const std::string &role,
                                         std::vector<float> values) {
    std::shared_ptr<Import> made(new Import("cleave.read @" + name + " : " + type,
                                            "cleave.state @" + name + " : " + type + " {role = #cleave.role<" + role +
                                                ">, segments = [#cleave.segment<\"" + name + "\", " + type +
                                                ", offset = 0, group = 0, init = #cleave.init<weights>>]}\n"));
    made->values = std::move(values);
    auto tensor = mlir::cast<mlir::RankedTensorType>(made->value().getType());
    if (!made->values.empty())
      made->model.weights.insert(name, {tensor, llvm::ArrayRef(reinterpret_cast<const char *>(made->values.data()),
                                                               made->values.size() * sizeof(float))});
    return made;
  }

  mlir::Value value() {
    auto function = *mlir::ModuleOp(*model.module).getOps<mlir::func::FuncOp>().begin();
    return function.getBody().front().front().getResult(0);
  }
  const ImportedModel &imported() const { return model; }

private:
  Import(const std::string &op, const std::string &states) {
    std::string source = states + "func.func @model() {\n  %0 = " + op + "\n  return\n}\n";
    model.module = mlir::parseSourceString<mlir::ModuleOp>(source, &context());
    EXPECT_TRUE(model.module) << source;
  }

  ImportedModel model;
  std::vector<float> values;
};

bool differs(const std::shared_ptr<Import> &one, const std::shared_ptr<Import> &other) {
  ImportedStates oneStates(one->imported()), otherStates(other->imported());
  return differsBesidesSize(one->value(), oneStates, other->value(), otherStates);
}

bool differs(const std::string &one, const std::string &other) {
  return differs(Import::ofConstant(one), Import::ofConstant(other));
}

std::shared_ptr<Import> weights(const std::string &type, std::vector<float> values) {
  return Import::ofState("w", type, "constant", std::move(values));
}

std::vector<std::optional<int64_t>> indices(std::vector<int64_t> other, std::vector<int64_t> one, int64_t outer) {
  std::vector<std::optional<int64_t>> found;
  for (int64_t i = 0; i < mlir::ShapedType::getNumElements(one); ++i)
    found.push_back(indexIn(other, one, outer, i));
  return found;
}

using Indices = std::vector<std::optional<int64_t>>;

TEST(ConstantCompare, FindsTheSamplesOfALargerBatch) {
  EXPECT_EQ(indices({8}, {4}, 1), (Indices{0, 1, 2, 3}));
  EXPECT_EQ(indices({8}, {4}, 2), (Indices{0, 1, 4, 5}));
  EXPECT_EQ(indices({8}, {4}, 4), (Indices{0, 2, 4, 6}));
  EXPECT_EQ(indices({4, 3}, {2, 3}, 1), (Indices{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(indices({3, 4}, {3, 2}, 1), (Indices{0, 1, 4, 5, 8, 9}));
  EXPECT_EQ(indices({4, 4}, {2, 2}, 2), (Indices{0, 2, 8, 10})); // both dimensions have the batch
  EXPECT_EQ(indices({}, {}, 1), (Indices{0}));
}

TEST(ConstantCompare, KnowsNoPlaceWhereSamplesDoNotFit) {
  EXPECT_EQ(indexIn({8}, {6}, 4, 0), std::nullopt);
  EXPECT_EQ(indexIn({6}, {4}, 4, 0), std::nullopt);
  EXPECT_EQ(indexIn({2}, {4}, 1, 0), std::nullopt);
  EXPECT_EQ(indexIn({3, 4}, {3, 2}, 2, 3), 6); // a dimension that does not change need not be divisible
}

TEST(ConstantCompare, TakesTheBatchAsADimension) {
  EXPECT_FALSE(differs("dense<5> : tensor<2xi64>", "dense<5> : tensor<4xi64>"));
  EXPECT_FALSE(differs("dense<5> : tensor<4xi64>", "dense<5> : tensor<4xi64>"));
  EXPECT_FALSE(differs("dense<5.0> : tensor<1048576x64xf32>", "dense<5.0> : tensor<2097152x64xf32>"));
  EXPECT_FALSE(differs("dense<[0, 1]> : tensor<2xi64>", "dense<[0, 1, 2, 3]> : tensor<4xi64>"));
  EXPECT_FALSE(
      differs("dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>", "dense<[[1, 2, 7, 7], [3, 4, 7, 7]]> : tensor<2x4xi64>"));
  EXPECT_FALSE(differs("dense<[1, 2, 3, 4]> : tensor<4xi64>", "dense<[1, 2, 7, 7, 3, 4, 7, 7]> : tensor<8xi64>"));
  EXPECT_FALSE(differs("dense<[1, 2]> : tensor<2xi64>", "dense<[1, 7, 2, 7]> : tensor<4xi64>"));
}

TEST(ConstantCompare, FindsTheBatchInTheContent) {
  EXPECT_TRUE(differs("dense<4> : tensor<i64>", "dense<8> : tensor<i64>"));
  EXPECT_TRUE(differs("dense<4> : tensor<4xi64>", "dense<8> : tensor<8xi64>"));
  EXPECT_TRUE(differs("dense<[1, 2]> : tensor<2xi64>", "dense<[1, 3]> : tensor<2xi64>"));
  EXPECT_TRUE(differs("dense<[1, 2]> : tensor<2xi64>", "dense<[2, 1, 2, 2]> : tensor<4xi64>"));
  EXPECT_TRUE(differs("dense<[1, 2]> : tensor<2xi64>", "dense<1> : tensor<1xi64>")); // the other one has fewer elements
  EXPECT_TRUE(differs("dense<5> : tensor<4xi64>", "dense<5> : tensor<2x2xi64>"));
  EXPECT_TRUE(differs("dense<0.0> : tensor<2xf32>", "dense<-0.0> : tensor<4xf32>"));
}

TEST(ConstantCompare, ComparesTheBytesOfLargeConstants) {
  EXPECT_FALSE(differs(weights("tensor<2xf32>", {1, 2}), weights("tensor<4xf32>", {1, 2, 3, 4})));
  EXPECT_FALSE(differs(weights("tensor<2xf32>", {1, 2}), weights("tensor<4xf32>", {1, 3, 2, 4})));
  EXPECT_TRUE(differs(weights("tensor<2xf32>", {1, 2}), weights("tensor<4xf32>", {2, 1, 1, 1})));
  EXPECT_TRUE(differs(weights("tensor<2xf32>", {1, 2}), weights("tensor<2xf32>", {1, 3})));
  auto one = weights("tensor<2xf32>", {1, 2});
  EXPECT_FALSE(differs(one, one));
}

TEST(ConstantCompare, TakesAConstantInTwoFormsForTwo) {
  EXPECT_TRUE(differs(weights("tensor<2xf32>", {1, 1}), Import::ofConstant("dense<1.0> : tensor<2xf32>")));
  EXPECT_TRUE(differs(Import::ofConstant("dense<1.0> : tensor<2xf32>"), weights("tensor<2xf32>", {1, 1})));
  EXPECT_TRUE(differs(weights("tensor<2xf32>", {1, 1}), weights("tensor<2xf32>", {})));
}

// The values of parameters are not compared. A parameter is equal to itself, whatever its weights.
TEST(ConstantCompare, KnowsParametersByName) {
  auto parameter = [](const std::string &name, const std::string &type) {
    return Import::ofState(name, type, "parameter", {1, 2});
  };
  EXPECT_FALSE(differs(parameter("w", "tensor<2xf32>"), parameter("w", "tensor<2xf32>")));
  EXPECT_TRUE(differs(parameter("w", "tensor<2xf32>"), parameter("v", "tensor<2xf32>")));
  EXPECT_TRUE(differs(parameter("w", "tensor<2xf32>"), parameter("w", "tensor<2x1xf32>")));
}

} // namespace
