#include "runtime/base/AtomicFile.h"
#include "runtime/base/Crc32c.h"
#include "runtime/base/FileMapping.h"
#include "runtime/base/ForeignFile.h"
#include "runtime/base/Gate.h"
#include "runtime/base/HalfArrays.h"
#include "runtime/base/Hash.h"
#include "runtime/base/JsonDepth.h"
#include "runtime/base/LoadedFile.h"
#include "runtime/base/NearestName.h"
#include "runtime/base/Philox.h"
#include "runtime/base/ShortTurns.h"
#include "runtime/base/Trace.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

using namespace cleave::rt;

namespace {

TEST(Crc32c, KnownAnswersAndBothWays) {
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(crc32cPortable("123456789", 9), 0xe3069283u);
  std::vector<char> zeros(32); // RFC 3720, B.4
  EXPECT_EQ(crc32c(zeros.data(), zeros.size()), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, static_cast<char>(0xff)).data(), 32), 0x62a8ab43u);
  std::string bytes(1000, ' ');
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(i * i >> 3);
  for (size_t begin = 0; begin < 9; ++begin)
    for (size_t size = 0; begin + size <= 100; ++size) {
      uint32_t whole = crc32c(bytes.data() + begin, size);
      EXPECT_EQ(crc32cPortable(bytes.data() + begin, size), whole);
      EXPECT_EQ(crc32c(bytes.data() + begin + size / 3, size - size / 3, crc32c(bytes.data() + begin, size / 3)),
                whole);
    }
}

// The test vectors that are published with Random123.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0}, {0, 0, 0, 0}), (Philox4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u}, {~0u, ~0u, ~0u, ~0u}), (Philox4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Philox4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Conversions of arrays have the same bits as single conversions: for every 16-bit pattern, and for floats around every
// rounding border.
template <typename T> void checkHalfArrays() {
  std::vector<T> halves(65536);
  for (uint32_t bits = 0; bits < 65536; ++bits)
    halves[bits].bits = static_cast<uint16_t>(bits);
  std::vector<float> wide(halves.size());
  widen(halves.data() + 3, wide.data() + 3, halves.size() - 3); // an odd start and length
  widen(halves.data(), wide.data(), 3);
  std::vector<float> floats;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float value = static_cast<float>(halves[bits]);
    if (std::isnan(value))
      ASSERT_TRUE(std::isnan(wide[bits])) << bits; // the instructions turn signaling NaNs into quiet ones
    else
      ASSERT_EQ(bitsOf(wide[bits]), bitsOf(value)) << bits;
    for (uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu})
      floats.push_back(floatOf(bitsOf(value) + low));
  }
  std::vector<T> narrowed(floats.size());
  narrow(floats.data(), narrowed.data(), floats.size());
  for (size_t i = 0; i < floats.size(); ++i)
    ASSERT_EQ(narrowed[i].bits, T(floats[i]).bits) << std::hexfloat << floats[i];
}
TEST(HalfArrays, BFloat16IsThatOfSingleNumbers) { checkHalfArrays<BFloat16>(); }
TEST(HalfArrays, Float16IsThatOfSingleNumbers) { checkHalfArrays<Float16>(); }

TEST(Philox, NormalHasItsMoments) {
  double sum = 0, squares = 0;
  const uint32_t count = 20000;
  for (uint32_t i = 0; i < count; ++i) {
    Philox4 bits = philox4x32({1, 2}, {i, 0, 0, 0});
    for (double value : philoxNormal(bits[0], bits[1])) {
      sum += value;
      squares += value * value;
    }
    EXPECT_LT(philoxUniform(bits[2]), 1.0f);
  }
  EXPECT_NEAR(sum / (2 * count), 0, 0.02);
  EXPECT_NEAR(squares / (2 * count), 1, 0.03);
}

TEST(Hash, Fnv1aKnownAnswers) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325ull);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8ull);
}

TEST(Gate, PassesMessagesBothWays) {
  Gate ping, pong;
  int shared = 0;
  std::thread other([&] {
    for (uint32_t i = 1; i <= 5000; ++i) {
      ping.waitFor(i, [] { return false; });
      ++shared;
      pong.open(i);
    }
  });
  for (uint32_t i = 1; i <= 5000; ++i) {
    ++shared;
    ping.open(i);
    pong.waitFor(i, [] { return false; });
  }
  other.join();
  EXPECT_EQ(shared, 10000);
}

TEST(Gate, GivesUpAndWraps) {
  Gate gate;
  EXPECT_FALSE(gate.waitFor(1, [] { return true; }));
  gate.open(2);
  EXPECT_TRUE(gate.waitFor(0xfffffff0u, [] { return true; })); // in the past, modulo 2^32
}

TEST(AtomicFile, ReplacesTheTargetOfALinkAndNoDevice) {
  std::string folder = ::testing::TempDir() + "links." + std::to_string(::getpid()), target;
  std::filesystem::create_directories(folder + "/inner");
  auto link = [&](const char *to, const std::string &name) {
    std::filesystem::create_symlink(to, folder + "/" + name);
    return folder + "/" + name;
  };
  auto found = [&](const std::string &path) {
    target.clear();
    return findFileToReplace(path, &target).isOk() ? std::filesystem::relative(target, folder).string() : "refused";
  };
  EXPECT_EQ(found(folder + "/new"), "new");
  EXPECT_EQ(found(link("inner/a", "first")), "inner/a"); // the target need not exist
  EXPECT_EQ(found(link("../first", "inner/second")), "inner/a");
  EXPECT_EQ(found(link("round", "round")), "refused");
  EXPECT_EQ(found(folder + "/inner"), "refused");
  for (const char *device :
       {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/null", "/dev/new", "/proc/self/new"}) {
    EXPECT_EQ(found(device), "refused") << device;
    EXPECT_EQ(found(link(device, "to" + std::to_string(std::hash<std::string>()(device)))), "refused") << device;
  }
  std::filesystem::remove_all(folder);
}

TEST(FileMapping, MapsAndNamesWhatFails) {
  std::string path = testing::TempDir() + "cleave_mapping";
  std::ofstream(path) << "hello";
  FileMapping mapping;
  ASSERT_TRUE(FileMapping::open(path, &mapping).isOk());
  EXPECT_EQ(std::string(reinterpret_cast<const char *>(mapping.data()), mapping.size()), "hello");
  FileMapping moved = std::move(mapping);
  EXPECT_EQ(moved.size(), 5u);
  Status missing = FileMapping::open(path + ".none", &moved);
  EXPECT_EQ(missing.code(), Code::NotFound);
  EXPECT_NE(missing.message().find("cleave_mapping.none"), std::string::npos);
  EXPECT_EQ(FileMapping::open(testing::TempDir(), &moved).code(), Code::InvalidArgument);
  std::remove(path.c_str());
}

TEST(NearestName, IgnoresCaseAndKnowsNamesOfTypes) {
  const std::vector<std::string> optimizers = {"sgd", "adam", "adamw"}, types = {"f32", "bf16", "fp16"};
  EXPECT_EQ(nearestName("AdamW", optimizers), "adamw");
  EXPECT_EQ(nearestName("ADAM", optimizers), "adam");
  EXPECT_EQ(nearestName("SGD", optimizers), "sgd");
  EXPECT_EQ(nearestName("adam-w", optimizers), "adamw");
  EXPECT_EQ(nearestName("Shard-Grad", {"shard_grad"}), "shard_grad");
  for (const char *half : {"half", "Float16", "f16"})
    EXPECT_EQ(nearestName(half, types), "fp16");
  EXPECT_EQ(nearestName("bfloat16", types), "bf16");
  EXPECT_EQ(nearestName("float32", types), "f32");
  EXPECT_EQ(nearestName("f64", types), "");
  EXPECT_EQ(nearestName("sgd", {"sgd"}), "sgd");
}

TEST(LoadedFile, NamesWhatWasMapped) {
  static const char here = 0;
  EXPECT_EQ(loadedFile(&here), std::filesystem::read_symlink("/proc/self/exe").string());
  auto onHeap = std::make_unique<char>('x');
  EXPECT_EQ(loadedFile(onHeap.get()), "");
  // The kernel's table writes a line break as \012, and these four characters as they are.
  for (const char *name : {"cleave loaded", "cleave\nloaded\n", "cleave\\012loaded"}) {
    std::string path = std::filesystem::canonical(testing::TempDir()).string() + "/" + name;
    std::ofstream(path) << "hello";
    FileMapping mapping;
    ASSERT_TRUE(FileMapping::open(path, &mapping).isOk());
    EXPECT_EQ(loadedFile(mapping.data() + 2), path);
    std::remove(path.c_str()); // as if a newer program had been installed
    if (path.find('\\') == std::string::npos) {
      EXPECT_EQ(loadedFile(mapping.data()), path);
    }
  }
}

TEST(ChromeTrace, IsBoundedAndEscapes) {
  ChromeTrace trace(2);
  unsigned track = trace.addTrack(3, "", "a \"stream\"");
  for (int i = 0; i < 5; ++i)
    trace.span(track, "x\\\n\"y", 1000 + i, 3000 + i, {i == 1 ? 64u : 0u});
  for (int i = 0; i < 4; ++i)
    trace.step(7 + i, 1500, 9000);
  EXPECT_EQ(trace.dropped(), 5u); // spans and steps
  auto json = nlohmann::json::parse(trace.json());
  EXPECT_EQ(json["otherData"]["dropped"], 5);
  EXPECT_EQ(json["traceEvents"][1]["args"]["name"], "a \"stream\"");
  EXPECT_EQ(json["traceEvents"][2]["name"], "x\\\"y");
  EXPECT_EQ(json["traceEvents"][2]["dur"], 2.0);
  EXPECT_EQ(json["traceEvents"][2]["ts"], 0.0);
  EXPECT_FALSE(json["traceEvents"][2].contains("args"));
  EXPECT_EQ(json["traceEvents"][3]["args"]["bytes"], 64);
  EXPECT_EQ(json["traceEvents"][5]["name"], "step 7");
  EXPECT_EQ(json["traceEvents"][5]["ts"], 0.5);
  EXPECT_FALSE(trace.isEmpty());
  EXPECT_TRUE(ChromeTrace().isEmpty());
}

// The structure of sched_setattr (see sched(7)). `turn` is 0 before Linux 6.12.
struct Scheduling {
  uint32_t size = 0, policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t turn = 0, deadline = 0, period = 0;

  static Scheduling ofThread() {
    Scheduling result;
    EXPECT_EQ(::syscall(SYS_sched_getattr, 0, &result, sizeof result, 0), 0);
    return result;
  }
};

TEST(ShortTurns, ChangeTheTurnsOfOneThreadAlone) {
  Scheduling outside = Scheduling::ofThread(), before, after;
  std::thread([&] {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), outside.nice + 1);
    before = Scheduling::ofThread();
    takeShortTurns();
    after = Scheduling::ofThread();
  }).join();
  EXPECT_EQ(after.policy, before.policy);
  EXPECT_EQ(after.nice, before.nice);
  EXPECT_LE(after.turn, before.turn);
  if (before.turn != 0 && before.policy == SCHED_OTHER) {
    EXPECT_EQ(after.turn, 100'000u);
  }
  EXPECT_EQ(Scheduling::ofThread().turn, outside.turn);
}

TEST(JsonDepth, CountsBracketsOutsideOfTexts) {
  EXPECT_FALSE(isJsonDeeper("[[1], {}]", 2));
  EXPECT_TRUE(isJsonDeeper("[[1], {}]", 1));
  EXPECT_FALSE(isJsonDeeper("[],[],[],[]", 1));
  EXPECT_FALSE(isJsonDeeper(R"({"a[[[": "\"{{{", "b": "\\"})", 1));
  EXPECT_TRUE(isJsonDeeper(R"({"a": "\\", "b": [[]]})", 2));
  EXPECT_FALSE(isJsonDeeper("]]]}}}[[", 2));
  EXPECT_FALSE(isJsonDeeper("", 0));
  EXPECT_FALSE(isJsonDeeper("\"\\", 0)); // the text ends after the backslash
  EXPECT_TRUE(isJsonDeeper(std::string(kJsonLevels + 1, '[')));
  EXPECT_FALSE(isJsonDeeper(std::string(kJsonLevels, '[') + std::string(kJsonLevels, ']')));
}

TEST(ForeignFile, TakesASafetensorsFileForOneWhateverTheSizeOfItsHeader) {
  auto fileOf = [](uint64_t size) {
    std::string bytes(reinterpret_cast<const char *>(&size), sizeof size);
    return bytes + "{\"a\":{\"dtype\":";
  };
  for (uint64_t size = 8; size < 1 << 20; size += 8)
    ASSERT_EQ(formatOf(fileOf(size)), FileFormat::Safetensors) << "a header of " << size << " bytes";
  uint32_t zip = 0x04034b50, zstd = 0xfd2fb528; // the marks of other formats, as sizes
  for (uint64_t size : {zip, zstd})
    EXPECT_EQ(formatOf(fileOf(size)), FileFormat::Safetensors);
}

TEST(ForeignFile, TellsPickles) {
  for (const char *bytes : {"\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P", "\x80\x04\x95{{{{{{{{"})
    EXPECT_EQ(formatOf(bytes), FileFormat::TorchSave);
}

TEST(ChromeTrace, NamesKindBodyAndMicroBatch) {
  ChromeTrace trace(4);
  unsigned track = trace.addTrack(2, "stage1", "compute");
  trace.span(track, "matmul", 1000, 3000, {0, "c1.fwd", 5});
  trace.span(track, "send", 1000, 3000, {64, "c1.fwd", -1});
  auto json = nlohmann::json::parse(trace.json());
  EXPECT_EQ(json["otherData"]["startNs"], 1000);
  EXPECT_EQ(json["traceEvents"][0]["args"]["name"], "rank 2, stage1");
  EXPECT_EQ(json["traceEvents"][2]["args"], (nlohmann::json{{"body", "c1.fwd"}, {"micro_batch", 5}}));
  EXPECT_EQ(json["traceEvents"][3]["args"], (nlohmann::json{{"body", "c1.fwd"}, {"micro_batch", -1}, {"bytes", 64}}));
}

} // namespace
