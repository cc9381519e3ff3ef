#include "compiler/Training/Residuals/ResidualChoice.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <random>

using cleave::chooseResiduals;
using cleave::ResidualGraph;
using Kept = std::vector<int>;

namespace {

// Builds a graph value by value, so that a test reads like the program.
struct GraphBuilder {
  ResidualGraph graph;

  int input(int64_t bytes) {
    graph.values.push_back({bytes, true, false, false});
    return static_cast<int>(graph.values.size()) - 1;
  }
  int op(std::vector<int> operands, int64_t bytes, bool recomputable) {
    graph.values.push_back({bytes, false, false, false});
    int result = static_cast<int>(graph.values.size()) - 1;
    graph.ops.push_back({std::move(operands), {result}, recomputable});
    return result;
  }
  int kernel(std::vector<int> operands, int64_t bytes) { return op(std::move(operands), bytes, false); }
  int cheap(std::vector<int> operands, int64_t bytes) { return op(std::move(operands), bytes, true); }
  void need(int value) { graph.values[value].needed = true; }
};

// True if all values that the backward pass needs can be computed from `kept`, free values, and ops that may run twice.
bool suffices(const ResidualGraph &graph, const Kept &kept) {
  std::vector<bool> there(graph.values.size());
  for (size_t v = 0; v < there.size(); ++v)
    there[v] = graph.values[v].free;
  for (int v : kept)
    there[v] = true;
  for (const ResidualGraph::Op &op : graph.ops)
    if (op.recomputable && std::all_of(op.operands.begin(), op.operands.end(), [&](int v) { return there[v]; }))
      for (int result : op.results)
        there[result] = true;
  for (size_t v = 0; v < there.size(); ++v)
    if (graph.values[v].needed && !there[v])
      return false;
  return true;
}

int64_t bytesOf(const ResidualGraph &graph, const Kept &kept) {
  int64_t bytes = 0;
  for (int v : kept)
    bytes += graph.values[v].bytes;
  return bytes;
}

} // namespace

TEST(ResidualChoice, KeepsTheMaskWhereOnlyTheMaskIsNeeded) {
  GraphBuilder b;
  int x = b.kernel({b.input(64)}, 4096);
  int mask = b.cheap({x}, 1024);
  b.need(mask);
  EXPECT_EQ(chooseResiduals(b.graph), Kept{mask});
}

TEST(ResidualChoice, KeepsTheOriginWhereTwoOfItsChildrenAreNeeded) {
  GraphBuilder b;
  int x = b.kernel({b.input(64)}, 4096);
  b.need(b.cheap({x}, 1024));
  b.need(b.cheap({x}, 4096));
  EXPECT_EQ(chooseResiduals(b.graph), Kept{x});
}

TEST(ResidualChoice, InputsAndWhatIsMadeOfThemCostNothing) {
  GraphBuilder b;
  int in = b.input(1 << 20);
  int random = b.cheap({}, 4096);
  b.need(in);
  b.need(b.cheap({in, random}, 4096));
  EXPECT_TRUE(chooseResiduals(b.graph).empty());
}

TEST(ResidualChoice, NothingNeededNothingKept) {
  GraphBuilder b;
  b.kernel({b.kernel({b.input(8)}, 4096)}, 4096);
  EXPECT_TRUE(chooseResiduals(b.graph).empty());
}

TEST(ResidualChoice, KernelsAreNotRepeated) {
  GraphBuilder b;
  int small = b.kernel({b.input(8)}, 16);
  int big = b.kernel({small}, 1 << 20);
  b.need(big);
  EXPECT_EQ(chooseResiduals(b.graph), Kept{big});
}

TEST(ResidualChoice, EqualCostKeepsTheLastOfAChain) {
  GraphBuilder b;
  int value = b.kernel({b.input(8)}, 4096);
  for (int i = 0; i < 10; ++i)
    value = b.cheap({value}, 4096);
  b.need(value);
  EXPECT_EQ(chooseResiduals(b.graph), Kept{value});
}

TEST(ResidualChoice, AFewBytesAreNotWorthALongChain) {
  GraphBuilder b;
  int value = b.kernel({b.input(8)}, 4092);
  for (int i = 0; i < 40; ++i)
    value = b.cheap({value}, 4096);
  b.need(value);
  EXPECT_EQ(chooseResiduals(b.graph), Kept{value});
}

// A block's result is kept although it could be computed again from the input. Values inside of the block are not kept.
TEST(ResidualChoice, AnAnchorIsNotComputedAgain) {
  GraphBuilder b;
  int boundary = b.cheap({b.cheap({b.input(64)}, 4096)}, 4096);
  b.graph.values[boundary].anchored = true;
  int inside = b.cheap({boundary}, 8192);
  b.need(inside);
  b.need(b.cheap({inside}, 8192));
  EXPECT_EQ(chooseResiduals(b.graph), Kept{boundary});
}

TEST(ResidualChoice, BehindAnAnchorTheSmallerValueIsKept) {
  GraphBuilder b;
  int boundary = b.cheap({b.input(64)}, 4096);
  b.graph.values[boundary].anchored = true;
  int small = b.cheap({boundary}, 128);
  b.need(b.cheap({small}, 8192));
  EXPECT_EQ(chooseResiduals(b.graph), Kept{small});
}

TEST(ResidualChoice, ResultsOfOneOpAreKeptEachForItself) {
  ResidualGraph graph;
  graph.values = {{4096, false, false, false}, {64, false, true, false}, {4096, false, false, false}};
  graph.ops = {{{}, {0, 1, 2}, false}};
  EXPECT_EQ(chooseResiduals(graph), Kept{1});
}

// Compares with all subsets: the choice is always sufficient, and its cost is at most the penalty above the best.
TEST(ResidualChoice, NearTheBestOfAllSubsetsOnRandomGraphs) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    GraphBuilder b;
    b.input(64);
    for (int v = 1; v < 11; ++v) {
      std::vector<int> operands = {static_cast<int>(random() % v), static_cast<int>(random() % v)};
      int result = b.op(operands, 16 + static_cast<int64_t>(random() % 1000), random() % 3 != 0);
      if (random() % 3 == 0)
        b.need(result);
    }
    std::optional<int64_t> best;
    for (unsigned set = 0; set < (1u << 11); ++set) {
      Kept kept;
      for (int v = 1; v < 11; ++v)
        if (set >> v & 1)
          kept.push_back(v);
      if (suffices(b.graph, kept))
        best = std::min(best.value_or(INT64_MAX), bytesOf(b.graph, kept));
    }
    Kept chosen = chooseResiduals(b.graph);
    ASSERT_TRUE(suffices(b.graph, chosen)) << "round " << round;
    EXPECT_LE(bytesOf(b.graph, chosen), *best + *best / 20) << "round " << round;
  }
}
