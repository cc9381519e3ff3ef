// Which values prefer the form of the state that they are written to.
#include "compiler/Sharding/Preferences.h"
#include "ParsedModule.h"

namespace cleave {
namespace {

class PreferencesTest : public testing::Test {
protected:
  // The form that the only result of the function's only op of this kind prefers.
  template <typename Op> ShardingAttr preferenceOf(const char *function, StatePolicy policy) {
    auto mesh = meshOf(R"(["dp", "fsdp"], [2, 2])");
    bool hasServer = policy.dpSync == DpSync::ParameterServer;
    auto axes = hasServer ? axesOf({"dp"}) : axesOf({"dp", "fsdp"});
    StateForms states(module.get(), mesh, policy, axes);
    Preferences preferences(states, mesh, hasServer ? llvm::ArrayRef(axes) : llvm::ArrayRef<mlir::Attribute>());
    preferences.collect(module.function(function));
    return preferences.of(module.ops<Op>(function).front()->getResult(0));
  }
  ParsedModule module{{{"w", "parameter"}, {"g", "gradient"}}, kTrainingStep};
  StatePolicy split{FsdpStrategy::FullShard, GradSync::Every, DpSync::AllReduce};
  StatePolicy whole{FsdpStrategy::NoShard, GradSync::Last, DpSync::AllReduce};
  StatePolicy server{FsdpStrategy::NoShard, GradSync::Every, DpSync::ParameterServer};
};

TEST_F(PreferencesTest, AValueThatIsWrittenToASplitStatePrefersItsSplit) {
  EXPECT_EQ(preferenceOf<ReduceOp>("backward", split), shardingOf(R"([["fsdp"]], partial = ["dp"])"));
  EXPECT_EQ(preferenceOf<SubOp>("update", split), shardingOf(R"([["fsdp"]])"));
}

TEST_F(PreferencesTest, OnlyInTheUpdateDoOperandsPreferItToo) {
  EXPECT_EQ(preferenceOf<ReadOp>("update", split), shardingOf(R"([["fsdp"]])"));
  EXPECT_FALSE(preferenceOf<AddOp>("backward", split));
}

TEST_F(PreferencesTest, NothingIsPreferredForWholeStates) {
  EXPECT_FALSE(preferenceOf<ReduceOp>("backward", whole));
  EXPECT_FALSE(preferenceOf<SubOp>("update", whole));
}

TEST_F(PreferencesTest, TheOwnerComputesANewParameterAndWhatItIsMadeOf) {
  EXPECT_EQ(preferenceOf<SubOp>("update", server), shardingOf(R"([[]], owner = ["dp"])"));
  EXPECT_EQ(preferenceOf<ReadOp>("update", server), shardingOf(R"([[]], owner = ["dp"])"));
  EXPECT_EQ(preferenceOf<ReduceOp>("backward", server), shardingOf(R"([[]], owner = ["dp"])"));
}

} // namespace
} // namespace cleave
