// Tests that no changed bit of a checkpoint is read: if any byte of any file is damaged, loading fails.
#include "runtime/state/Checkpoint.h"
#include "runtime/state/CheckpointSave.h"

#include "test/runtime/TempDir.h"
#include "test/runtime/state/OldFormat.h"
#include "test/runtime/state/PlanFixture.h"

#include <gtest/gtest.h>

using namespace cleave::rt;
using namespace cleave::test;

namespace {

// The states of all ranks of a plan, with the tests' values. They are saved as a checkpoint.
struct Saved {
  Saved(const std::string &directory, unsigned fsdp, bool full, float offset = 0)
      : fixture(1, fsdp, fsdp > 1), save(directory, 7) {
    std::vector<RankStates> ranks;
    for (unsigned rank = 0; rank < meshSize(fixture.plan()); ++rank)
      ranks.push_back(fixture.rankStates(rank, storage));
    for (RankStates &rank : ranks)
      PlanFixture::forEachElement(rank, [&](float &element, float value) { element = value + offset; });
    CheckpointIndex index;
    EXPECT_TRUE(makeCheckpointIndex(fixture.plan(), &index).isOk());
    EXPECT_TRUE(save.prepare().isOk());
    if (full) {
      auto visit = [&](const CheckpointTensor &tensor, const CheckpointSlice &slice,
                       const CheckpointSave::Append &append) -> Status {
        for (const OwnedSlice &owned : ownedSlices(fixture.plan(), ranks[slice.rank].coordinates))
          if (owned.key == slice.key)
            return append(ranks[slice.rank].states[owned.state].data + owned.overlap.stored * elementSize(tensor.type),
                          slice.count * elementSize(tensor.type));
        return internal("no slice " + slice.key);
      };
      EXPECT_TRUE(save.writeFull(index, visit).isOk());
    }
    for (unsigned rank = 0; rank < ranks.size() && !full; ++rank)
      EXPECT_TRUE(save.writeShard(fixture.plan(), rank, ranks[rank]).isOk());
    EXPECT_TRUE(save.publish(full ? fullIndex(index) : index).isOk());
  }

  PlanFixture fixture;
  std::vector<std::vector<std::byte>> storage;
  CheckpointSave save;
};

// Loads the checkpoint on all ranks of a layout.
Status resume(const std::string &path, unsigned fsdp) {
  PlanFixture reader(1, fsdp, fsdp > 1);
  std::vector<std::vector<std::byte>> memory;
  Checkpoint checkpoint;
  CLEAVE_TRY(Checkpoint::open(path, &checkpoint));
  for (unsigned rank = 0; rank < fsdp; ++rank)
    CLEAVE_TRY(checkpoint.load(reader.rankStates(rank, memory)));
  return Status::ok();
}

// Reads whole tensors, as evaluate, infer and export do.
Status readAll(const std::string &path) {
  CheckpointTensors tensors;
  CLEAVE_TRY(loadCheckpointTensors(path, &tensors, /*optimizerState=*/true));
  for (const auto &[name, view] : tensors.byName) {
    std::vector<std::byte> target(view.bytes);
    CLEAVE_TRY(readElements(view, 0, view.bytes / elementSize(view.type), view.type, target.data()));
  }
  return Status::ok();
}

// Returns where the data of a part begins. For an index, returns its end.
size_t dataBegin(const std::string &image) {
  uint64_t size;
  std::memcpy(&size, image.data(), sizeof size);
  return image[0] == '{' ? image.size() : sizeof size + size;
}

class BothForms : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Checksums, BothForms, testing::Values(false, true),
                         [](const auto &info) { return info.param ? "Full" : "Sharded"; });

TEST_P(BothForms, EveryChangedBitIsRefused) {
  TempDir dir;
  Saved saved(dir.path(), 3, GetParam());
  std::string path = saved.save.path();
  ASSERT_TRUE(resume(path, 2).isOk());
  ASSERT_TRUE(readAll(path).isOk());
  unsigned flips = 0;
  for (const std::string &file : filesOf(path)) {
    std::string image = contents(file), name = std::filesystem::path(file).filename();
    for (size_t i = 0; i < image.size(); ++i) {
      std::string changed = image;
      changed[i] = static_cast<char>(changed[i] ^ 1 << (5 * i + i / 8) % 8);
      overwrite(file, changed);
      Status status = resume(path, 2);
      ASSERT_FALSE(status.isOk()) << name << ": byte " << i;
      EXPECT_EQ(status.message().find('\n'), std::string::npos) << status.message();
      EXPECT_NE(status.message().find(i < dataBegin(image) ? name : "tensor '"), std::string::npos)
          << name << ": byte " << i << ": " << status.message();
      ++flips;
      // Readers of weights alone read everything but the scalars.
      bool isScalar = status.message().find("scalar") != std::string::npos;
      EXPECT_TRUE(isScalar || !readAll(path).isOk()) << name << ": byte " << i;
    }
    overwrite(file, image);
  }
  EXPECT_GT(flips, 2000u);
  EXPECT_TRUE(resume(path, 2).isOk());
}

TEST_P(BothForms, MissingAndAddedBytesAreRefused) {
  TempDir dir;
  Saved saved(dir.path(), 3, GetParam());
  for (const std::string &file : filesOf(saved.save.path())) {
    std::string image = contents(file);
    for (const std::string &changed : {image + '\0', image.substr(0, image.size() - 1), image + image, std::string()}) {
      overwrite(file, changed);
      EXPECT_FALSE(resume(saved.save.path(), 1).isOk()) << file;
    }
    overwrite(file, image);
  }
}

// A part may be undamaged and belong to another checkpoint.
TEST(Checksums, APartOfAnotherCheckpointIsRefused) {
  TempDir dir;
  Saved one(dir / "one", 3, false), other(dir / "other", 3, false, 1);
  std::filesystem::copy(other.save.path() + "/rank-00001.safetensors", one.save.path() + "/rank-00001.safetensors",
                        std::filesystem::copy_options::overwrite_existing);
  Status status = resume(one.save.path(), 1);
  EXPECT_NE(status.message().find("rank-00001.safetensors is not the part that was saved with this checkpoint"),
            std::string::npos)
      << status.message();
}

TEST(Checksums, OlderCheckpointsAreReadWithANote) {
  TempDir dir;
  Saved saved(dir.path(), 3, false);
  Checkpoint checkpoint;
  ASSERT_TRUE(Checkpoint::open(saved.save.path(), &checkpoint).isOk());
  EXPECT_EQ(checkpoint.note(), "");
  for (const std::string &file : filesOf(saved.save.path()))
    overwrite(file, withoutChecksums(contents(file)));
  ASSERT_TRUE(Checkpoint::open(saved.save.path(), &checkpoint).isOk());
  EXPECT_NE(checkpoint.note().find("has no checksums"), std::string::npos);
  EXPECT_TRUE(resume(saved.save.path(), 2).isOk());
  EXPECT_TRUE(readAll(saved.save.path()).isOk());
}

TEST(Checksums, APartIsVerifiedWithoutItsCheckpoint) {
  TempDir dir;
  Saved saved(dir.path(), 1, true);
  std::string file = saved.save.path() + "/model.safetensors", image = contents(file);
  auto read = [&](const std::string &bytes) {
    overwrite(dir / "alone.safetensors", bytes);
    SafeTensors tensors;
    CLEAVE_TRY(SafeTensors::open(dir / "alone.safetensors", &tensors));
    for (const TensorView &view : tensors.tensors())
      CLEAVE_TRY(verifyBytes(view, 0, view.bytes));
    return Status::ok();
  };
  EXPECT_TRUE(read(image).isOk());
  for (size_t i = 0; i < image.size(); ++i) {
    std::string changed = image;
    changed[i] = static_cast<char>(changed[i] ^ 1 << i % 8);
    EXPECT_FALSE(read(changed).isOk()) << "byte " << i;
  }
  EXPECT_TRUE(read(withoutChecksums(image)).isOk()); // files of other programs have no checksums
}

// A rank that reads a part of a tensor verifies only the blocks of that part.
TEST(Checksums, BlocksAreVerifiedApart) {
  TempDir dir;
  constexpr uint64_t kBlock = BlockChecksums::kBlockBytes;
  std::vector<std::byte> w(3 * kBlock + 100), b(5);
  for (size_t i = 0; i < w.size(); ++i)
    w[i] = static_cast<std::byte>(i * 31 >> 3);
  std::vector<TensorView> tensors = {{"w", ElementType::u8, {3 * kBlock + 100}, nullptr, w.size(), nullptr},
                                     {"none", ElementType::f32, {0}, nullptr, 0, nullptr},
                                     {"b", ElementType::u8, {5}, nullptr, 5, nullptr}};
  SafeTensorsFile file;
  ASSERT_TRUE(file.create(dir / "w.safetensors", tensors).isOk());
  // Written in pieces of odd sizes. One of them belongs to two tensors.
  std::vector<std::byte> all = w;
  all.insert(all.end(), b.begin(), b.end());
  for (size_t done = 0, piece = 1; done < all.size(); done += piece, piece = 3 * piece + 7)
    ASSERT_TRUE(file.append(all.data() + done, piece = std::min(piece, all.size() - done)).isOk());
  ASSERT_TRUE(file.commit().isOk());

  std::string image = contents(dir / "w.safetensors");
  size_t begin = dataBegin(image);
  image[begin + 2 * kBlock] ^= 1; // the first byte of the third block
  SafeTensors read;
  ASSERT_TRUE(SafeTensors::parse(image.data(), image.size(), "w.safetensors", &read).isOk());
  const TensorView &view = *read.find("w");
  ASSERT_EQ(view.checksums->sums.size(), 4u);
  EXPECT_TRUE(verifyBytes(view, 0, 2 * kBlock).isOk());
  EXPECT_TRUE(verifyBytes(view, 3 * kBlock, 100).isOk());
  EXPECT_TRUE(verifyBytes(view, 2 * kBlock, 0).isOk());
  EXPECT_TRUE(verifyBytes(*read.find("b"), 0, 5).isOk());
  EXPECT_FALSE(verifyBytes(view, 2 * kBlock - 1, 2).isOk());
  EXPECT_FALSE(verifyBytes(view, 3 * kBlock - 1, 1).isOk());
  EXPECT_EQ(verifyBytes(view, 0, view.bytes).message(),
            "tensor 'w' in w.safetensors: bytes 2097152 to 3145728 of 3145828 do not match their checksum; the file is "
            "damaged: take another copy of it");
}

} // namespace
