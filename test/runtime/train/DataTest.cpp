#include "runtime/train/data/BatchReader.h"
#include "runtime/train/data/DataSet.h"
#include "runtime/train/data/Npy.h"
#include "runtime/train/data/Npz.h"

#include "test/runtime/TempDir.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <zlib.h>

using namespace cleave::rt;
using cleave::test::TempDir;

namespace {

template <typename T> std::string bytesOf(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
}

template <typename T> TensorView viewOf(ElementType type, Shape shape, const std::vector<T> &values) {
  return {"", type, shape, reinterpret_cast<const std::byte *>(values.data()), values.size() * sizeof(T), nullptr};
}

DataSource openSource(const std::string &text, const InputType &type) {
  DataSpec spec;
  DataSource source;
  Status status = parseDataSpec(text, &spec);
  if (status.isOk())
    status = DataSource::open(spec, type, &source);
  EXPECT_TRUE(status.isOk()) << status.message();
  return source;
}

std::string openError(const std::string &text, const InputType &type) {
  DataSpec spec;
  DataSource source;
  Status status = parseDataSpec(text, &spec);
  return status.isOk() ? DataSource::open(spec, type, &source).message() : status.message();
}

template <typename T> std::vector<T> read(const DataSource &source, uint64_t i) {
  std::vector<T> values(source.sampleBytes() / sizeof(T));
  source.read(i, reinterpret_cast<std::byte *>(values.data()));
  return values;
}

// Every name can be written: a backslash makes the next character an ordinary one.
TEST(DataSpec, NamesOfAnyCharacters) {
  const std::vector<std::string> names = {"a,b.npz", "lr=1,2/a.npz", "window=3", "c:u8",   "back\\slash",
                                          "\\",      "plain.npz",    ":u8",      "a\\:u16"};
  auto escaped = [](const std::string &name) {
    std::string result;
    for (char c : name)
      result += std::string(c == ',' || c == '=' || c == ':' || c == '\\' ? "\\" : "") + c;
    return result;
  };
  auto isArchive = [](const std::string &name) { return name.size() > 4 && name.substr(name.size() - 4) == ".npz"; };
  for (const std::string &first : names)
    for (const std::string &second : names) {
      DataSpec array, stream;
      std::string text = escaped(first) + "=" + escaped(first) + "," + escaped(second) + ",key=" + escaped(second);
      Status status = parseDataSpec(text, &array);
      ASSERT_TRUE(status.isOk()) << status.message();
      EXPECT_EQ(array.input, first);
      EXPECT_EQ(array.files, (std::vector<std::string>{first, second}));
      EXPECT_EQ(array.key, second);
      EXPECT_FALSE(array.stream) << text;
      status = parseDataSpec("x=" + escaped(first) + ":u16,window=4," + escaped(second) + ":u16", &stream);
      if (isArchive(first) || isArchive(second)) {
        EXPECT_NE(status.message().find("is a file of arrays by its name"), std::string::npos) << status.message();
        continue;
      }
      ASSERT_TRUE(status.isOk()) << status.message();
      EXPECT_EQ(stream.files, (std::vector<std::string>{first, second}));
      EXPECT_EQ(stream.stream, ElementType::u16);
    }
  DataSpec spec;
  EXPECT_NE(parseDataSpec("x=lr=1/a.npy", &spec).message().find("a backslash before a comma or ="), std::string::npos);
}

TEST(DataSpec, StreamsOfOtherTypes) {
  auto error = [](const std::string &text) {
    DataSpec spec;
    return parseDataSpec(text, &spec).message();
  };
  EXPECT_EQ(error("x=t.bin:i16,window=8"),
            "'x=t.bin:i16,window=8': i16 is no type of a flat stream; expected u8, u16 or u32; numbers that are not "
            "negative have the same bytes as u16: write t.bin:u16");
  EXPECT_NE(error("x=t.bin:uint16").find("expected u8, u16 or u32; did you mean t.bin:u16?"), std::string::npos);
  for (const char *type : {"i64", "u64", "f32", "float16"}) {
    std::string said = error(std::string("x=t.bin:") + type), end = "expected u8, u16 or u32";
    EXPECT_EQ(said.substr(said.size() - end.size()), end) << said;
  }
  for (const char *name : {"x=a:b.npy", "x=t\\:i16", "x=c:16", "x=:i16"})
    EXPECT_EQ(error(name), "") << name;
}

// The processes of one run compare these texts. The paths may differ between machines. Everything else must be equal.
TEST(DataSpec, TextWithoutFiles) {
  auto text = [](const char *spec) { return textWithoutFiles({spec}); };
  const std::string tokens = text("x=a/t.bin:u8,window=64,shift=1");
  EXPECT_EQ(text("x=/other/t2.bin:u8,window=64,shift=1"), tokens);
  for (const char *other :
       {"y=a/t.bin:u8,window=64,shift=1", "x=a/t.bin:u16,window=64,shift=1", "x=a/t.bin:u8,window=32,shift=1",
        "x=a/t.bin:u8,window=64,shift=0", "x=a/t.bin:u8,window=64,shift=1,stride=8"})
    EXPECT_NE(text(other), tokens) << other;
  EXPECT_EQ(text("x=a.npy,mean=0.5,std=0.25"), text("x=b.npy,mean=0.5,std=0.25"));
  EXPECT_NE(text("x=a.npy,mean=0.5,std=0.25"), text("x=a.npy,mean=0.5,std=0.125"));
  EXPECT_NE(text("x=a.npz,key=images"), text("x=a.npz,key=labels"));
  EXPECT_NE(textWithoutFiles({"x=a.npy", "y=b.npy"}), textWithoutFiles({"y=b.npy", "x=a.npy"}));
  // The text must be readable, because errors show it.
  EXPECT_EQ(textWithoutFiles({"x=a.npz,b.npz,key=images,mean=0.5/0.25,std=2/4", "tokens=t.bin:u8,window=64,stride=8"}),
            "x,key=images,mean=0.5/0.25,std=2/4 tokens:u8,window=64,stride=8");
}

// The fingerprint depends on the numbers, and not on the file's name. The same numbers in two files have the same one.
TEST(DataSet, FingerprintIsOfWhatFilesHold) {
  TempDir dir;
  std::vector<float> values(300);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i);
  auto save = [&](const char *name, size_t first, size_t count) {
    std::vector<float> part(values.begin() + first, values.begin() + first + count);
    EXPECT_TRUE(writeNpy(dir / name, viewOf(ElementType::f32, {static_cast<int64_t>(count / 2), 2}, part)).isOk());
  };
  auto fingerprint = [&](const std::string &files) {
    DataSet data;
    data.sources.push_back(openSource("x=" + files, {"x", ElementType::f32, {2}, true}));
    data.samples = data.sources[0].samples();
    return data.fingerprint();
  };
  save("all.npy", 0, 300), save("a.npy", 0, 100), save("b.npy", 100, 200), save("less.npy", 0, 298),
      save("one.npy", 0, 2);
  uint64_t all = fingerprint(dir / "all.npy");
  EXPECT_EQ(fingerprint(dir / "a.npy" + "," + (dir / "b.npy")), all);
  EXPECT_NE(fingerprint(dir / "b.npy" + "," + (dir / "a.npy")), all);
  EXPECT_NE(fingerprint(dir / "less.npy"), all);
  EXPECT_NE(fingerprint(dir / "one.npy"), all);
  for (size_t changed : {0, 299}) { // the first and the last number are among those that are read
    values[changed] += 1;
    save("other.npy", 0, 300);
    EXPECT_NE(fingerprint(dir / "other.npy"), all);
    values[changed] -= 1;
  }
}

TEST(Npy, RoundTrip) {
  TempDir dir;
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(writeNpy(dir / "a.npy", viewOf(ElementType::f32, {3, 2}, values)).isOk());
  DataSource source = openSource("x=" + (dir / "a.npy"), {"x", ElementType::f32, {2}, true});
  EXPECT_EQ(source.samples(), 3u);
  EXPECT_EQ(read<float>(source, 2), (std::vector<float>{5, 6}));
}

TEST(Npy, TruncatedAndForeignFilesAreRefused) {
  TempDir dir;
  std::vector<float> values = {1, 2, 3, 4};
  ASSERT_TRUE(writeNpy(dir / "a.npy", viewOf(ElementType::f32, {4}, values)).isOk());
  std::ifstream file(dir / "a.npy", std::ios::binary);
  std::string whole((std::istreambuf_iterator<char>(file)), {});
  TensorView view;
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parseNpy(reinterpret_cast<const std::byte *>(whole.data()), size, "a", &view).isOk()) << size;
  EXPECT_TRUE(parseNpy(reinterpret_cast<const std::byte *>(whole.data()), whole.size(), "a", &view).isOk());
  std::string fortran = whole;
  fortran.replace(fortran.find("False"), 5, "True ");
  EXPECT_NE(parseNpy(reinterpret_cast<const std::byte *>(fortran.data()), fortran.size(), "a", &view)
                .message()
                .find("Fortran order"),
            std::string::npos);
}

// Headers that NumPy reads in another way, or refuses.
TEST(Npy, HeadersThatAreNotOneDictionaryAreRefused) {
  const std::string right = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }";
  const std::string python2 = "{'descr': '<i4', 'fortran_order': False, 'shape': (2L,), }";
  auto isTaken = [](std::string header) {
    header.resize(118, ' ');
    std::string image = std::string("\x93NUMPY\1\0\x76\0", 10) + header + std::string(8, '\1');
    TensorView view;
    return parseNpy(reinterpret_cast<const std::byte *>(image.data()), image.size(), "a", &view).isOk();
  };
  EXPECT_TRUE(isTaken(right));
  EXPECT_TRUE(isTaken(python2));
  for (std::string wrong :
       {right.substr(0, right.size() - 1), right + "}", right + " x", "x " + right, "'descr': '<f4', " + right,
        "{'descr': '<f4', " + right.substr(1), "{'shape': (1,), " + right.substr(1)})
    EXPECT_FALSE(isTaken(wrong)) << wrong;

  // Each value must be one, too. (NumPy accepts three of these: (+2,), (0x2,) and (2L L,). No program writes them.)
  auto withShape = [](const char *shape) {
    return "{'descr': '<i4', 'fortran_order': False, 'shape': " + std::string(shape) + "}";
  };
  for (const char *shape : {"(2,)", "( 2 , )", "(1,2)", "(2, 1,)", "(1, 2, 1)", "(2,1 ,)"})
    EXPECT_TRUE(isTaken(withShape(shape))) << shape;
  for (const char *shape : {"(2)", "(1 2)", "(1,,2)", "(,2)", "(,)", "(2,)x", "(2,), 3", "2", "[2]", "(2,", "(+2,)",
                            "(02,)", "(0x2,)", "(2.0,)", "((2,),)", "('2',)", "(2L L,)", "(-2,)", ""})
    EXPECT_FALSE(isTaken(withShape(shape))) << shape;
  EXPECT_TRUE(isTaken("{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"<i4\"}"));
  for (const char *header :
       {"{'descr': '<i4', 'fortran_order': Falsehood, 'shape': (2,)}",
        "{'descr': '<i4', 'fortran_order': 0, 'shape': (2,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), 'more': 1}", "{'descr': '<i4', 'shape': (2,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2,),,}",
        "{'descr': '<i4' '', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<i4' 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape' (2,)}",
        "{'descr': '<i4, 'fortran_order': False, 'shape': (2,)}",
        "{descr: '<i4', 'fortran_order': False, 'shape': (2,)}", "{}", "{",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2,)} # a comment"})
    EXPECT_FALSE(isTaken(header)) << header;
}

// Archives made by numpy.savez and numpy.savez_compressed; see Inputs/make_npz.py.
TEST(Npz, StoredAndDeflated) {
  for (const char *name : {"stored.npz", "deflated.npz"}) {
    std::string path = std::string(CLEAVE_TEST_SOURCE_DIR) + "/runtime/train/Inputs/" + name;
    DataSource x = openSource("x=" + path, {"x", ElementType::f32, {3}, true});
    EXPECT_EQ(x.samples(), 50u);
    EXPECT_EQ(read<float>(x, 49), (std::vector<float>{147, 148, 149}));
    DataSource labels = openSource("l=" + path + ",key=labels", {"l", ElementType::i64, {}, true});
    EXPECT_EQ(read<int64_t>(labels, 13), std::vector<int64_t>{3});
    EXPECT_NE(openError("z=" + path, {"z", ElementType::f32, {3}, true}).find("no array 'z'; it has: x, labels"),
              std::string::npos);
  }
}

// Tests inputs for which the output buffer is full in the middle of a repetition. zlib has then read everything, but
// has not written everything.
TEST(Npz, MembersOfEverySizeAreUnpacked) {
  constexpr size_t kAtOnce = 100;
  for (size_t size = 0; size < 1000; ++size) {
    std::vector<std::byte> zeros(size), packed(size + 64), unpacked(size + 1);
    z_stream stream{};
    ASSERT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = reinterpret_cast<Bytef *>(zeros.data());
    stream.avail_in = static_cast<uInt>(size);
    stream.next_out = reinterpret_cast<Bytef *>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t stored = stream.total_out;
    deflateEnd(&stream);
    EXPECT_TRUE(inflateBytes(packed.data(), stored, unpacked.data(), size, kAtOnce).isOk()) << size;
    EXPECT_FALSE(inflateBytes(packed.data(), stored - 1, unpacked.data(), size, kAtOnce).isOk()) << size;
    EXPECT_FALSE(inflateBytes(packed.data(), stored + 1, unpacked.data(), size, kAtOnce).isOk()) << size;
    EXPECT_FALSE(inflateBytes(packed.data(), stored, unpacked.data(), size + 1, kAtOnce).isOk()) << size;
    EXPECT_FALSE(size && inflateBytes(packed.data(), stored, unpacked.data(), size - 1, kAtOnce).isOk()) << size;
  }
}

TEST(Npz, EveryTruncationAndFlippedByteIsSafe) {
  TempDir dir;
  std::ifstream file(std::string(CLEAVE_TEST_SOURCE_DIR) + "/runtime/train/Inputs/deflated.npz", std::ios::binary);
  std::string whole((std::istreambuf_iterator<char>(file)), {});
  ASSERT_GT(whole.size(), 100u);
  auto open = [&](const std::string &bytes) {
    Npz archive;
    TensorView view;
    Status status = Npz::open(dir.write("a.npz", bytes), &archive);
    return status.isOk() ? archive.array("x", &view) : status;
  };
  EXPECT_TRUE(open(whole).isOk());
  for (size_t size = 0; size < whole.size(); size += 3)
    EXPECT_FALSE(open(whole.substr(0, size)).isOk()) << size;
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    (void)open(damaged).isOk(); // must not crash; many bytes (dates, ids) do not matter
  }
}

// numpy finds it, too: an array that is not compressed also has a checksum.
TEST(Npz, ADamagedElementIsFound) {
  TempDir dir;
  for (const char *name : {"stored.npz", "deflated.npz"}) {
    std::ifstream file(std::string(CLEAVE_TEST_SOURCE_DIR) + "/runtime/train/Inputs/" + name, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    bytes[300] = static_cast<char>(bytes[300] ^ 1); // after the headers of the first member, "x"
    Npz archive;
    TensorView view;
    ASSERT_TRUE(Npz::open(dir.write("a.npz", bytes), &archive).isOk());
    EXPECT_FALSE(archive.array("x", &view).isOk()) << name;
  }
}

// The number of samples is known before anything is unpacked or verified.
TEST(Npz, HeadersAreReadBeforeData) {
  TempDir dir;
  for (const char *name : {"stored.npz", "deflated.npz"}) {
    std::ifstream file(std::string(CLEAVE_TEST_SOURCE_DIR) + "/runtime/train/Inputs/" + name, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    DataSpec spec;
    ASSERT_TRUE(parseDataSpec("x=" + dir.write("a.npz", bytes), &spec).isOk());
    DataSource source;
    ASSERT_TRUE(DataSource::openHeaders(spec, {"x", ElementType::f32, {3}, true}, &source).isOk());
    EXPECT_EQ(source.samples(), 50u);
    EXPECT_EQ(source.unpackedBytes(), 0u);
    ASSERT_TRUE(source.load().isOk());
    EXPECT_EQ(read<float>(source, 1), (std::vector<float>{3, 4, 5}));

    bytes[300] = static_cast<char>(bytes[300] ^ 1); // after the headers
    dir.write("a.npz", bytes);
    DataSource damaged;
    ASSERT_TRUE(DataSource::openHeaders(spec, {"x", ElementType::f32, {3}, true}, &damaged).isOk()) << name;
    EXPECT_EQ(damaged.samples(), 50u);
    EXPECT_FALSE(damaged.load().isOk()) << name;
  }
}

TEST(Stream, TokensAndLabelsLineUp) {
  TempDir dir;
  std::string text;
  for (int i = 0; i < 20; ++i)
    text.push_back(static_cast<char>(200 + i));
  std::string file = dir.write("text.bin", text);
  InputType type{"t", ElementType::i64, {4}, true};
  DataSource tokens = openSource("t=" + file + ":u8,window=4,shift=0", type);
  DataSource labels = openSource("t=" + file + ":u8,window=4,shift=1", type);
  EXPECT_EQ(tokens.samples(), 5u);
  EXPECT_EQ(labels.samples(), 4u);
  EXPECT_EQ(read<int64_t>(tokens, 3), (std::vector<int64_t>{212, 213, 214, 215}));
  EXPECT_EQ(read<int64_t>(labels, 3), (std::vector<int64_t>{213, 214, 215, 216}));
  DataSource dense = openSource("t=" + file + ":u8,window=4,stride=1", type);
  EXPECT_EQ(dense.samples(), 17u);
}

TEST(Stream, AnInputWithoutABatchBeginsAtItsShift) {
  TempDir dir;
  std::string file = dir.write("text.bin", std::string("\1\2\3\4\5\6", 6));
  InputType type{"t", ElementType::i64, {2}, /*batched=*/false};
  DataSource source = openSource("t=" + file + ":u8,window=2,shift=3", type);
  EXPECT_EQ(read<int64_t>(source, 0), (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(read<int64_t>(source, 7), (std::vector<int64_t>{4, 5}));
  EXPECT_NE(openError("t=" + file + ":u8,window=2,shift=5", type).find("holds no whole sample"), std::string::npos);
}

// Opens the data of a program with two inputs of 4 tokens per sample.
std::string openData(const std::string &tokens, const std::string &labels, DataSet *data) {
  fb::ProgramT program;
  for (const char *name : {"tokens", "labels"}) {
    program.inputs.push_back(std::make_unique<fb::PortT>());
    program.inputs.back()->name = name;
    program.inputs.back()->dtype = fb::DType::i64;
    program.inputs.back()->shape = {2, 4};
    program.inputs.back()->batch_dim = 0;
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Program::Pack(builder, &program));
  const auto *packed = flatbuffers::GetRoot<fb::Program>(builder.GetBufferPointer());
  return DataSet::open(*packed, {"tokens=" + tokens, "labels=" + labels}, "--data", data).message();
}

TEST(Stream, OnlyTheShiftMayMakeAStreamShorter) {
  TempDir dir;
  std::string text = dir.write("text.bin", std::string(40, 'a')), other = dir.write("other.bin", std::string(23, 'a'));
  DataSet data;
  EXPECT_EQ(openData(text + ":u8,window=4", text + ":u8,window=4,shift=1", &data), "");
  EXPECT_EQ(data.samples, 9u);
  EXPECT_EQ(openData(text + ":u8,window=4,stride=2", text + ":u8,window=4,stride=2,shift=5", &data), "");
  EXPECT_EQ(data.samples, 16u);
  EXPECT_EQ(openData(text + ":u8,window=4", other + ":u8,window=4,shift=1", &data),
            "--data: input 'labels' has 5 samples, input 'tokens' 10; every sample needs its part of each input");
}

TEST(Stream, InputsGoAlongAtOneStride) {
  TempDir dir;
  std::string text = dir.write("text.bin", std::string(40, 'a'));
  DataSet data;
  EXPECT_EQ(openData(text + ":u8,window=4", text + ":u8,window=4,stride=5,shift=1", &data),
            "--data: input 'labels' goes 5 elements from one sample to the next, input 'tokens' 4; streams need one "
            "stride (stride=N, by default the window)");
}

TEST(Stream, WindowsSpanFilesAndHeadersAreSkipped) {
  TempDir dir;
  std::vector<int32_t> header(256);
  header[0] = 20240520;
  header[1] = 1;
  header[2] = 5;
  std::string a = dir.write("a.bin", bytesOf(header) + bytesOf<uint16_t>({1, 2, 3, 4, 50000}));
  std::string b = dir.write("b.bin", bytesOf<uint16_t>({6, 7, 8}));
  DataSource source = openSource("t=" + a + ":u16," + b + ":u16,window=4", {"t", ElementType::i32, {4}, true});
  EXPECT_EQ(source.samples(), 2u);
  EXPECT_EQ(read<int32_t>(source, 1), (std::vector<int32_t>{50000, 6, 7, 8}));
}

TEST(Images, ArePutToMeanAndDeviation) {
  TempDir dir;
  std::vector<uint8_t> pixels = {0, 255, 51, 102};
  ASSERT_TRUE(writeNpy(dir / "a.npy", viewOf(ElementType::u8, {1, 2, 2}, pixels)).isOk());
  InputType type{"x", ElementType::f32, {2, 1, 2}, true};
  DataSource source = openSource("x=" + (dir / "a.npy") + ",mean=0.5/0.1,std=0.5/0.2", type);
  std::vector<float> expected = {-1, 1, 0.5f, 1.5f};
  for (size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(read<float>(source, 0)[i], expected[i], 1e-6);
}

TEST(Images, ASingleMeanOrDeviationIsThatOfAllChannels) {
  TempDir dir;
  std::vector<uint8_t> pixels = {0, 255, 51, 102};
  ASSERT_TRUE(writeNpy(dir / "a.npy", viewOf(ElementType::u8, {1, 2, 2}, pixels)).isOk());
  InputType type{"x", ElementType::f32, {2, 1, 2}, true};
  for (auto [one, written] : {std::pair("mean=0.5,std=0.5/0.2", "mean=0.5/0.5,std=0.5/0.2"),
                              std::pair("mean=0.5/0.1,std=0.2", "mean=0.5/0.1,std=0.2/0.2")}) {
    DataSource short_ = openSource("x=" + (dir / "a.npy") + "," + one, type);
    DataSource whole = openSource("x=" + (dir / "a.npy") + "," + written, type);
    EXPECT_EQ(read<float>(short_, 0), read<float>(whole, 0));
  }
  EXPECT_EQ(openError("x=a.npy,mean=1/2/3,std=1/2", type),
            "'x=a.npy,mean=1/2/3,std=1/2': mean has 3 values and std has 2; give each one value for each channel, or a "
            "single one for all of them");
}

// Arrays with the right number of elements but other dimensions. The message says what is wrong, and gives the line of
// NumPy that corrects it.
TEST(DataErrors, ShapesThatFitOtherwiseAreTold) {
  TempDir dir;
  struct Case {
    Shape found, sample;
    bool batched;
    std::string advice; // empty: no advice
  };
  const Case cases[] = {
      {{2, 4, 5, 3}, {3, 4, 5}, true, "; the sizes fit in another order: save numpy.transpose(x, (0, 3, 1, 2))"},
      {{2, 3, 4, 5}, {4, 5, 3}, true, "; the sizes fit in another order: save numpy.transpose(x, (0, 2, 3, 1))"},
      {{2, 4, 4, 3}, {3, 4, 4}, true, "; the sizes fit in another order: save numpy.transpose(x, (0, 3, 1, 2))"},
      {{2, 5, 4, 3}, {3, 4, 5}, true, "; the sizes fit in another order: save numpy.transpose(x, (0, 3, 2, 1))"},
      {{3, 2}, {2, 3}, false, "; the sizes fit in another order: save numpy.transpose(x, (1, 0))"},
      {{3, 4, 5}, {3, 4, 5}, true, "; this is one sample: save x[None], which adds the dimension of samples"},
      {{2, 4, 5}, {20}, true, "; each sample has as many elements: if their order is right, save x.reshape(-1, 20)"},
      {{2, 20}, {5, 4}, true, "; each sample has as many elements: if their order is right, save x.reshape(-1, 5, 4)"},
      {{20}, {5, 4}, false, "; each sample has as many elements: if their order is right, save x.reshape(5, 4)"},
      {{2, 4, 5, 3}, {3, 4, 6}, true, ""},
      {{0, 4, 5}, {7}, true, ""},
      {{2, 0, 5}, {7}, true, ""},
  };
  for (const Case &each : cases) {
    uint64_t count = 0;
    ASSERT_TRUE(countElements(each.found, &count));
    std::vector<float> values(count + 1);
    TensorView view = viewOf(ElementType::f32, each.found, values);
    view.bytes = count * sizeof(float);
    ASSERT_TRUE(writeNpy(dir / "x.npy", view).isOk());
    std::string error = openError("x=" + (dir / "x.npy"), {"x", ElementType::f32, each.sample, each.batched});
    std::string got = ", got " + toString(ElementType::f32, each.found);
    ASSERT_NE(error.find(got), std::string::npos) << error;
    EXPECT_EQ(error.substr(error.find(got) + got.size()), each.advice);
  }
}

TEST(DataErrors, LabelsAndTablesOfOtherFormsAreTold) {
  TempDir dir;
  std::vector<int64_t> values(12);
  ASSERT_TRUE(writeNpy(dir / "y.npy", viewOf(ElementType::i64, {3, 4}, values)).isOk());
  std::string file = dir / "y.npy";
  EXPECT_EQ(openError("y=" + file, {"y", ElementType::i64, {}, true}),
            "input 'y': " + file +
                ": expected i64[samples], got i64[3, 4]; if these are one-hot labels, "
                "save x.argmax(-1): expected are the numbers of classes");
  EXPECT_NE(openError("x=t.csv", {"x", ElementType::f32, {3}, true})
                .find("numpy.save(\"x.npy\", numpy.loadtxt(\"t.csv\", delimiter=\",\", dtype=\"float32\"))"),
            std::string::npos);
  for (const char *file : {"t.h5", "t.parquet", "t.pt", "t.idx", "train-images-idx3-ubyte"}) {
    std::string error = openError(std::string("x=") + file, {"x", ElementType::f32, {3}, true});
    EXPECT_NE(error.find("; in Python, numpy.save(\"x.npy\", "), std::string::npos) << error;
    EXPECT_NE(error.find(std::string("(\"") + file + "\""), std::string::npos) << error;
  }
  EXPECT_EQ(openError("x=t.txt", {"x", ElementType::f32, {3}, true}).find("numpy"), std::string::npos);
}

TEST(DataErrors, NameInputExpectedAndGot) {
  TempDir dir;
  std::vector<double> values(6);
  ASSERT_TRUE(writeNpy(dir / "d.npy", viewOf(ElementType::f64, {3, 2}, values)).isOk());
  std::string file = dir / "d.npy";
  EXPECT_EQ(openError("x=" + file, {"x", ElementType::f32, {3}, true}),
            "input 'x': " + file + ": expected f32[samples, 3], got f64[3, 2]");
  EXPECT_EQ(openError("x=" + file, {"x", ElementType::f32, {2}, true}),
            "input 'x': expected f32, got f64 in " + file + "; save the array as x.astype(numpy.float32)");
  EXPECT_NE(openError("x=" + (dir / "none.npy"), {"x", ElementType::f32, {2}, true}).find("none.npy"),
            std::string::npos);
  EXPECT_EQ(openError("x=a.bin:u8", {"x", ElementType::i64, {4}, true}),
            "'x=a.bin:u8': a flat stream needs window=N, the number of elements of a sample");
  EXPECT_EQ(
      openError("x=a.npy,windw=3", {"x", ElementType::i64, {4}, true}),
      "'x=a.npy,windw=3': unknown key 'windw'; expected one of window, shift, stride, key, mean, std, or a backslash "
      "before a comma or = that belongs to a file's name");
  // An option without an effect, and an option that is given twice.
  const std::string noArchive = " is neither; leave out key";
  EXPECT_NE(openError("x=a.npy,key=b", {"x", ElementType::i64, {4}, true}).find("'a.npy'" + noArchive),
            std::string::npos);
  EXPECT_NE(openError("x=a.npz,b.npy,key=b", {"x", ElementType::i64, {4}, true}).find("'b.npy'" + noArchive),
            std::string::npos);
  EXPECT_NE(openError("x=a:u8,window=4,key=b", {"x", ElementType::i64, {4}, true}).find("'a'" + noArchive),
            std::string::npos);
  for (const char *option : {"window=4", "shift=1", "stride=2", "key=a", "mean=0", "std=1"})
    EXPECT_EQ(openError("x=a.npz," + std::string(option) + "," + option, {"x", ElementType::i64, {4}, true}),
              "'x=a.npz," + std::string(option) + "," + option +
                  "': " + std::string(option).substr(0, std::string(option).find('=')) + " is given twice");
  EXPECT_EQ(openError("x", {"x", ElementType::i64, {4}, true}), "'x': expected INPUT=FILE[,FILE...][,key=value...]");
}

TEST(Permutation, IsOneForEverySizeSeedAndEpoch) {
  for (uint64_t size : {1, 2, 3, 5, 16, 17, 1000, 4097}) {
    Permutation a(size, 1, 0), b(size, 1, 1), c(size, 2, 0);
    std::set<uint64_t> seen;
    unsigned equalB = 0, equalC = 0;
    for (uint64_t i = 0; i < size; ++i) {
      ASSERT_LT(a(i), size);
      seen.insert(a(i));
      equalB += a(i) == b(i);
      equalC += a(i) == c(i);
    }
    EXPECT_EQ(seen.size(), size);
    if (size >= 1000) {
      EXPECT_LT(equalB, size / 50);
      EXPECT_LT(equalC, size / 50);
    }
  }
}

// The numbers of the samples that each rank of one process sees in an epoch.
struct Epochs {
  Epochs(unsigned dataRanks, unsigned frames, uint64_t samples, uint64_t count, LastBatch last, uint64_t position = 0,
         const BatchReader::MemoryFn &memory = {}) {
    for (uint64_t i = 0; i < count; ++i)
      values.push_back(static_cast<int64_t>(i));
    EXPECT_TRUE(writeNpy(dir / "i.npy", viewOf(ElementType::i64, {static_cast<int64_t>(count)}, values)).isOk());
    sources.push_back(openSource("i=" + (dir / "i.npy"), {"i", ElementType::i64, {}, true}));
    BatchGeometry geometry{samples, frames, dataRanks, {}};
    for (unsigned rank = 0; rank < dataRanks; ++rank)
      geometry.localDataRanks.push_back(rank);
    this->geometry = geometry;
    Sampler sampler(count, geometry.globalBatch(), 7, true, last);
    batches = sampler.batchesPerEpoch();
    reader = std::make_unique<BatchReader>(sources, sampler, geometry, 0, position, memory);
  }
  // Returns the samples of the next global batch, in the order of ranks and frames.
  std::vector<int64_t> next() {
    const Batch *batch = reader->next();
    std::vector<int64_t> result;
    for (unsigned rank = 0; rank < geometry.dataRanks; ++rank)
      for (unsigned frame = 0; frame < geometry.frames; ++frame)
        for (uint64_t i = 0; i < geometry.samples; ++i) {
          int64_t value;
          std::memcpy(&value, batch->bytes(rank, frame, 0) + 8 * i, 8);
          result.push_back(value);
        }
    last = *batch;
    return result;
  }
  TempDir dir;
  std::vector<int64_t> values;
  std::vector<DataSource> sources;
  BatchGeometry geometry;
  uint64_t batches;
  Batch last;
  std::unique_ptr<BatchReader> reader;
};

TEST(BatchReader, RanksAreDisjointAndCoverTheEpochExactly) {
  for (unsigned dataRanks : {1, 2, 4}) {
    Epochs run(dataRanks, 4 / dataRanks, 3, 24, LastBatch::Drop);
    ASSERT_EQ(run.batches, 2u);
    for (unsigned epoch = 0; epoch < 3; ++epoch) {
      std::multiset<int64_t> seen;
      for (uint64_t batch = 0; batch < run.batches; ++batch)
        for (int64_t sample : run.next())
          seen.insert(sample);
      EXPECT_EQ(seen, std::multiset<int64_t>(run.values.begin(), run.values.end())) << epoch;
      EXPECT_EQ(run.last.epoch, epoch);
      EXPECT_EQ(run.last.nextEpoch, epoch + 1);
    }
  }
}

TEST(BatchReader, GlobalBatchesDoNotDependOnTheRanks) {
  Epochs one(1, 4, 3, 50, LastBatch::Drop), two(2, 2, 3, 50, LastBatch::Drop), four(4, 1, 3, 50, LastBatch::Drop);
  for (int batch = 0; batch < 10; ++batch) {
    std::vector<int64_t> expected = one.next();
    EXPECT_EQ(two.next(), expected);
    EXPECT_EQ(four.next(), expected);
  }
}

TEST(BatchReader, LastBatchDropsOrPads) {
  Epochs drop(2, 1, 4, 21, LastBatch::Drop), pad(2, 1, 4, 21, LastBatch::Pad);
  EXPECT_EQ(drop.batches, 2u);
  ASSERT_EQ(pad.batches, 3u);
  std::multiset<int64_t> seen;
  std::vector<int64_t> first = pad.next();
  for (int64_t sample : first)
    seen.insert(sample);
  for (int batch = 1; batch < 3; ++batch)
    for (int64_t sample : pad.next())
      seen.insert(sample);
  for (int64_t sample = 0; sample < 21; ++sample)
    EXPECT_GE(seen.count(sample), 1u);
  EXPECT_EQ(seen.size(), 24u);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(seen.count(first[i]), 2u); // the padding is the epoch's first samples
}

// The second of two ranks gives memory of a device. Both batches are gathered there, and are equal to those of a reader
// without such memory.
TEST(BatchReader, PartsLieInMemoryThatIsGiven) {
  std::vector<std::vector<std::byte>> given;
  given.reserve(kBatchesInMemory);
  auto memory = [&](unsigned local, size_t bytes) {
    EXPECT_EQ(bytes, 2 * bytesOfInput(3 * 8)); // two frames of three samples
    return local == 1 ? given.emplace_back(bytes).data() : nullptr;
  };
  Epochs plain(2, 2, 3, 100, LastBatch::Drop), with(2, 2, 3, 100, LastBatch::Drop, 0, memory);
  ASSERT_EQ(given.size(), kBatchesInMemory);
  EXPECT_EQ(plain.reader->ownBytes(), kBatchesInMemory * 2 * 2 * bytesOfInput(3 * 8)); // of two ranks
  EXPECT_EQ(with.reader->ownBytes(), kBatchesInMemory * 2 * bytesOfInput(3 * 8));      // of one
  for (size_t step = 0; step < 2 * plain.batches; ++step) {
    EXPECT_EQ(with.next(), plain.next());
    const std::vector<std::byte> &mine = given[step % kBatchesInMemory];
    EXPECT_EQ(with.last.bytes(1, 0, 0), mine.data());
    EXPECT_EQ(with.last.bytes(1, 1, 0), mine.data() + mine.size() / 2);
  }
}

// The memory of mapped files, from the system.
size_t mappedMemory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("RssFile:", 0) == 0)
      return std::stoull(line.substr(8)) << 10;
  return 0;
}

// Samples of 32 bytes in any order: each read maps the pages around it, so the bytes of samples say nothing.
TEST(BatchReader, ReadPagesAreDroppedBeforeTheyAreMany) {
  TempDir dir;
  constexpr uint64_t kSamples = 1 << 20, kBatch = 8;
  std::vector<float> values(kSamples * 8);
  std::vector<DataSource> sources;
  ASSERT_TRUE(writeNpy(dir / "x.npy", viewOf(ElementType::f32, {kSamples, 8}, values)).isOk());
  sources.push_back(openSource("x=" + (dir / "x.npy"), {"x", ElementType::f32, {8}, true}));
  BatchGeometry geometry{kBatch, 1, 1, {0}};
  size_t before = mappedMemory(), most = 0, last = 0;
  bool drops = false;
  BatchReader reader(sources, Sampler(kSamples, kBatch, 7, true, LastBatch::Drop), geometry, 0, 0);
  for (unsigned batch = 0; batch < 2000; ++batch) {
    reader.next();
    size_t now = mappedMemory();
    drops |= now < last;
    last = now;
    most = std::max(most, now);
  }
  EXPECT_TRUE(drops);
  EXPECT_LE(most, before + ReadPages::mostBytes(sources) + kDropBytes); // and code that runs for the first time
}

// Such data are never dropped, and take as much memory as their file.
TEST(ReadPages, DataThatStayMappedAreCounted) {
  TempDir dir;
  std::vector<float> values((kDropBytes / 2) / sizeof(float));
  ASSERT_TRUE(writeNpy(dir / "x.npy", viewOf(ElementType::f32, {static_cast<int64_t>(values.size())}, values)).isOk());
  std::vector<DataSource> sources;
  sources.push_back(openSource("x=" + (dir / "x.npy"), {"x", ElementType::f32, {}, true}));
  EXPECT_GE(ReadPages::mostBytes(sources), kDropBytes / 2);
  EXPECT_LE(ReadPages::mostBytes(sources), kDropBytes / 2 + (16u << 10)); // parts of pages
}

// One sample after the other: pages count once. Small files have no more pages than bytes.
TEST(ReadPages, SequentialSamplesShareThem) {
  TempDir dir;
  std::vector<float> values((1 << 16) * 8);
  ASSERT_TRUE(writeNpy(dir / "x.npy", viewOf(ElementType::f32, {1 << 16, 8}, values)).isOk());
  DataSource source = openSource("x=" + (dir / "x.npy"), {"x", ElementType::f32, {8}, true});
  uintptr_t mapped = 0;
  size_t sum = 0;
  for (uint64_t i = 0; i < source.samples(); ++i)
    sum += source.mappedBy(i, &mapped);
  EXPECT_GE(sum, values.size() * sizeof(float));
  EXPECT_LE(sum, values.size() * sizeof(float) + (128u << 10));
  std::vector<float> few(8);
  ASSERT_TRUE(writeNpy(dir / "few.npy", viewOf(ElementType::f32, {1, 8}, few)).isOk());
  mapped = 0;
  EXPECT_LE(openSource("x=" + (dir / "few.npy"), {"x", ElementType::f32, {8}, true}).mappedBy(0, &mapped), 16u << 10);
}

TEST(BatchReader, ResumesAtAnyPosition) {
  Epochs whole(2, 1, 4, 40, LastBatch::Drop), resumed(2, 1, 4, 40, LastBatch::Drop, 16);
  whole.next();
  whole.next();
  EXPECT_EQ(whole.last.nextPosition, 16u);
  for (int batch = 0; batch < 8; ++batch)
    EXPECT_EQ(resumed.next(), whole.next());
}

} // namespace
