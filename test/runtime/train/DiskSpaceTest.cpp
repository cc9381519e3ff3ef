// Tests which runs get a note before their first step that the disk is too small.
#include "runtime/train/checkpoint/DiskSpace.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace cleave::rt;

namespace {

constexpr uint64_t kMiB = 1 << 20;

// The oracle: saves as a run does, and counts the checkpoints in the directory beyond the number that was there before.
uint64_t simulated(const SavePlan &plan) {
  uint64_t standing = plan.present, most = 0;
  for (uint64_t step = plan.step + 1; step <= plan.total; ++step) {
    if (step != plan.total && (plan.every == 0 || step % plan.every != 0))
      continue;
    ++standing;
    most = std::max(most, standing - std::min(standing, plan.present));
    if (plan.keep != 0)
      standing = std::min(standing, plan.keep);
  }
  return most;
}

TEST(DiskSpace, CountsWhatStandsAtOnce) {
  for (uint64_t total : {1, 2, 7, 12})
    for (uint64_t step = 0; step <= total; ++step)
      for (uint64_t every : {0, 1, 3, 4, 20})
        for (uint64_t keep : {0, 1, 2, 5})
          for (uint64_t present : {0, 1, 2, 4, 7}) {
            SavePlan plan{step, total, every, keep, present};
            EXPECT_EQ(mostAdded(plan), simulated(plan))
                << step << " " << total << " " << every << " " << keep << " " << present;
          }
}

// The number in the note is the largest one that fits.
TEST(DiskSpace, NotesTheLargestNumberThatFits) {
  for (uint64_t present : {0, 1, 3})
    for (uint64_t fit : {2, 3, 5}) {
      uint64_t keep = fit + present - 1;
      std::string note;
      ASSERT_TRUE(checkSpace({0, 20, 1, 0, present}, kMiB, fit * kMiB, &note).isOk());
      EXPECT_NE(note.find("--keep " + std::to_string(keep) + (keep > 1 ? " or less," : ",")), std::string::npos) << note;
      ASSERT_TRUE(checkSpace({0, 20, 1, keep, present}, kMiB, fit * kMiB, &note).isOk());
      EXPECT_EQ(note, "");
      ASSERT_TRUE(checkSpace({0, 20, 1, keep + 1, present}, kMiB, fit * kMiB, &note).isOk());
      EXPECT_NE(note, "");
    }
}

TEST(DiskSpace, FailsWhereNotOneFits) {
  std::string note;
  Status status = checkSpace({0, 10, 5, 0, 0}, 3 * kMiB, 2 * kMiB, &note);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.message(), "a checkpoint takes 3.0 MiB, and its file system has 2.0 MiB free: make room there, or "
                              "give --save a directory of another file system");
}

TEST(DiskSpace, NotesWhereNotAllFit) {
  std::string note;
  ASSERT_TRUE(checkSpace({0, 10, 1, 0, 0}, 3 * kMiB, 10 * kMiB, &note).isOk());
  EXPECT_EQ(note, "10 checkpoints of 3.0 MiB will be added, and its file system has 10.0 MiB free: give --keep 2 or "
                  "less, or make room there");
  // The advice of the note helps.
  ASSERT_TRUE(checkSpace({0, 10, 1, 2, 0}, 3 * kMiB, 10 * kMiB, &note).isOk());
  EXPECT_EQ(note, "");
}

TEST(DiskSpace, SaysNothingWhereAllFit) {
  std::string note;
  EXPECT_TRUE(checkSpace({0, 10, 5, 0, 0}, 3 * kMiB, 6 * kMiB, &note).isOk());
  EXPECT_EQ(note, "");
  EXPECT_TRUE(checkSpace({10, 10, 5, 0, 2}, 3 * kMiB, 0, &note).isOk()); // there is nothing left to save
}

} // namespace
