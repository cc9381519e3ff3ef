// How accumulators are stored, and how a guess goes down its ladder.
#include "compiler/Sharding/StateForms.h"
#include "ParsedModule.h"

namespace cleave {
namespace {

TEST(StorageLadder, ASplitSumLosesItsPartialAxesAndIsThenWhole) {
  StorageLadder ladder(shardingOf(R"([["fsdp"]], partial = ["dp"])"));
  ShardingAttr reduced = shardingOf(R"([["fsdp"]])");
  EXPECT_TRUE(ladder.accepts(shardingOf(R"([[]], partial = ["dp", "fsdp"])"))); // a reduce_scatter over fsdp
  EXPECT_FALSE(ladder.accepts(reduced));                                        // it is no term
  ladder.stepDown(reduced);
  EXPECT_EQ(ladder.getStored(), reduced);
  EXPECT_TRUE(ladder.accepts(reduced));
  ladder.stepDown(reduced);
  EXPECT_EQ(ladder.getStored(), shardingOf("[[]]"));
}

TEST(StorageLadder, AWholeSumTakesTheFormThatIsWritten) {
  StorageLadder ladder(shardingOf(R"([[]], partial = ["dp"])"));
  ShardingAttr split = shardingOf(R"([["dp"]])");
  EXPECT_FALSE(ladder.accepts(split));
  ladder.stepDown(split);
  EXPECT_EQ(ladder.getStored(), split);
  ladder.stepDown(shardingOf("[[]]"));
  EXPECT_TRUE(ladder.getStored().isReplicated());
}

TEST(StorageLadder, TermsAndBlocksAreNoFormOfAWholeState) {
  for (const char *written : {R"([[]], partial = ["fsdp"])", R"([[4, "dp"]])"}) {
    StorageLadder ladder(shardingOf(R"([[]], partial = ["dp"])"));
    ladder.stepDown(shardingOf(written));
    EXPECT_TRUE(ladder.getStored().isReplicated()) << written;
  }
}

TEST(StorageLadder, AWholeStateAcceptsEverything) {
  StorageLadder ladder(shardingOf("[[]]"));
  for (const char *written : {"[[]]", R"([["dp"]])", R"([[]], partial = ["dp"])", R"([[4, "dp"]])"})
    EXPECT_TRUE(ladder.accepts(shardingOf(written))) << written;
}

class Forms : public testing::Test {
protected:
  StateForms forms(FsdpStrategy strategy, GradSync sync, std::initializer_list<llvm::StringRef> dataAxes) {
    auto mesh = meshOf(R"(["dp", "fsdp"], [2, 2])");
    return StateForms(module.get(), mesh, {strategy, sync, DpSync::AllReduce}, axes = axesOf(dataAxes));
  }
  ParsedModule module{{{"w", "parameter"}, {"g", "gradient"}}, kTrainingStep};
  llvm::SmallVector<mlir::Attribute> axes;
};

TEST_F(Forms, AStateThatOneFunctionWritesAndAnotherReadsIsAnAccumulator) {
  StateForms states = forms(FsdpStrategy::FullShard, GradSync::Every, {"dp", "fsdp"});
  EXPECT_TRUE(states.isAccumulator("g"));
  EXPECT_FALSE(states.isAccumulator("w"));
  EXPECT_EQ(states.getStored("w"), shardingOf(R"([["fsdp"]])"));
  EXPECT_EQ(states.getStored("g"), shardingOf(R"([["fsdp"]], partial = ["dp"])"));
}

TEST_F(Forms, NothingIsAccumulatedOverNoAxes) {
  EXPECT_FALSE(forms(FsdpStrategy::NoShard, GradSync::Last, {}).isAccumulator("g"));
}

TEST_F(Forms, AGuessStandsWhenEachWrittenValueIsAccepted) {
  StateForms states = forms(FsdpStrategy::NoShard, GradSync::Last, {"dp"});
  auto terms = shardingOf(R"([[]], partial = ["dp"])"), whole = shardingOf("[[]]");
  EXPECT_TRUE(states.settle([&](mlir::Value) { return terms; }));
  EXPECT_EQ(states.getStored("g"), terms);
  EXPECT_FALSE(states.settle([&](mlir::Value) { return whole; })); // all functions are propagated again
  EXPECT_EQ(states.getStored("g"), whole);
  EXPECT_TRUE(states.settle([&](mlir::Value) { return whole; }));
}

} // namespace
} // namespace cleave
