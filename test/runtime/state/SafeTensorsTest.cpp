#include "runtime/state/SafeTensors.h"

#include "test/runtime/TempDir.h"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/resource.h>

using namespace cleave::rt;
using cleave::test::TempDir;

namespace {

// An image with this header and `dataBytes` bytes of data.
std::string image(const std::string &header, size_t dataBytes) {
  uint64_t size = header.size();
  std::string bytes(reinterpret_cast<const char *>(&size), sizeof size);
  return bytes + header + std::string(dataBytes, '\0');
}

Status parse(const std::string &bytes) {
  SafeTensors file;
  return SafeTensors::parse(bytes.data(), bytes.size(), "f", &file);
}

std::string entry(const std::string &name, const std::string &shape, int begin, int end) {
  return "\"" + name + "\":{\"dtype\":\"F32\",\"shape\":" + shape + ",\"data_offsets\":[" + std::to_string(begin) +
         "," + std::to_string(end) + "]}";
}

TEST(SafeTensors, RoundTrip) {
  TempDir dir;
  float w[] = {1, 2, 3, 4, 5, 6};
  int64_t i[] = {-1};
  std::vector<TensorView> tensors = {{"w", ElementType::f32, {2, 3}, reinterpret_cast<std::byte *>(w), sizeof w, nullptr},
                                     {"scalar", ElementType::i64, {}, reinterpret_cast<std::byte *>(i), sizeof i, nullptr},
                                     {"empty", ElementType::bf16, {0, 4}, nullptr, 0, nullptr}};
  ASSERT_TRUE(writeSafeTensors(dir / "a.safetensors", tensors, {{"format", "cleave"}}).isOk());
  SafeTensors file;
  Status status = SafeTensors::open(dir / "a.safetensors", &file);
  ASSERT_TRUE(status.isOk()) << status.message();
  ASSERT_EQ(file.tensors().size(), 3u);
  const TensorView *read = file.find("w");
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->shape, (Shape{2, 3}));
  EXPECT_EQ(std::memcmp(read->data, w, sizeof w), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(read->data) % 64, 0u);
  EXPECT_EQ(file.find("scalar")->shape, Shape{});
  EXPECT_EQ(file.find("nothing"), nullptr);
}

struct Hostile {
  const char *what;
  std::string bytes, expected;
};

class SafeTensorsHostile : public testing::TestWithParam<Hostile> {};

TEST_P(SafeTensorsHostile, IsRefused) {
  Status status = parse(GetParam().bytes);
  EXPECT_FALSE(status.isOk());
  EXPECT_NE(status.message().find(GetParam().expected), std::string::npos) << status.message();
}

INSTANTIATE_TEST_SUITE_P(
    All, SafeTensorsHostile,
    testing::Values(
        Hostile{"empty", "", "the file is empty"}, Hostile{"short", "1234", "shorter"},
        Hostile{"hugeHeader", std::string(8, '\xff'), "its first 8 bytes are not the size of a header"},
        Hostile{"headerBeyond", image("{}", 0).substr(0, 9), "beyond the file"},
        Hostile{"notJson", image("{\"a\":", 0), "not valid JSON"},
        Hostile{"array", image("[]", 0), "not a JSON object"},
        Hostile{"entryNotObject", image("{\"a\":1}", 0), "no dtype"},
        Hostile{"emptyDtype", image("{\"a\":{\"dtype\":\"\",\"shape\":[],\"data_offsets\":[0,4]}}", 4), "no dtype"},
        Hostile{"unknownDtypeBeyond", image("{\"a\":{\"dtype\":\"F99\",\"shape\":[],\"data_offsets\":[0,9]}}", 4), "truncated"},
        Hostile{"unknownDtypeGap", image("{\"a\":{\"dtype\":\"F99\",\"shape\":[],\"data_offsets\":[0,2]}}", 4), "ends at byte 2 of 4"},
        Hostile{"negativeShape", image("{" + entry("a", "[-1]", 0, 4) + "}", 4), "bad shape; expected a list of whole numbers"},
        Hostile{"overflowShape", image("{" + entry("a", "[4294967296,4294967296,4]", 0, 4) + "}", 4), "bad shape"},
        Hostile{"overflowBytes", image("{" + entry("a", "[4611686018427387904]", 0, 0) + "}", 0), "does not take"},
        Hostile{"floatShape", image("{" + entry("a", "[1.5]", 0, 4) + "}", 4), "bad shape"},
        Hostile{"backwards", image("{" + entry("a", "[1]", 4, 0) + "}", 4), "bad data_offsets"},
        Hostile{"beyond", image("{" + entry("a", "[4]", 0, 16) + "}", 8), "truncated"},
        Hostile{"wrongSize", image("{" + entry("a", "[3]", 0, 16) + "}", 16), "does not take"},
        Hostile{"overlap", image("{" + entry("a", "[2]", 0, 8) + "," + entry("b", "[2]", 4, 12) + "}", 12), "overlap"},
        Hostile{"same", image("{" + entry("a", "[2]", 0, 8) + "," + entry("b", "[2]", 0, 8) + "}", 8), "overlap"},
        Hostile{"twice", image("{" + entry("a", "[1]", 0, 4) + "," + entry("a", "[1]", 4, 8) + "}", 8), "twice"},
        Hostile{"keyTwice", image(R"({"a":{"dtype":"F32","shape":[1],"dtype":"I32","data_offsets":[0,4]}})", 4), "'dtype' twice"},
        Hostile{"gap", image("{" + entry("a", "[1]", 0, 4) + "," + entry("b", "[1]", 64, 68) + "}", 68), "that belong to none"},
        Hostile{"gapBefore", image("{" + entry("a", "[1]", 4, 8) + "}", 8), "that belong to none"},
        Hostile{"bytesAfter", image("{" + entry("a", "[1]", 0, 4) + "}", 8), "ends at byte 4 of 8"},
        Hostile{"noTensors", image("{}", 8), "ends at byte 0 of 8"},
        Hostile{"deepEntry", image("{\"a\":" + std::string(300000, '[') + std::string(300000, ']') + "}", 0),
                "no dtype"},
        Hostile{"deep", image(std::string(100000, '['), 0), "not valid JSON"}),
    [](const auto &info) { return info.param.what; });

TEST(SafeTensors, TheOrderOfTheHeaderIsFree) {
  EXPECT_TRUE(parse(image("{" + entry("b", "[1]", 4, 8) + "," + entry("none", "[0]", 4, 4) + "," + entry("a", "[1]", 0, 4) + "}", 8)).isOk());
}

// A file may have tensors that only other programs need, as the scales of a quantized model.
TEST(SafeTensors, ATensorOfAnUnknownTypeIsKeptApart) {
  std::string bytes = image(R"({"a":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]},)" + entry("b", "[1]", 3, 7) + "}", 7);
  SafeTensors file;
  ASSERT_TRUE(SafeTensors::parse(bytes.data(), bytes.size(), "test", &file).isOk());
  EXPECT_EQ(file.tensors().size(), 1u);
  EXPECT_EQ(file.find("a"), nullptr);
  EXPECT_NE(file.find("b"), nullptr);
  EXPECT_EQ(file.unread(), (SafeTensors::Unread{{"a", "F8_E4M3"}}));
  EXPECT_TRUE(file.checkType("b").isOk());
  for (const char *name : {"", "a"})
    EXPECT_EQ(file.checkType(name).message().find("test: tensor 'a': unknown dtype F8_E4M3; save it as one of F64, F32"), 0u)
        << file.checkType(name).message();
}

TEST(SafeTensors, EveryTruncationIsRefused) {
  std::string whole = image("{" + entry("a", "[4]", 0, 16) + "}", 16);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse(whole.substr(0, size)).isOk()) << size;
  EXPECT_TRUE(parse(whole).isOk());
}

TEST(SafeTensors, FullDiskLeavesNothing) {
  TempDir dir;
  dir.write("a.safetensors", "the old one");
  std::vector<std::byte> data(1 << 20);
  rlimit old{}, small{};
  getrlimit(RLIMIT_FSIZE, &old);
  small = {1 << 16, old.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  Status status =
      writeSafeTensors(dir / "a.safetensors", {{"w", ElementType::u8, {1 << 20}, data.data(), data.size(), nullptr}});
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(status.code(), Code::IoError);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
  std::ifstream file(dir / "a.safetensors");
  std::string text;
  std::getline(file, text);
  EXPECT_EQ(text, "the old one");
}

} // namespace
