// Kinds of ranks whose bodies do the same in a pipeline: a server and its workers, in each stage.
#include "compiler/Planning/Verify/Values/AlikeKinds.h"

#include <gtest/gtest.h>

namespace cleave::plan {
namespace {

constexpr AxisMask kDp = 1, kPp = 2;

// Servers and workers of two stages: kinds 0 and 1 are of the first stage, 2 and 3 of the second. The second stage
// receives from the first.
std::vector<KindOfBodies> serversAndWorkers() {
  std::vector<KindOfBodies> kinds(4);
  for (size_t kind = 0; kind < 4; ++kind) {
    uint64_t stage = kind / 2, rank = kind % 2;
    kinds[kind].box.ranges = {{rank, rank + 1}, {stage, stage + 1}};
    kinds[kind].calls = "train_step: fwd " + std::to_string(stage);
    kinds[kind].states = {"counter", "w"};
    kinds[kind].bodies["fwd"] = {{"state counter", {5 + stage}}, {"messages", {7}}};
    if (stage == 1)
      kinds[kind].taken[{kPp, 1, 0}] = {{"pp:2", "pp", kPp, 2, {}}, 1, 0};
  }
  return kinds;
}

bool areAlike(const std::vector<KindOfBodies> &kinds, size_t a, size_t b) {
  std::vector<KindBox> first = firstAlike(kinds);
  return first[a].ranges == first[b].ranges;
}

TEST(AlikeKinds, AServerAndItsWorkersAre) {
  std::vector<KindOfBodies> kinds = serversAndWorkers();
  EXPECT_TRUE(areAlike(kinds, 0, 1));
  EXPECT_TRUE(areAlike(kinds, 2, 3));
  EXPECT_FALSE(areAlike(kinds, 0, 2));
  std::swap(kinds[0], kinds[1]); // the order in which kinds are listed changes no name
  EXPECT_EQ(firstAlike(kinds)[0].ranges, firstAlike(serversAndWorkers())[1].ranges);
}

TEST(AlikeKinds, WhatOneLeavesInAStateOfBothTellsThemApart) {
  std::vector<KindOfBodies> kinds = serversAndWorkers();
  kinds[1].bodies["fwd"]["state counter"] = {6};
  EXPECT_FALSE(areAlike(kinds, 0, 1));
}

TEST(AlikeKinds, AStateOfTheServerAloneDoesNot) {
  std::vector<KindOfBodies> kinds = serversAndWorkers();
  kinds[0].states.insert("reduced");
  kinds[0].bodies["fwd"]["state reduced"] = {9};
  EXPECT_TRUE(areAlike(kinds, 0, 1));
}

// The second stage's bodies are the same, but the values that arrive are not.
TEST(AlikeKinds, ThoseThatSendMustBeAlike) {
  std::vector<KindOfBodies> kinds = serversAndWorkers();
  kinds[0].bodies["fwd"]["messages"] = {8};
  EXPECT_FALSE(areAlike(kinds, 2, 3));
}

TEST(AlikeKinds, NoneAreWhereAnEntryChangesSomethingBeforeACall) {
  std::vector<KindOfBodies> kinds = serversAndWorkers();
  kinds[0].callsFirst = false;
  EXPECT_FALSE(areAlike(kinds, 2, 3));
}

// A collective is one of all its ranks if they bring the same values, in one order.
TEST(AlikeKinds, ThoseThatMeetMustBe) {
  CollectiveFacts facts;
  facts.opcode = rt::Opcode::AllReduce;
  facts.group.add(0, "dp", 2);
  Content x = Content::of(ValueNumber{11}, 64, kDp), y = Content::of(ValueNumber{12}, 64, kDp);
  Messages server, worker, swapped;
  for (Messages *run : {&server, &worker}) {
    run->meet(facts, x);
    run->meet(facts, y);
  }
  swapped.meet(facts, y);
  swapped.meet(facts, x);
  std::vector<KindOfBodies> kinds = serversAndWorkers();
  kinds[0].add("bwd", {}, server);
  kinds[1].add("bwd", {}, worker);
  EXPECT_FALSE(meetUnlike(kinds, firstAlike(kinds)));
  kinds[1].add("bwd", {}, swapped);
  EXPECT_TRUE(meetUnlike(kinds, firstAlike(kinds)));
}

} // namespace
} // namespace cleave::plan
