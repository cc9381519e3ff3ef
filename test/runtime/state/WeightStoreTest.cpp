#include "runtime/state/WeightStore.h"
#include "runtime/plan/RankKinds.h"
#include "runtime/state/ElementValue.h"
#include "runtime/state/FloatConversion.h"
#include "runtime/state/Problems.h"

#include "runtime/state/CheckpointSave.h"
#include "test/runtime/TempDir.h"
#include "test/runtime/device/PlanBuilder.h"
#include "test/runtime/state/PlanFixture.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>

using namespace cleave::rt;
using cleave::test::PlanFixture;
using cleave::test::TempDir;

namespace {

std::vector<float> values(const std::string &name, size_t count) {
  std::vector<float> result(count);
  for (size_t i = 0; i < count; ++i)
    result[i] = PlanFixture::value(name, "", i);
  return result;
}

std::string writeWeights(const TempDir &dir, const std::string &file, const std::string &bias, Shape weightShape) {
  std::vector<float> w = values("w", 15), b = values("b", 3);
  Status status =
      writeSafeTensors(dir / file, {{"w", ElementType::f32, weightShape, (std::byte *)w.data(), 60, nullptr},
                                    {bias, ElementType::f32, {3}, (std::byte *)b.data(), 12, nullptr}});
  EXPECT_TRUE(status.isOk()) << status.message();
  return dir / file;
}

cleave_model model(const char *weightsFile, const char *checksum) {
  cleave_model result{};
  result.abi = CLEAVE_MODEL_ABI;
  result.name = "test";
  result.weights_file = weightsFile;
  result.weights_checksum = checksum;
  return result;
}

std::string checksumOf(const std::string &path) {
  SafeTensors file;
  Status status = SafeTensors::open(path, &file);
  EXPECT_TRUE(status.isOk()) << status.message();
  return checksumText(file.headerChecksum().value_or(0));
}

// The plan must have no optimizer states: in this fixture, the moment would need weights too.
Status openAndCheck(const TempDir &dir, const std::string &replacement, const fb::Plan &plan, WeightStore *store) {
  std::string checksum = checksumOf(dir / "compiled.safetensors");
  CLEAVE_TRY(WeightStore::open(model("compiled.safetensors", checksum.c_str()), dir.path(), replacement, store));
  return store->check(plan);
}

TEST(WeightStore, EachRankGetsItsPart) {
  TempDir dir;
  writeWeights(dir, "compiled.safetensors", "b", {3, 5});
  PlanFixture fixture(1, 3, true);
  WeightStore store;
  Status status = openAndCheck(dir, "", fixture.plan(), &store);
  ASSERT_TRUE(status.isOk()) << status.message();
  for (unsigned rank = 0; rank < 3; ++rank) {
    std::vector<std::vector<std::byte>> storage;
    RankStates states = fixture.rankStates(rank, storage);
    ASSERT_TRUE(initializeStates(states, store).isOk());
    const StateView &view = states.states[0];
    const auto *elements = reinterpret_cast<const float *>(view.data);
    for (uint64_t i = 0; i < view.range.count; ++i) {
      uint64_t at = view.range.first + i;
      float expected = at < 15               ? PlanFixture::value("w", "", at)
                       : at >= 16 && at < 19 ? PlanFixture::value("b", "", at - 16)
                                             : 0;
      EXPECT_EQ(elements[i], expected) << at;
    }
  }
}

TEST(WeightStore, MissingExtraAndWrongAreToldTogether) {
  TempDir dir;
  writeWeights(dir, "compiled.safetensors", "b", {3, 5});
  std::string other = writeWeights(dir, "other.safetensors", "bias", {5, 3});
  PlanFixture fixture(1, 1, false);
  WeightStore store;
  std::string message = openAndCheck(dir, other, fixture.plan(), &store).message();
  EXPECT_NE(message.find("missing"), std::string::npos) << message;
  EXPECT_NE(message.find("'w' (expected f32[3, 5], got f32[5, 3])"), std::string::npos) << message;
  EXPECT_NE(message.find("not of this model (1): 'bias'"), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(WeightStore, NamesOfAWrappedModuleAreTold) {
  TempDir dir;
  writeWeights(dir, "compiled.safetensors", "b", {3, 5});
  std::string wrapped = writeWeights(dir, "wrapped.safetensors", "module.b", {3, 5});
  PlanFixture fixture(1, 1, false);
  WeightStore store;
  EXPECT_EQ(openAndCheck(dir, wrapped, fixture.plan(), &store).message(),
            "--weights: " + wrapped +
                " does not fit this model (fitting: 1 of 2 tensors): missing (1): 'b'; not of this model (1): "
                "'module.b'; names in the file begin with 'module.', those of the model do not: save the "
                "state_dict() of the inner module");
  Problems problems(/*isStateDict=*/true);
  problems.missing("'net.0.weight'");
  problems.missing("'net.0.bias'");
  problems.superfluous("'0.bias'");
  std::string text = problems.status("w", false).message();
  EXPECT_NE(text.find("w (fitting: 0 of 2 tensors): "), std::string::npos) << text;
  EXPECT_NE(text.find("; names of the model begin with 'net.', those in the file do not: save"), std::string::npos)
      << text;
  problems = Problems(/*isStateDict=*/true);
  problems.missing("'weight'");
  problems.superfluous("'aweight'");
  EXPECT_EQ(problems.status("w", false).message(),
            "w (fitting: 0 of 1 tensor): missing (1): 'weight'; not of this model (1): 'aweight'");
}

TEST(WeightStore, FloatsOfAnotherTypeAreConverted) {
  const float values[] = {1.0f, 1.00390625f, 1.01171875f, -3.0e38f, 65519.0f, 0x1p-25f, NAN};
  const size_t count = std::size(values);
  std::vector<double> doubles(values, values + count);
  auto convert = [&](ElementType from, const void *source, ElementType to) {
    std::vector<std::byte> target(count * elementSize(to));
    convertElements(from, static_cast<const std::byte *>(source), to, target.data(), count);
    return target;
  };
  for (ElementType to : {ElementType::bf16, ElementType::f16}) {
    auto narrow = convert(ElementType::f32, values, to);
    EXPECT_EQ(narrow, convert(ElementType::f64, doubles.data(), to)) << elementName(to);
    auto wide = convert(to, narrow.data(), ElementType::f32);
    for (size_t i = 0; i + 1 < count; ++i)
      EXPECT_EQ(loadElement(to, narrow.data() + 2 * i), loadElement(ElementType::f32, wide.data() + 4 * i)) << i;
  }
  // Ties go to even: 1 + 2^-8 down, 1 + 3 * 2^-8 up.
  auto brain = convert(ElementType::f32, values, ElementType::bf16);
  EXPECT_EQ(loadElement(ElementType::bf16, brain.data() + 2), 1.0);
  EXPECT_EQ(loadElement(ElementType::bf16, brain.data() + 4), 1.015625);
  EXPECT_TRUE(isConvertible(ElementType::f32, ElementType::bf16));
  EXPECT_FALSE(isConvertible(ElementType::f32, ElementType::i64));
}

// A finite number that becomes infinite is found, and an infinity of the file is none.
TEST(WeightStore, NumbersBeyondATypeAreFound) {
  struct Case {
    ElementType from, to;
    double most, beyond; // most: becomes the largest number of the type
  };
  const Case cases[] = {{ElementType::f64, ElementType::f32, 3.4028235e38, 1e39},
                        {ElementType::f64, ElementType::f16, 65519, 65520},
                        {ElementType::f32, ElementType::f16, 65519, 1e6},
                        {ElementType::bf16, ElementType::f16, 65280, 65536},
                        {ElementType::f32, ElementType::bf16, 3.3895e38, 3.4028235e38}};
  for (const Case &each : cases) {
    for (double sign : {1.0, -1.0}) {
      std::vector<double> numbers(40, sign * each.most);
      numbers[7] = sign * INFINITY, numbers[8] = NAN;
      auto find = [&] {
        std::vector<std::byte> source(numbers.size() * elementSize(each.from)),
            target(numbers.size() * elementSize(each.to));
        for (size_t i = 0; i < numbers.size(); ++i)
          storeElement(each.from, numbers[i], source.data() + i * elementSize(each.from));
        convertElements(each.from, source.data(), each.to, target.data(), numbers.size());
        return findOverflow(each.from, source.data(), each.to, target.data(), numbers.size());
      };
      EXPECT_EQ(find(), numbers.size()) << elementName(each.from) << elementName(each.to);
      numbers[33] = sign * each.beyond;
      EXPECT_EQ(find(), 33u) << elementName(each.from) << elementName(each.to);
    }
  }
}

TEST(WeightStore, WeightsThatAreNotFiniteAreNamed) {
  TempDir dir;
  writeWeights(dir, "compiled.safetensors", "b", {3, 5});
  PlanFixture fixture(1, 1, false);
  WeightStore store;
  ASSERT_TRUE(openAndCheck(dir, "", fixture.plan(), &store).isOk());
  EXPECT_EQ(store.findNonFinite(fixture.plan()), "");
  std::vector<float> w = values("w", 15), b = values("b", 3);
  w[14] = -INFINITY;
  auto found = [&] {
    Status written = writeSafeTensors(dir / "other.safetensors",
                                      {{"w", ElementType::f32, {3, 5}, (std::byte *)w.data(), 60, nullptr},
                                       {"b", ElementType::f32, {3}, (std::byte *)b.data(), 12, nullptr}});
    EXPECT_TRUE(written.isOk() && openAndCheck(dir, dir / "other.safetensors", fixture.plan(), &store).isOk());
    return store.findNonFinite(fixture.plan());
  };
  EXPECT_EQ(found(), "weight 'w' holds a value that is infinite");
  b[2] = NAN; // before an infinity, which may be a mask
  EXPECT_EQ(found(), "weight 'b' holds a value that is not a number");
}

// A plan of one state: matrix "a", whose other names are "b" and "c".
std::vector<uint8_t> planOfNames() {
  fb::PlanT plan;
  auto segment = std::make_unique<fb::SegmentT>();
  segment->name = "a";
  segment->aliases = {"b", "c"};
  segment->shape = {2, 3};
  segment->init = fb::InitKind::weights;
  auto state = std::make_unique<fb::StateT>();
  state->name = "a";
  state->role = fb::Role::parameter;
  state->dtype = fb::DType::f32;
  state->elements = 6;
  state->segments.push_back(std::move(segment));
  plan.states.push_back(std::move(state));
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Plan::Pack(builder, &plan), fb::PlanIdentifier());
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

// Any of a tensor's names is found. If a file has several of them, their values are equal.
TEST(WeightStore, NamesOfOneTensorHaveEqualValues) {
  TempDir dir;
  writeWeights(dir, "compiled.safetensors", "b", {3, 5});
  std::vector<uint8_t> bytes = planOfNames();
  const fb::Plan &plan = *fb::GetPlan(bytes.data());
  std::vector<float> value = {0, 1, 2, 3, NAN, 5}, transposed = {0, 3, 1, NAN, 2, 5}, other = {0, 1, 2, 3.5, NAN, 5};
  std::vector<double> wide(value.begin(), value.end());
  std::string path = dir / "given.safetensors";
  auto view = [](const char *name, auto &numbers, Shape shape, ElementType type = ElementType::f32) {
    return TensorView{name, type, shape, (std::byte *)numbers.data(), numbers.size() * sizeof numbers[0], nullptr};
  };
  auto refusal = [&](std::vector<TensorView> tensors) {
    EXPECT_TRUE(writeSafeTensors(path, tensors).isOk());
    WeightStore store;
    return openAndCheck(dir, path, plan, &store).message();
  };
  EXPECT_EQ(refusal({view("c", value, {2, 3})}), "");
  EXPECT_EQ(refusal({view("a", value, {2, 3}), view("c", value, {2, 3})}), "");
  EXPECT_EQ(refusal({view("b", transposed, {3, 2}), view("a", value, {2, 3})}), "");
  EXPECT_EQ(refusal({view("b", wide, {2, 3}, ElementType::f64), view("a", value, {2, 3})}), "");
  // 1 + 2^-9 is 1 as bf16 and itself as f16.
  std::vector<float> fine = {1 + 0x1p-9f, -2, 0, 3, 1, 1};
  std::vector<uint16_t> bf16 = {0x3f80, 0xc000, 0, 0x4040, 0x3f80, 0x3f80},
                        f16 = {0x3c02, 0xc000, 0, 0x4200, 0x3c00, 0x3c00};
  EXPECT_EQ(refusal({view("a", bf16, {2, 3}, ElementType::bf16), view("b", fine, {2, 3})}), "");
  for (const KindState &each : statesOf(plan)) { // the wider one is used
    WeightStore store;
    ASSERT_TRUE(openAndCheck(dir, path, plan, &store).isOk());
    EXPECT_EQ(store.find(*each.state, logicalSegments(*each.state)[0])->type, ElementType::f32);
  }
  EXPECT_EQ(refusal({view("a", fine, {2, 3}), view("b", f16, {2, 3}, ElementType::f16)}), "");
  EXPECT_NE(refusal({view("a", f16, {2, 3}, ElementType::f16), view("b", bf16, {2, 3}, ElementType::bf16)})
                .find("element 0 is 1.00195312 and 1;"),
            std::string::npos);
  bf16[1] = 0xc001;
  EXPECT_NE(refusal({view("a", bf16, {2, 3}, ElementType::bf16), view("b", fine, {2, 3})})
                .find("differ: element 1 is -2 and -2.015625;"),
            std::string::npos);
  EXPECT_EQ(refusal({view("a", value, {2, 3}), view("b", value, {2, 3}), view("c", other, {2, 3})})
                .rfind("--weights: " + path +
                           ": 'a' and 'c' are two names of one tensor of this model, and differ: "
                           "element 3 is 3 and 3.5; give a file in which they are equal",
                       0),
            0u);
  EXPECT_NE(refusal({view("b", other, {3, 2}), view("a", value, {2, 3})}).find("'a' and 'b'"), std::string::npos);
  EXPECT_NE(refusal({view("b", value, {6}), view("a", value, {2, 3})}).find("f32[2, 3] and f32[6]"), std::string::npos);
}

TEST(WeightStore, MissingFileIsNamed) {
  TempDir dir;
  WeightStore store;
  Status status = WeightStore::open(model("NAME.weights/model.safetensors", "00000000"), dir.path(), "", &store);
  EXPECT_FALSE(status.isOk());
  EXPECT_NE(status.message().find("NAME.weights/model.safetensors"), std::string::npos) << status.message();
}

// Next to the program, only the file that was written with it is read. Any other file is another model's, even if it
// fits.
TEST(WeightStore, TheFileBesideIsKnownByItsChecksum) {
  TempDir dir;
  std::string written = writeWeights(dir, "compiled.safetensors", "b", {3, 5}), sum = checksumOf(written);
  PlanFixture fixture(1, 1, false);
  auto open = [&](const char *checksum, const std::string &replacement) {
    WeightStore store;
    CLEAVE_TRY(WeightStore::open(model("compiled.safetensors", checksum), dir.path(), replacement, &store));
    return store.check(fixture.plan());
  };
  EXPECT_TRUE(open(sum.c_str(), "").isOk());
  for (const char *other : {"01234567", "", static_cast<const char *>(nullptr)}) {
    std::string message = open(other, "").message();
    EXPECT_NE(message.find("beside model 'test'"), std::string::npos) << message;
    EXPECT_NE(message.find(written), std::string::npos) << message;
    EXPECT_NE(message.find("found " + sum), std::string::npos) << message;
    EXPECT_TRUE(open(other, written).isOk()); // the same file is accepted if it is given by name
  }
  // If the given file lacks tensors, the file next to the program is needed. The message names both problems.
  std::string other = writeWeights(dir, "other.safetensors", "bias", {3, 5});
  std::string message = open("01234567", other).message();
  EXPECT_NE(message.find("missing (1): 'b'"), std::string::npos) << message;
  EXPECT_NE(message.find("expected the checksum 01234567"), std::string::npos) << message;
}

// A file of another program has no checksums. Its last byte counts, too.
TEST(WeightStore, ProcessesCompareAllBytes) {
  constexpr size_t kElements = 100000;
  test::PlanBuilder builder;
  fb::StateT &state = builder.state("w", fb::DType::f32, kElements,
                                    builder.region("persistent", fb::RegionKind::persistent, 4 * kElements));
  state.segments.push_back(std::make_unique<fb::SegmentT>());
  state.segments[0]->name = "w";
  state.segments[0]->shape = {kElements};
  state.segments[0]->init = fb::InitKind::weights;
  const fb::Plan &plan = builder.open();
  TempDir dir;
  auto identity = [&](float last) {
    std::vector<float> w(kElements, 1);
    w.back() = last;
    std::string header = R"({"w":{"dtype":"F32","shape":[100000],"data_offsets":[0,400000]}})";
    uint64_t length = header.size();
    std::ofstream file(dir / "w.safetensors", std::ios::binary);
    file.write(reinterpret_cast<const char *>(&length), sizeof length);
    file << header;
    file.write(reinterpret_cast<const char *>(w.data()), static_cast<std::streamsize>(4 * kElements));
    file.close();
    WeightStore store;
    Status status = WeightStore::open(model(nullptr, nullptr), dir.path(), dir / "w.safetensors", &store);
    EXPECT_TRUE(status.isOk()) << status.message();
    return store.identity(plan);
  };
  EXPECT_EQ(identity(1), identity(1));
  EXPECT_NE(identity(1), identity(2));
}

TEST(WeightStore, ACheckpointReplacesWeights) {
  TempDir dir;
  writeWeights(dir, "compiled.safetensors", "b", {3, 5});
  PlanFixture fixture(1, 2, true);
  CheckpointSave save(dir / "ckpt", 9);
  CheckpointIndex index;
  ASSERT_TRUE(makeCheckpointIndex(fixture.plan(), &index).isOk());
  ASSERT_TRUE(save.prepare().isOk());
  std::vector<std::vector<std::byte>> storage;
  for (unsigned rank = 0; rank < 2; ++rank) {
    RankStates states = fixture.rankStates(rank, storage);
    PlanFixture::forEachElement(states, [](float &element, float value) { element = -value; });
    ASSERT_TRUE(save.writeShard(fixture.plan(), rank, states).isOk());
  }
  ASSERT_TRUE(save.publish(index).isOk());
  ASSERT_TRUE(save.point("latest").isOk());
  WeightStore store;
  Status status = openAndCheck(dir, dir / "ckpt", fixture.plan(), &store);
  ASSERT_TRUE(status.isOk()) << status.message();
  PlanFixture whole(1, 1, false);
  std::vector<std::vector<std::byte>> target;
  RankStates states = whole.rankStates(0, target);
  ASSERT_TRUE(initializeStates(states, store).isOk());
  EXPECT_EQ(reinterpret_cast<float *>(states.states[0].data)[14], -PlanFixture::value("w", "", 14));
  EXPECT_EQ(reinterpret_cast<float *>(states.states[0].data)[16], -PlanFixture::value("b", "", 0));
}

} // namespace
