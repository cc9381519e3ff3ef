#include "compiler/Planning/Build/StageLists.h"

#include <gtest/gtest.h>

namespace cleave::plan {
namespace {

// F of i, then B of i - 1. Two residuals are alive, and one more activation while the previous one is being sent.
std::vector<StageCall> shifted(int microBatches) {
  std::vector<StageCall> calls;
  for (int i = 0; i <= microBatches; ++i) {
    if (i < microBatches) {
      calls.push_back({i == 0 ? "F.first" : "F", i});
      calls.push_back({"send", i});
    }
    if (i > 0)
      calls.push_back({"B", i - 1});
  }
  return calls;
}

const std::map<std::string, StageBufferUses> kUses = {
    {"F.first", {{}, {"r", "y"}}}, {"F", {{}, {"r", "y"}}}, {"send", {{"y"}, {}}}, {"B", {{"r"}, {}}}};

const Transferred kSent = {{"y"}, {}, {"send"}};

TEST(StageLists, FramesAreWhatIsAliveAtATime) {
  auto stageBuffers = stageBuffersOf(shifted(6), kUses, kSent, 6);
  EXPECT_EQ(stageBuffers["r"].frames, 2);
  EXPECT_EQ(stageBuffers["y"].frames, 2); // one, and one that is being sent
  EXPECT_EQ(stageBuffers["r"].firstReaders, std::set<std::string>{"B"});
  EXPECT_EQ(stageBuffers["y"].lastReaders, std::set<std::string>{"send"});
  EXPECT_EQ(stageBuffersOf(shifted(1), kUses, kSent, 1)["y"].frames, 1);
}

// A value that is received right before its reader has memory already while the tasks before it run.
TEST(StageLists, ReceivesHaveRoomTwoTasksAhead) {
  auto callsOf = [](int microBatches) {
    std::vector<StageCall> calls;
    for (int i = 0; i < microBatches; ++i)
      for (const char *program : {"recv", "B", "F"})
        calls.push_back({program, i});
    return calls;
  };
  std::map<std::string, StageBufferUses> uses = {{"recv", {{}, {"g"}}}, {"B", {{"g"}, {}}}, {"F", {{}, {"y"}}}};
  EXPECT_EQ(stageBuffersOf(callsOf(6), uses, {{}, {}, {"recv"}}, 6)["g"].frames, 1);
  EXPECT_EQ(stageBuffersOf(callsOf(6), uses, {{}, {"g"}, {"recv"}}, 6)["g"].frames, 2); // the B and the F before it
  EXPECT_EQ(stageBuffersOf(callsOf(1), uses, {{}, {"g"}, {"recv"}}, 1)["g"].frames, 1);
}

// The body of the first micro-batch writes another value. It does not touch the stage buffer of the others.
TEST(StageLists, FirstBodyMayKeepOtherValues) {
  std::map<std::string, StageBufferUses> uses = kUses;
  uses["F.first"].writes = {"y", "s"};
  auto stageBuffers = stageBuffersOf(shifted(6), uses, kSent, 6);
  EXPECT_EQ(stageBuffers["r"].frames, 2);
  EXPECT_EQ(stageBuffers["r"].lastReaders, std::set<std::string>{"B"});
  EXPECT_EQ(stageBuffers["s"].lastReaders, std::set<std::string>{"F.first"});
  auto calls = shifted(6);
  for (StageCall &call : calls)
    if (call.program == "B" && call.microBatch == 0)
      call.program = "B.first";
  uses["B.first"] = {{"s"}, {}};
  stageBuffers = stageBuffersOf(calls, uses, kSent, 6); // "r" does not exist in micro-batch 0
  EXPECT_EQ(stageBuffers["r"].frames, 2);
  EXPECT_EQ(stageBuffers["r"].lastReaders, std::set<std::string>{"B"});
  EXPECT_EQ(stageBuffers["s"].frames, 1);
}

TEST(StageLists, CallsDoNotGrowWithMicroBatches) {
  auto count = [](const FoldedCalls &folded) {
    size_t calls = folded.calls.size();
    for (const auto &[name, list] : folded.loops)
      calls += list.size();
    return calls;
  };
  FoldedCalls few = foldCalls(shifted(8)), many = foldCalls(shifted(512));
  EXPECT_EQ(count(few), count(many));
  ASSERT_EQ(many.loops.size(), 1u);
  const std::vector<FoldedCall> &loop = many.loops.begin()->second;
  ASSERT_EQ(loop.size(), 3u);
  EXPECT_EQ(loop[0].first, 0); // it begins at the micro-batch of its first call
}

// The folded calls, in order, are the list.
static void expectTheList(const std::vector<StageCall> &calls) {
  std::vector<StageCall> unfolded;
  FoldedCalls folded = foldCalls(calls);
  for (const FoldedCall &call : folded.calls)
    for (int n = 0; n < call.times; ++n) {
      auto loop = folded.loops.find(call.program);
      if (loop == folded.loops.end())
        unfolded.push_back({call.program, call.first + n * call.stride});
      else
        for (const FoldedCall &inner : loop->second)
          unfolded.push_back({inner.program, call.first + n * call.stride + inner.first});
    }
  ASSERT_EQ(unfolded.size(), calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(unfolded[i].program, calls[i].program);
    EXPECT_EQ(unfolded[i].microBatch, calls[i].microBatch);
  }
}

// Two chunks run two micro-batches in turn: A0 A1 B0 B1 A2 A3 B2 B3 ...
static std::vector<StageCall> inTurns(int microBatches) {
  std::vector<StageCall> calls;
  for (int i = 0; i < microBatches; i += 2)
    for (const char *program : {"A", "B"})
      for (int k : {0, 1})
        calls.push_back({program, i + k});
  return calls;
}

TEST(StageLists, FoldedCallsAreTheList) {
  expectTheList(shifted(9));
  expectTheList(inTurns(12));
}

TEST(StageLists, RoundsOfSeveralMicroBatchesAreOneLoop) {
  FoldedCalls folded = foldCalls(inTurns(512));
  ASSERT_EQ(folded.calls.size(), 1u);
  EXPECT_EQ(folded.calls[0].times, 256);
  EXPECT_EQ(folded.calls[0].stride, 2);
  EXPECT_EQ(folded.loops.begin()->second.size(), 4u);
}

} // namespace
} // namespace cleave::plan
