// When an op that makes more elements than it takes passes terms on, and when its operands are reduced first.
#include "compiler/Sharding/TermRules.h"
#include "ParsedModule.h"

namespace cleave {
namespace {

// The gradient of the first rows of a table is padded and written to @g, after `ops`, which make %out of %wide.
std::string gradient(const std::string &size, const std::string &ops) {
  return "func.func @backward(%part: tensor<" + size + "xf32>, %other: tensor<32xf32>) {\n" + ops + R"(
    cleave.write %out, @g : tensor<64xf32>
    return
  }
  func.func @update() {
    %g = cleave.read @g : tensor<64xf32>
    %half = cleave.mul %g, %g : tensor<64xf32>
    cleave.write %half, @w : tensor<64xf32>
    return
  })";
}

std::string alone(const std::string &size, const std::string &high) {
  return gradient(size, "%out = cleave.pad %part, [0], [" + high + "], [0], value = 0.0 : tensor<" + size +
                            "xf32> -> tensor<64xf32>");
}

const std::string kInBucket = gradient("16", R"(
    %wide = cleave.pad %part, [0], [16], [0], value = 0.0 : tensor<16xf32> -> tensor<32xf32>
    %out = cleave.concat %wide, %other dim = 0 : tensor<32xf32>, tensor<32xf32> -> tensor<64xf32>)");

class Terms {
public:
  // `other`: the form of the function's second argument.
  Terms(const std::string &functions, const char *other, GradSync sync = GradSync::Every, int64_t microBatches = 1)
      : module({{"w", "parameter"}, {"g", "gradient"}}, functions),
        states(module.get(), meshOf(R"(["dp"], [2])"), {FsdpStrategy::NoShard, sync, DpSync::AllReduce},
               axes = axesOf({"dp"})),
        rules(states, made, microBatches) {
    made[module.function("backward").getArgument(0)] = shardingOf(R"([[]], partial = ["dp"])");
    made[module.function("backward").getArgument(1)] = shardingOf(other);
  }

  bool padMakesTerms() { return rules.makesTerms(module.ops<PadOp>("backward").front()); }
  std::optional<bool> concatCombines() {
    auto concat = module.ops<ConcatOp>("backward").front();
    return rules.combinesTerms(concat, concat.getOperand(0));
  }

private:
  llvm::SmallVector<mlir::Attribute> axes;
  ParsedModule module;
  StateForms states;
  llvm::DenseMap<mlir::Value, ShardingAttr> made;
  TermRules rules;
};

constexpr const char *kTerm = R"([[]], partial = ["dp"])", *kWhole = "[[]]";

TEST(TermRules, AMemberOfABucketOfTermsIsReducedWithIt) {
  Terms terms(kInBucket, kTerm);
  EXPECT_EQ(terms.concatCombines(), true);
  EXPECT_TRUE(terms.padMakesTerms());
}

TEST(TermRules, AMemberOfABucketWithAWholeValueIsReducedFirst) {
  Terms terms(kInBucket, kWhole);
  EXPECT_EQ(terms.concatCombines(), std::nullopt);
  EXPECT_FALSE(terms.padMakesTerms());
}

// A whole gradient that is reduced in every micro-batch: the part of it is smaller.
TEST(TermRules, AloneTheFewerBytesDecide) {
  EXPECT_FALSE(Terms(alone("16", "48"), kWhole).padMakesTerms());
  EXPECT_FALSE(Terms(alone("16", "48"), kWhole, GradSync::Last, 2).padMakesTerms());
  EXPECT_TRUE(Terms(alone("16", "48"), kWhole, GradSync::Last, 4).padMakesTerms()); // 4 x 16 are no fewer than 64
}

} // namespace
} // namespace cleave
