#include "runtime/state/Checkpoint.h"
#include "runtime/state/CheckpointSave.h"

#include "test/runtime/TempDir.h"
#include "test/runtime/state/PlanFixture.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cleave::rt;
using cleave::test::PlanFixture;
using cleave::test::TempDir;

namespace {

// All ranks of a layout. Their states have the tests' values.
struct World {
  explicit World(const PlanFixture &fixture) : fixture(fixture) {
    for (unsigned rank = 0; rank < meshSize(fixture.plan()); ++rank)
      ranks.push_back(fixture.rankStates(rank, storage));
  }
  void fill(int64_t step) {
    for (RankStates &rank : ranks) {
      PlanFixture::forEachElement(rank, [](float &element, float value) { element = value; });
      std::memcpy(rank.states[3].data, &step, sizeof step);
    }
  }
  int64_t step(unsigned rank) const {
    int64_t value;
    std::memcpy(&value, ranks[rank].states[3].data, sizeof value);
    return value;
  }
  Status save(const std::string &directory, uint64_t step, int stages = 5) const {
    CheckpointSave save(directory, step);
    CheckpointIndex index;
    index.model = "test";
    index.position = {step, 1, 17, (uint64_t(1) << 63) + 5, 0.125, true, 1};
    CLEAVE_TRY(makeCheckpointIndex(fixture.plan(), &index));
    if (stages > 0)
      CLEAVE_TRY(save.prepare());
    for (unsigned rank = 0; stages > 1 && rank < (stages == 2 ? 1 : ranks.size()); ++rank)
      CLEAVE_TRY(save.writeShard(fixture.plan(), rank, ranks[rank]));
    if (stages > 3)
      CLEAVE_TRY(save.publish(index));
    return stages > 4 ? save.point("latest") : Status::ok();
  }

  Status saveFull(const std::string &directory, uint64_t step) const {
    CheckpointSave save(directory, step);
    CheckpointIndex index;
    index.position.step = step;
    CLEAVE_TRY(makeCheckpointIndex(fixture.plan(), &index));
    CLEAVE_TRY(save.prepare());
    CLEAVE_TRY(save.writeFull(index,
                              [&](const CheckpointTensor &tensor, const CheckpointSlice &slice,
                                  const CheckpointSave::Append &append) -> Status {
                                for (const OwnedSlice &owned :
                                     ownedSlices(fixture.plan(), ranks[slice.rank].coordinates))
                                  if (owned.key == slice.key) {
                                    size_t width = elementSize(tensor.type), bytes = slice.count * width;
                                    const std::byte *data =
                                        ranks[slice.rank].states[owned.state].data + owned.overlap.stored * width;
                                    CLEAVE_TRY(append(data, bytes / 2)); // in pieces
                                    return append(data + bytes / 2, bytes - bytes / 2);
                                  }
                                return internal("rank " + std::to_string(slice.rank) + " does not own " + slice.key);
                              }));
    CLEAVE_TRY(save.publish(fullIndex(index)));
    return save.point("latest");
  }

  const PlanFixture &fixture;
  std::vector<std::vector<std::byte>> storage;
  std::vector<RankStates> ranks;
};

struct Layout {
  unsigned dp, fsdp;
  bool splitParameters;
};
constexpr Layout kLayouts[] = {{1, 1, false}, {2, 1, false}, {1, 2, false}, {1, 3, true}, {2, 2, true}, {1, 7, true}};

class AllLayouts : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Checkpoint, AllLayouts, testing::Values(false, true),
                         [](const auto &info) { return info.param ? "Full" : "Sharded"; });

TEST_P(AllLayouts, RoundTrip) {
  bool full = GetParam();
  for (const Layout &from : kLayouts) {
    TempDir dir;
    PlanFixture writer(from.dp, from.fsdp, from.splitParameters);
    World source(writer);
    source.fill(41);
    Status saved = full ? source.saveFull(dir.path(), 41) : source.save(dir.path(), 41);
    ASSERT_TRUE(saved.isOk()) << saved.message();
    EXPECT_EQ(full, std::filesystem::exists(dir / "step-00000041/model.safetensors"));
    EXPECT_NE(full, std::filesystem::exists(dir / "step-00000041/rank-00000.safetensors"));
    for (const Layout &to : kLayouts) {
      PlanFixture reader(to.dp, to.fsdp, to.splitParameters);
      World target(reader);
      Checkpoint checkpoint;
      ASSERT_TRUE(Checkpoint::open(dir.path(), &checkpoint).isOk());
      if (!full) {
        EXPECT_EQ(checkpoint.index().position.seed, (uint64_t(1) << 63) + 5);
        EXPECT_EQ(checkpoint.index().position.sample, 17u);
      }
      for (unsigned rank = 0; rank < target.ranks.size(); ++rank) {
        Status loaded = checkpoint.load(target.ranks[rank]);
        ASSERT_TRUE(loaded.isOk()) << loaded.message();
        unsigned seen = 0;
        PlanFixture::forEachElement(target.ranks[rank], [&](float element, float value) {
          EXPECT_EQ(element, value);
          ++seen;
        });
        // With fsdp 7 there are ranks that store only padding. All others store elements.
        EXPECT_TRUE(seen > 0 || to.fsdp == 7);
        EXPECT_EQ(target.step(rank), 41);
      }
    }
  }
}

// The second tensor has a name that slices of the first one, scalars, or the format have, too.
TEST_P(AllLayouts, EveryNameIsATensorsOwn) {
  for (const char *second :
       {"w@7", "w@10", "w#exp_avg", "w#exp_avg@7", "w#exp_avg~", "scalar.step", "__metadata__", "w~"})
    for (const Layout &from : kLayouts) {
      TempDir dir;
      PlanFixture writer(from.dp, from.fsdp, from.splitParameters, second);
      World source(writer);
      source.fill(41);
      Status saved = GetParam() ? source.saveFull(dir.path(), 41) : source.save(dir.path(), 41);
      ASSERT_TRUE(saved.isOk()) << second << ": " << saved.message();
      PlanFixture reader(1, 2, true, second);
      World target(reader);
      Checkpoint checkpoint;
      Status opened = Checkpoint::open(dir.path(), &checkpoint);
      ASSERT_TRUE(opened.isOk()) << opened.message();
      for (unsigned rank = 0; rank < target.ranks.size(); ++rank) {
        Status loaded = checkpoint.load(target.ranks[rank]);
        ASSERT_TRUE(loaded.isOk()) << loaded.message();
        PlanFixture::forEachElement(target.ranks[rank],
                                    [&](float element, float value) { EXPECT_EQ(element, value) << second; });
        EXPECT_EQ(target.step(rank), 41);
      }
    }
}

// Tensors without elements are in no slice, and still in the file, where other programs look for them.
TEST(Checkpoint, EmptyTensorsHaveKeysOfTheirOwn) {
  CheckpointIndex index;
  for (const char *slot : {"exp_avg", "", "exp_avg_sq"}) {
    CheckpointTensor tensor;
    tensor.name = "w";
    tensor.slot = slot;
    tensor.shape = {0};
    index.tensors.push_back(tensor);
  }
  EXPECT_EQ(fullKeys(index), (std::vector<std::string>{"w#exp_avg", "w", "w#exp_avg_sq"}));
}

TEST(Checkpoint, ReplicatedStateIsWrittenOnce) {
  TempDir dir;
  PlanFixture fixture(3, 1, false);
  World world(fixture);
  world.fill(1);
  ASSERT_TRUE(world.save(dir.path(), 1).isOk());
  EXPECT_TRUE(std::filesystem::exists(dir / "step-00000001/rank-00000.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(dir / "step-00000001/rank-00001.safetensors"));
}

TEST(Checkpoint, TensorsAreAssembledFromSlices) {
  TempDir dir;
  PlanFixture fixture(1, 3, true);
  World world(fixture);
  world.fill(7);
  ASSERT_TRUE(world.save(dir.path(), 7).isOk());
  CheckpointTensors tensors;
  ASSERT_TRUE(loadCheckpointTensors(dir.path(), &tensors, /*optimizerState=*/true).isOk());
  ASSERT_EQ(tensors.byName.size(), 4u);
  for (const char *name : {"w", "b", "w#exp_avg", "b#exp_avg"}) {
    const TensorView &view = tensors.byName.at(name);
    EXPECT_EQ(view.shape, name[0] == 'w' ? (Shape{3, 5}) : Shape{3});
    for (uint64_t i = 0; i < view.bytes / 4; ++i) {
      float element;
      std::memcpy(&element, view.data + 4 * i, 4);
      EXPECT_EQ(element, PlanFixture::value(std::string(name, 1), name[1] ? "exp_avg" : "", i));
    }
  }
}

// If a process dies after any stage of saving step 2, step 1 or step 2 can be loaded.
TEST(Checkpoint, CrashWhileSavingLeavesALoadableCheckpoint) {
  PlanFixture fixture(1, 2, true);
  for (int stages = 0; stages <= 5; ++stages) {
    TempDir dir;
    World world(fixture);
    world.fill(1);
    ASSERT_TRUE(world.save(dir.path(), 1).isOk());
    world.fill(2);
    pid_t child = ::fork();
    if (child == 0)
      ::_exit(world.save(dir.path(), 2, stages).isOk() ? 0 : 1);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
    World reader(fixture);
    Checkpoint checkpoint;
    Status opened = Checkpoint::open(dir.path(), &checkpoint);
    ASSERT_TRUE(opened.isOk()) << opened.message();
    ASSERT_TRUE(checkpoint.load(reader.ranks[0]).isOk());
    EXPECT_EQ(reader.step(0), stages == 5 ? 2 : 1);
    // The next save of that step succeeds and replaces the remains.
    ASSERT_TRUE(world.save(dir.path(), 2).isOk());
    ASSERT_TRUE(Checkpoint::open(dir.path(), &checkpoint).isOk());
    EXPECT_EQ(checkpoint.index().position.step, 2u);
  }
}

TEST(Checkpoint, WhatAKilledProcessLeftIsPutRight) {
  TempDir dir;
  PlanFixture fixture(1, 2, true);
  World world(fixture);
  world.fill(1);
  ASSERT_TRUE(world.save(dir.path(), 1).isOk());
  ASSERT_TRUE(world.save(dir.path(), 2).isOk());
  ASSERT_TRUE(world.save(dir.path(), 3, 2).isOk()); // one of two parts
  auto exists = [&](const char *name) { return std::filesystem::exists(dir / name); };
  ASSERT_TRUE(exists(".step-00000003.tmp"));
  // The states of a directory in a save on a file system that cannot exchange names: between the two renames, and after
  // them; and while an old step was being removed.
  std::filesystem::rename(dir / "step-00000002", dir / ".step-00000002.old");
  std::filesystem::create_directory(dir / ".step-00000001.old");
  dir.write("latest.tmp-4242", "step-");
  dir.write(".step-notes.tmp", "mine");
  dir.write("latest.tmp-mine", "mine");
  ASSERT_TRUE(recoverCheckpoints(dir.path()).isOk());
  EXPECT_FALSE(exists(".step-00000003.tmp"));
  EXPECT_FALSE(exists(".step-00000001.old"));
  EXPECT_FALSE(exists(".step-00000002.old"));
  EXPECT_FALSE(exists("latest.tmp-4242"));
  EXPECT_TRUE(exists(".step-notes.tmp") && exists("latest.tmp-mine"));
  EXPECT_TRUE(exists("step-00000001"));
  Checkpoint checkpoint;
  ASSERT_TRUE(Checkpoint::open(dir.path(), &checkpoint).isOk());
  EXPECT_EQ(checkpoint.index().position.step, 2u);
  EXPECT_TRUE(recoverCheckpoints(dir / "absent").isOk());
}

TEST(Checkpoint, OneProcessSavesIntoADirectory) {
  TempDir dir;
  CheckpointLock first, second;
  ASSERT_TRUE(CheckpointLock::take(dir.path(), &first).isOk());
  Status status = CheckpointLock::take(dir.path(), &second);
  EXPECT_NE(status.message().find("another process is saving into"), std::string::npos) << status.message();
  first = CheckpointLock();
  EXPECT_TRUE(CheckpointLock::take(dir.path(), &second).isOk());
}

// A run whose directory was moved away locks the one that it makes in its place, or that another run has made.
TEST(Checkpoint, TheLockFollowsTheName) {
  TempDir dir;
  std::string path = dir / "c";
  PlanFixture fixture(1, 1, false);
  CheckpointLock first, second;
  std::filesystem::create_directory(path);
  ASSERT_TRUE(CheckpointLock::take(path, &first).isOk());
  ASSERT_TRUE(CheckpointSave(path, 1).prepare(&first).isOk());
  std::filesystem::rename(path, dir / "moved");
  std::filesystem::create_directory(path);
  ASSERT_TRUE(CheckpointLock::take(path, &second).isOk());
  Status status = CheckpointSave(path, 2).prepare(&first);
  EXPECT_NE(status.message().find("another process is saving into"), std::string::npos) << status.message();
  EXPECT_TRUE(std::filesystem::is_empty(path));
  second = CheckpointLock();
  EXPECT_TRUE(CheckpointSave(path, 2).prepare(&first).isOk());
  EXPECT_FALSE(CheckpointLock::take(path, &second).isOk());
}

// The name of a link that is too long stands for any error of a file system: root may read every directory.
TEST(Checkpoint, AnErrorOfTheFileSystemIsNoAnswer) {
  TempDir dir;
  PlanFixture fixture(1, 1, false);
  World world(fixture);
  ASSERT_TRUE(world.save(dir.path(), 1).isOk());
  auto breakEntry = [&](const char *name) {
    std::filesystem::remove_all(dir / name);
    std::filesystem::create_symlink(std::string(300, 'x'), dir / name);
  };
  std::string found;
  std::vector<std::string> names;
  breakEntry("step-00000002");
  EXPECT_EQ(findCheckpoints(dir.path(), &names).code(), Code::IoError);
  EXPECT_EQ(names, std::vector<std::string>{"step-00000001"});
  EXPECT_TRUE(resolveCheckpoint(dir.path(), &found).isOk()); // `latest` is another one
  dir.write("latest", "step-00000002\n");
  EXPECT_EQ(resolveCheckpoint(dir.path(), &found).code(), Code::IoError);
  EXPECT_EQ(resolveCheckpoint(dir / "latest", &found).code(), Code::IoError);
  EXPECT_EQ(resolveCheckpoint(dir / "step-00000002", &found).code(), Code::IoError);
  std::filesystem::remove(dir / "latest");
  EXPECT_EQ(resolveCheckpoint(dir.path(), &found).code(), Code::IoError);
  breakEntry("latest");
  EXPECT_EQ(resolveCheckpoint(dir.path(), &found).code(), Code::IoError);
  RunCheckpoints ofRun;
  ofRun.adopt(dir.path(), 1, "");
  EXPECT_EQ(ofRun.size(), 1u);
  EXPECT_EQ(ofRun.prune(dir.path(), 1).code(), Code::IoError);
  // Nothing tells whether the one that was being replaced is the only good one.
  std::filesystem::rename(dir / "step-00000001", dir / ".step-00000002.old");
  EXPECT_EQ(recoverCheckpoints(dir.path()).code(), Code::IoError);
  EXPECT_TRUE(std::filesystem::exists(dir / ".step-00000002.old/checkpoint.json"));
}

// Only the lock of another process is an error. Many file systems have no locks. A run there gets a warning.
TEST(Checkpoint, LocksThatCannotBeHadAreTold) {
  std::string warning = "old";
  EXPECT_TRUE(lockOutcome(0, "ckpt", &warning).isOk());
  EXPECT_EQ(warning, "");
  EXPECT_EQ(lockOutcome(EWOULDBLOCK, "ckpt", &warning).code(), Code::InvalidArgument);
  EXPECT_EQ(warning, "");
  for (int error : {ENOLCK, ENOTSUP, ENOSYS, EINVAL, EIO}) {
    EXPECT_TRUE(lockOutcome(error, "ckpt", &warning).isOk());
    EXPECT_EQ(warning.find("ckpt cannot be locked ("), 0u) << warning;
  }
}

TEST(Checkpoint, AllMisfitsAreReportedAtOnce) {
  TempDir dir;
  PlanFixture fixture(1, 1, false);
  World world(fixture);
  ASSERT_TRUE(world.save(dir.path(), 1).isOk());
  RankStates partial = world.ranks[0];
  partial.states.erase(partial.states.begin() + 1); // the model lost its optimizer
  Checkpoint checkpoint;
  ASSERT_TRUE(Checkpoint::open(dir.path(), &checkpoint).isOk());
  Status status = checkpoint.load(partial);
  EXPECT_EQ(status.code(), Code::InvalidArgument);
  EXPECT_NE(status.message().find("'w' (exp_avg), 'b' (exp_avg)"), std::string::npos) << status.message();
}

TEST(Checkpoint, HostileIndexIsRefused) {
  TempDir dir;
  auto slices = [&](const std::string &list) {
    dir.write(
        "checkpoint.json",
        R"({"format":1,"model":"m","state_layout":0,"position":{"step":1,"epoch":0,"sample":0,"seed":0,"stale":0},)"
        R"("tensors":[{"name":"w","slot":"","role":"parameter","dtype":"F32","shape":[4],"slices":[)" +
            list + "]}]}");
    Checkpoint checkpoint;
    return Checkpoint::open(dir.path(), &checkpoint).message();
  };
  auto slice = [](const std::string &file, int first, int count) {
    return R"({"file":")" + file + R"(","key":"w","first":)" + std::to_string(first) +
           ",\"count\":" + std::to_string(count) + "}";
  };
  EXPECT_NE(slices(slice("../w", 0, 4)).find("not the name of a file"), std::string::npos);
  EXPECT_NE(slices(slice("/etc/passwd", 0, 4)).find("not the name of a file"), std::string::npos);
  EXPECT_NE(slices(slice("w", 0, 2) + "," + slice("w", 1, 3)).find("overlap or leave a gap"), std::string::npos);
  EXPECT_NE(slices(slice("w", 0, 2) + "," + slice("w", 3, 1)).find("overlap or leave a gap"), std::string::npos);
  EXPECT_NE(slices(slice("w", 0, 3)).find("end at element 3 of 4"), std::string::npos);
  EXPECT_NE(slices(slice("w", 0, 5)).find("overlap or leave a gap"), std::string::npos);
  EXPECT_NE(slices(slice("absent", 0, 4)).find("absent"), std::string::npos);
  dir.write("checkpoint.json", "{\"format\":1");
  Checkpoint checkpoint;
  EXPECT_EQ(Checkpoint::open(dir.path(), &checkpoint).code(), Code::DataLoss);
}

TEST(Checkpoint, PruningKeepsNewestLatestAndBest) {
  TempDir dir;
  PlanFixture fixture(1, 1, false);
  World world(fixture);
  RunCheckpoints first, second, other;
  for (uint64_t step = 1; step <= 5; ++step) {
    ASSERT_TRUE(world.save(dir.path(), step).isOk());
    ASSERT_TRUE(step != 2 || CheckpointSave(dir.path(), step).point("best").isOk());
    first.add(stepName(step), /*isOnlyBest=*/false);
    ASSERT_TRUE(first.prune(dir.path(), 2).isOk());
  }
  auto exists = [&](const char *name) { return std::filesystem::exists(dir / name); };
  EXPECT_FALSE(exists("step-00000001"));
  EXPECT_TRUE(exists("step-00000002"));
  EXPECT_FALSE(exists("step-00000003"));
  EXPECT_TRUE(exists("step-00000004"));
  EXPECT_TRUE(exists("step-00000005"));
  // A run that continues from step 2 keeps its own newest checkpoints. It does not touch those of the run before.
  second.adopt(dir.path(), 2, "");
  EXPECT_EQ(second.size(), 1u);
  for (uint64_t step : {3, 4}) {
    ASSERT_TRUE(world.save(dir.path(), step).isOk());
    second.add(stepName(step), /*isOnlyBest=*/false);
    ASSERT_TRUE(second.prune(dir.path(), 2).isOk());
  }
  EXPECT_TRUE(exists("step-00000003"));
  EXPECT_TRUE(exists("step-00000004"));
  EXPECT_TRUE(exists("step-00000005"));
  // A run that begins anew, at any step, removes only its own.
  for (uint64_t step : {7, 8}) {
    ASSERT_TRUE(world.save(dir.path(), step).isOk());
    ASSERT_TRUE(CheckpointSave(dir.path(), step).point("best").isOk());
    other.add(stepName(step), /*isOnlyBest=*/true);
    ASSERT_TRUE(other.prune(dir.path(), 1).isOk());
    ASSERT_TRUE(other.pruneBests(dir.path(), 1).isOk());
  }
  EXPECT_EQ(listCheckpoints(dir.path()), (std::vector<std::string>{"step-00000002", "step-00000003", "step-00000004",
                                                                   "step-00000005", "step-00000008"}));
}

// A name is a checkpoint's only if the saver can make it. Other files that a user has put there are not counted and not
// loaded, and above all never removed.
TEST(Checkpoint, OtherNamesAreNobodys) {
  const char *const kOthers[] = {"step-00000002.bak", "step-good",       "step-2",
                                 "step-000000002",    "step-",           "step-0000000x",
                                 "step-00000009 ",    "step-+0000009",   "Step-00000009",
                                 "step-00000001~",    "step-00000002-a", "step-99999999999999999999"};
  for (const char *name : kOthers)
    EXPECT_FALSE(isStepName(name)) << name;
  for (uint64_t step : {uint64_t{0}, uint64_t{1}, uint64_t{99999999}, uint64_t{100000000}, uint64_t{1} << 40})
    EXPECT_TRUE(isStepName(stepName(step))) << step;

  TempDir dir;
  PlanFixture fixture(1, 1, false);
  World world(fixture);
  ASSERT_TRUE(world.save(dir.path(), 1).isOk());
  for (const char *name : kOthers)
    std::filesystem::copy(dir / "step-00000001", dir / name, std::filesystem::copy_options::recursive);
  std::filesystem::copy(dir / "step-00000001", dir / ".step-good.tmp", std::filesystem::copy_options::recursive);
  RunCheckpoints ofRun;
  ofRun.adopt(dir.path(), 1, "");
  for (uint64_t step : {2, 3}) {
    ASSERT_TRUE(world.save(dir.path(), step).isOk());
    ASSERT_TRUE(CheckpointSave(dir.path(), step).point("best").isOk());
    ofRun.add(stepName(step), /*isOnlyBest=*/false);
    ASSERT_TRUE(ofRun.pruneBests(dir.path(), 1).isOk());
    ASSERT_TRUE(ofRun.prune(dir.path(), 1).isOk());
    ASSERT_TRUE(recoverCheckpoints(dir.path()).isOk());
  }
  EXPECT_EQ(listCheckpoints(dir.path()), std::vector<std::string>{"step-00000003"});
  for (const char *name : kOthers)
    EXPECT_TRUE(std::filesystem::exists(dir / name)) << name;
  EXPECT_TRUE(std::filesystem::exists(dir / ".step-good.tmp"));

  // If there is no `latest`, or it names one of these, the newest checkpoint of the saver is loaded. A user may name
  // any.
  std::string taken;
  std::filesystem::remove(dir / "latest");
  ASSERT_TRUE(resolveCheckpoint(dir.path(), &taken).isOk());
  EXPECT_EQ(taken, dir / "step-00000003");
  dir.write("latest", "step-good\n");
  ASSERT_TRUE(resolveCheckpoint(dir.path(), &taken).isOk());
  EXPECT_EQ(taken, dir / "step-00000003");
  ASSERT_TRUE(resolveCheckpoint(dir / "step-good", &taken).isOk());
  EXPECT_EQ(taken, dir / "step-good");
}

} // namespace
