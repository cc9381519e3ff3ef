// Compares the cut with all possible cuts, on small random graphs.
#include "compiler/Pipeline/Cut.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <set>

namespace cleave::pipeline {
namespace {

CutGraph randomGraph(int nodes, std::mt19937 &random) {
  CutGraph graph;
  for (int state = 0; state < nodes / 2 + 1; ++state)
    graph.stateBytes.push_back(1 + random() % 50);
  for (int node = 0; node < nodes; ++node) {
    CutNode one{
        "n" + std::to_string(node), static_cast<double>(random() % 10), static_cast<int64_t>(random() % 20), {}};
    for (unsigned i = random() % 3; i > 0; --i)
      one.states.push_back(
          static_cast<int>(random() % graph.stateBytes.size())); // tied if two nodes have the same state
    graph.nodes.push_back(one);
  }
  for (int from = 0; from + 1 < nodes; ++from) {
    CutEdge edge{from, {}, static_cast<int64_t>(random() % 30)};
    for (int to = from + 1; to < nodes; ++to)
      if (to == from + 1 || random() % 4 == 0)
        edge.to.push_back(to);
    graph.edges.push_back(edge);
  }
  return graph;
}

// Time, received bytes and memory of the nodes [begin, end), by definition.
CutStage measure(const CutGraph &graph, const CutRequest &request, int stage, int begin, int end) {
  CutStage one{begin, end, 0, 0, 0};
  std::set<int> states;
  double parameters = 0;
  int64_t activations = 0, held = 0;
  for (int node = begin; node < end; ++node) {
    states.insert(graph.nodes[node].states.begin(), graph.nodes[node].states.end());
    activations += graph.nodes[node].activationBytes;
    if (request.mode == CutMode::Auto)
      one.time += graph.nodes[node].cost;
    if (request.mode == CutMode::Uniform)
      one.time += 1;
    if (request.mode == CutMode::Pattern)
      one.time += request.isMatched[node];
  }
  for (int state : states)
    held += graph.stateBytes[state], parameters += static_cast<double>(graph.stateBytes[state]);
  if (request.mode == CutMode::Parameters)
    one.time += parameters;
  for (const CutEdge &edge : graph.edges)
    if (edge.from < begin &&
        std::any_of(edge.to.begin(), edge.to.end(), [&](int to) { return to >= begin && to < end; }))
      one.received += edge.bytes;
  one.time += request.transferCost * static_cast<double>(one.received);
  int frames = stage < static_cast<int>(request.frames.size()) ? request.frames[stage] : 1;
  one.memory = held + frames * (activations + one.received);
  return one;
}

bool isAllowed(const CutRequest &request, const std::vector<CutStage> &stages) {
  for (int stage = 0; stage < static_cast<int>(stages.size()); ++stage) {
    auto [begin, end, time, received, memory, states, kept] = stages[stage];
    auto has = [begin = begin, end = end](int node) { return node >= begin && node < end; };
    if (request.memoryLimit > 0 && memory > request.memoryLimit)
      return false;
    for (auto [node, pinned] : request.pins)
      if (has(node) != (pinned == stage))
        return false;
    for (auto [a, b] : request.together)
      if (has(a) != has(b))
        return false;
    if (!request.boundaries.empty() && stage > 0 && begin != request.boundaries[stage - 1])
      return false;
  }
  return true;
}

struct Best {
  bool any = false;
  double slowest = std::numeric_limits<double>::infinity();
  int64_t transferred = 0;
};

Best bruteForce(const CutGraph &graph, const CutRequest &request) {
  Best best;
  int nodes = static_cast<int>(graph.nodes.size());
  std::vector<int> begins = {0};
  std::function<void()> place = [&] {
    if (static_cast<int>(begins.size()) < request.stages) {
      for (int next = begins.back() + 1; next < nodes; ++next) {
        begins.push_back(next);
        place();
        begins.pop_back();
      }
      return;
    }
    std::vector<CutStage> stages;
    Best one{true, 0, 0};
    for (int stage = 0; stage < request.stages; ++stage) {
      stages.push_back(
          measure(graph, request, stage, begins[stage], stage + 1 < request.stages ? begins[stage + 1] : nodes));
      one.slowest = std::max(one.slowest, stages.back().time);
      one.transferred += stages.back().received;
    }
    if (isAllowed(request, stages) &&
        (!best.any || std::make_pair(one.slowest, one.transferred) < std::make_pair(best.slowest, best.transferred)))
      best = one;
  };
  place();
  return best;
}

CutRequest randomRequest(const CutGraph &graph, std::mt19937 &random) {
  int nodes = static_cast<int>(graph.nodes.size());
  CutRequest request;
  request.stages = 1 + static_cast<int>(random() % 4);
  request.mode = static_cast<CutMode>(random() % 4);
  request.transferCost = static_cast<double>(random() % 4) * 0.25;
  if (random() % 2)
    request.memoryLimit = 60 + random() % 200;
  for (int stage = 0; stage < request.stages && random() % 4; ++stage)
    request.frames.push_back(request.stages - stage);
  for (unsigned i = random() % 3; i > 0; --i)
    request.pins.push_back({static_cast<int>(random() % nodes), static_cast<int>(random() % request.stages)});
  for (unsigned i = random() % 3; i > 0; --i)
    request.together.push_back({static_cast<int>(random() % nodes), static_cast<int>(random() % nodes)});
  for (int node = 0; node < nodes; ++node)
    request.isMatched.push_back(random() % 2);
  if (random() % 5 == 0)
    for (int stage = 1; stage < request.stages; ++stage)
      request.boundaries.push_back(static_cast<int>(random() % nodes));
  return request;
}

TEST(Cut, IsTheBestOfAllCuts) {
  std::mt19937 random(17);
  int found = 0, refused = 0;
  for (int round = 0; round < 5000; ++round) {
    CutGraph graph = randomGraph(1 + static_cast<int>(random() % 9), random);
    CutRequest request = randomRequest(graph, random);
    Result<Cut> cut = cutGraph(graph, request);
    Best best = bruteForce(graph, request);
    bool isTooFewMatched = request.mode == CutMode::Pattern &&
                           std::count(request.isMatched.begin(), request.isMatched.end(), true) < request.stages;
    if (isTooFewMatched)
      best.any = false; // refused, although a cut with empty stages exists
    ASSERT_EQ(static_cast<bool>(cut), best.any) << "round " << round << (cut ? "" : ": " + cut.message());
    if (!cut) {
      ++refused;
      EXPECT_FALSE(cut.message().empty());
      continue;
    }
    ++found;
    EXPECT_DOUBLE_EQ(cut->slowest, best.slowest) << "round " << round;
    EXPECT_EQ(cut->transferred, best.transferred) << "round " << round;
    EXPECT_TRUE(isAllowed(request, cut->stages));
    int next = 0;
    for (int stage = 0; stage < request.stages; ++stage) {
      CutStage expected = measure(graph, request, stage, cut->stages[stage].begin, cut->stages[stage].end);
      EXPECT_EQ(cut->stages[stage].begin, next);
      EXPECT_DOUBLE_EQ(cut->stages[stage].time, expected.time);
      EXPECT_EQ(cut->stages[stage].memory, expected.memory);
      next = cut->stages[stage].end;
    }
    EXPECT_EQ(next, static_cast<int>(graph.nodes.size()));
  }
  EXPECT_GT(found, 1000);
  EXPECT_GT(refused, 1000);
}

CutGraph chain(std::vector<double> costs) {
  CutGraph graph;
  for (double cost : costs) {
    int number = static_cast<int>(graph.nodes.size());
    graph.nodes.push_back({std::string(1, static_cast<char>('a' + number)), cost, 10, {number}});
    graph.stateBytes.push_back(100);
    if (number > 0)
      graph.edges.push_back({number - 1, {number}, 8});
  }
  return graph;
}

std::vector<int> begins(const Result<Cut> &cut) {
  std::vector<int> all;
  for (const CutStage &stage : cut->stages)
    all.push_back(stage.begin);
  return all;
}

TEST(Cut, BalancesByTheModesMeasure) {
  CutGraph graph = chain({1, 1, 4, 1, 1, 1});
  CutRequest request;
  request.stages = 3;
  EXPECT_EQ(begins(cutGraph(graph, request)), (std::vector<int>{0, 2, 3}));
  request.mode = CutMode::Uniform;
  EXPECT_EQ(begins(cutGraph(graph, request)), (std::vector<int>{0, 2, 4}));
  request.mode = CutMode::Pattern;
  request.isMatched = {false, false, false, true, true, true};
  EXPECT_EQ(begins(cutGraph(graph, request))[2], 5);
  request.mode = CutMode::Parameters;
  graph.stateBytes = {300, 100, 100, 100, 100, 100};
  EXPECT_EQ(begins(cutGraph(graph, request))[1], 1);
}

// A stage stores a tied state once. If two stages use it, each of them stores it.
TEST(Cut, MemoryDecidesWhereTimeWouldNot) {
  CutGraph graph = chain({1, 1, 1, 1});
  graph.stateBytes = {500, 100, 100, 100};
  CutRequest request;
  request.stages = 2;
  EXPECT_EQ(begins(cutGraph(graph, request))[1], 2);
  request.memoryLimit = 550;
  EXPECT_EQ(begins(cutGraph(graph, request))[1], 1);
  // The memory is the estimate times the stage's scale.
  request.scales = {{1, 1}, {1, 1}};
  EXPECT_EQ(begins(cutGraph(graph, request))[1], 1);
  request.scales = {{0.5, 1}, {1, 1}};
  EXPECT_EQ(begins(cutGraph(graph, request))[1], 2);
  request.scales = {{2, 1}, {1, 1}};
  EXPECT_FALSE(cutGraph(graph, request));
  request.scales.clear();
  // GPipe keeps all micro-batches alive in every stage, 1F1B only in stage 0.
  request.frames = {8, 8};
  EXPECT_FALSE(cutGraph(graph, request));
}

TEST(Cut, SaysWhatWouldWork) {
  CutGraph graph = chain({1, 1, 1, 1});
  CutRequest request;
  request.stages = 5;
  EXPECT_EQ(cutGraph(graph, request).message(),
            "the model cannot be cut into 5 stages: it has 4 operations, and each stage needs "
            "one that it can begin with; use at most 4 stages");
  request.together = {{0, 1}}; // the advice of the message works
  EXPECT_EQ(cutGraph(graph, request).message(),
            "the model cannot be cut into 5 stages: it has 4 operations, and each stage needs "
            "one that it can begin with; use at most 3 stages");
  request.stages = 3;
  EXPECT_TRUE(cutGraph(graph, request));
  request.together = {{0, 2}};
  EXPECT_EQ(cutGraph(graph, request).message(),
            "the model cannot be cut into 3 stages: operations that must stay together leave "
            "room for 2; use at most 2 stages");
  request.stages = 2;
  request.boundaries = {1};
  EXPECT_EQ(cutGraph(graph, request).message(),
            "a stage cannot begin at 'b': 'a' and 'c' must be in one stage; move the boundary "
            "to before the first or after the second");
  request.together.clear();
  request.boundaries = {1, 2};
  EXPECT_EQ(cutGraph(graph, request).message(), "2 boundaries make 3 stages, asked for are 2: name 1 boundaries");
  request.boundaries.clear();
  request.pins = {{0, 1}, {1, 0}};
  EXPECT_EQ(cutGraph(graph, request).message(),
            "'b' is pinned to stage 0, and 'a', which comes before it, to the later stage 1: "
            "pin it to stage 1 or a later one");
  request.pins = {{0, 1}};
  EXPECT_EQ(cutGraph(graph, request).message(),
            "'a' is pinned to stage 1, but the model's first operation is in stage 0: pin it there");
  request.pins = {{3, 0}};
  EXPECT_EQ(cutGraph(graph, request).message(),
            "'d' is pinned to stage 0, but the model's last operation is in stage 1: pin it there");
  request.stages = 4;
  request.pins = {{0, 0}, {2, 3}};
  EXPECT_EQ(
      cutGraph(graph, request).message(),
      "'a' is in stage 0 and 'c' in stage 3, but from the one to the other a new stage can begin at 2 operations: "
      "put them at most 2 stages apart");
  request.pins = {{0, 0}, {2, 2}};
  EXPECT_TRUE(cutGraph(graph, request));
  request.stages = 2;
  request.pins.clear();
  request.memoryLimit = 200;
  EXPECT_EQ(cutGraph(graph, request).message(),
            "no cut into 2 stages fits 200 bytes a stage; 228 bytes would do, or more stages");
  request.memoryLimit = 228;
  EXPECT_TRUE(cutGraph(graph, request));
  request.memoryLimit = 227;
  EXPECT_FALSE(cutGraph(graph, request));
  request.memoryLimit = 0;
  request.mode = CutMode::Pattern;
  request.isMatched = {true, false, false, false};
  EXPECT_EQ(cutGraph(graph, request).message(),
            "the pattern of the stages matches 1 operations: too few for 2 stages; use a "
            "pattern that matches more, or at most 1 stages");
}

} // namespace
} // namespace cleave::pipeline
