// Damaged checkpoints, by chance or on purpose. For any change of an index or a part, loading returns a status. Under
// AddressSanitizer and UBSan (the presets asan and ubsan) the test also finds errors that have no visible effect.
#include "runtime/state/Checkpoint.h"
#include "runtime/state/CheckpointSave.h"

#include "test/runtime/TempDir.h"
#include "test/runtime/state/OldFormat.h"
#include "test/runtime/state/PlanFixture.h"

#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sys/stat.h>

using namespace cleave::rt;
using cleave::test::contents;
using cleave::test::PlanFixture;
using cleave::test::TempDir;
using cleave::test::withoutChecksums;

namespace {

using Random = std::mt19937_64;

size_t below(Random &random, size_t end) { return end == 0 ? 0 : random() % end; }

// Texts that replace a number, a name or a list.
constexpr const char *kTokens[] = {"-1",
                                   "0",
                                   "1",
                                   "18446744073709551615",
                                   "9223372036854775807",
                                   "1e308",
                                   "null",
                                   "[]",
                                   "{}",
                                   "\"..\"",
                                   "\"../../etc/passwd\"",
                                   "\"/dev/zero\"",
                                   "\"\"",
                                   "true",
                                   "[4294967296,4294967296]",
                                   "\"BF16\"",
                                   "\"F64\"",
                                   "\"X\"",
                                   "\"w\"",
                                   "\"rank-00001.safetensors\""};

void replaceToken(Random &random, std::string &text) {
  // Replaces a JSON value: the text between a ':', ',' or '[' and the next delimiter.
  size_t begin = text.find_first_of(":,[", below(random, text.size()));
  if (begin == std::string::npos)
    return;
  size_t end = text.find_first_of(",]}", begin + 1);
  if (end == std::string::npos)
    return;
  text.replace(begin + 1, end - begin - 1, kTokens[below(random, std::size(kTokens))]);
}

std::string mutate(Random &random, std::string text) {
  for (size_t changes = 1 + below(random, 3); changes-- > 0 && !text.empty();)
    switch (below(random, 6)) {
    case 0:
      text[below(random, text.size())] = static_cast<char>(random());
      break;
    case 1:
      text.resize(below(random, text.size()));
      break;
    case 2:
      text.insert(below(random, text.size()), text.substr(below(random, text.size()), below(random, 64)));
      break;
    case 3: // the size of a header, or the beginning of the JSON
      text[below(random, std::min<size_t>(text.size(), 10))] ^= static_cast<char>(1 << below(random, 8));
      break;
    default:
      replaceToken(random, text);
    }
  return text;
}

// With checksums, the checksums refuse every change. Without them, changes reach all later checks.
class Hostile : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Checkpoint, Hostile, testing::Values(false, true),
                         [](const auto &info) { return info.param ? "WithChecksums" : "WithoutChecksums"; });

TEST_P(Hostile, AnswersWithAStatus) {
  TempDir dir;
  PlanFixture writer(1, 3, true), reader(2, 2, true);
  std::vector<std::vector<std::byte>> storage;
  CheckpointSave save(dir.path(), 1);
  CheckpointIndex index;
  ASSERT_TRUE(makeCheckpointIndex(writer.plan(), &index).isOk());
  ASSERT_TRUE(save.prepare().isOk());
  for (unsigned rank = 0; rank < 3; ++rank)
    ASSERT_TRUE(save.writeShard(writer.plan(), rank, writer.rankStates(rank, storage)).isOk());
  ASSERT_TRUE(save.publish(index).isOk());

  std::vector<std::string> files = {"checkpoint.json", "rank-00000.safetensors", "rank-00001.safetensors"}, originals;
  for (const std::string &file : files) {
    std::string image = contents(save.path() + "/" + file);
    originals.push_back(GetParam() ? image : withoutChecksums(image));
    cleave::test::overwrite(save.path() + "/" + file, originals.back());
  }
  std::string last = save.path() + "/rank-00002.safetensors";
  if (!GetParam())
    cleave::test::overwrite(last, withoutChecksums(contents(last)));
  Random random(7);
  unsigned refused = 0, unchanged = 0, rounds = 2000;
  for (unsigned round = 0; round < rounds; ++round) {
    size_t chosen = below(random, files.size());
    std::string mutant = mutate(random, originals[chosen]);
    unchanged += mutant == originals[chosen];
    cleave::test::overwrite(save.path() + "/" + files[chosen], mutant);
    CheckpointTensors tensors;
    Status status = loadCheckpointTensors(save.path(), &tensors, /*optimizerState=*/true);
    if (status.isOk()) {
      Checkpoint checkpoint;
      status = Checkpoint::open(save.path(), &checkpoint);
      std::vector<std::vector<std::byte>> memory;
      for (unsigned rank = 0; rank < 4 && status.isOk(); ++rank)
        status = checkpoint.load(reader.rankStates(rank, memory));
    }
    refused += !status.isOk();
    EXPECT_EQ(status.message().find('\n'), std::string::npos) << status.message();
    cleave::test::overwrite(save.path() + "/" + files[chosen], originals[chosen]);
  }
  EXPECT_LT(unchanged, rounds / 4);
  if (GetParam())
    EXPECT_EQ(refused, rounds - unchanged);
  else
    EXPECT_GT(refused, rounds / 2); // a changed value of a number may go unnoticed
}

TEST(HostileCheckpoint, APartThatIsNoFile) {
  TempDir dir;
  PlanFixture fixture(1, 1, false);
  std::vector<std::vector<std::byte>> storage;
  CheckpointSave save(dir.path(), 1);
  CheckpointIndex index;
  ASSERT_TRUE(makeCheckpointIndex(fixture.plan(), &index).isOk());
  ASSERT_TRUE(save.prepare().isOk());
  ASSERT_TRUE(save.writeShard(fixture.plan(), 0, fixture.rankStates(0, storage)).isOk());
  ASSERT_TRUE(save.publish(index).isOk());
  std::string part = save.path() + "/rank-00000.safetensors";
  std::filesystem::remove(part);
  Checkpoint checkpoint;
  EXPECT_EQ(Checkpoint::open(save.path(), &checkpoint).code(), Code::NotFound);
  ASSERT_EQ(::mkfifo(part.c_str(), 0600), 0); // must not wait for a writer
  EXPECT_NE(Checkpoint::open(save.path(), &checkpoint).message().find("is not a regular file"), std::string::npos);
  std::filesystem::remove(part);
  std::filesystem::create_directory(part);
  EXPECT_FALSE(Checkpoint::open(save.path(), &checkpoint).isOk());
}

} // namespace
