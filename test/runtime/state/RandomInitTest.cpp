#include "runtime/state/RandomInit.h"

#include "runtime/base/Philox.h"
#include "runtime/state/ElementValue.h"
#include "runtime/state/WeightStore.h"
#include "test/runtime/state/PlanFixture.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace cleave::rt;
using cleave::test::PlanFixture;

namespace {

std::vector<std::byte> draw(const Draw &draw, uint64_t seed, uint64_t first, uint64_t count, ElementType type) {
  std::vector<std::byte> result(count * elementSize(type));
  drawElements(draw, seed, first, count, type, result.data());
  return result;
}

// A rank that stores a part draws that part of the whole tensor, wherever the part begins and ends.
TEST(RandomInit, PartsAreThoseOfTheWhole) {
  for (Draw::Kind kind : {Draw::Kind::Normal, Draw::Kind::Uniform})
    for (ElementType type : {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16}) {
      Draw how{kind, 0.5, 3, "w"};
      size_t width = elementSize(type);
      std::vector<std::byte> whole = draw(how, 7, 0, 9000, type);
      for (auto [first, count] : {std::pair(0, 1), {1, 2}, {3, 6}, {4095, 2}, {4096, 4096}, {4097, 4903}, {8999, 1}}) {
        std::vector<std::byte> part = draw(how, 7, first, count, type);
        EXPECT_EQ(std::memcmp(part.data(), whole.data() + first * width, count * width), 0) << first;
      }
    }
}

// Beyond 2^32 elements, and beyond 2^34, where the block counter needs a second word.
TEST(RandomInit, LargeIndicesHaveValuesOfTheirOwn) {
  Draw how{Draw::Kind::Normal, 0, 1, "w"};
  auto at = [&](uint64_t first) { return draw(how, 0, first, 64, ElementType::f32); };
  uint64_t places[] = {0, 1ull << 32, 1ull << 33, 1ull << 34, 1ull << 36};
  for (uint64_t a : places)
    for (uint64_t b : places)
      EXPECT_EQ(at(a) == at(b), a == b) << a << " " << b;
}

TEST(RandomInit, SeedAndNameDecide) {
  Draw w{Draw::Kind::Uniform, 0, 1, "w"}, v{Draw::Kind::Uniform, 0, 1, "v"};
  EXPECT_EQ(draw(w, 1, 0, 16, ElementType::f32), draw(w, 1, 0, 16, ElementType::f32));
  EXPECT_NE(draw(w, 1, 0, 16, ElementType::f32), draw(w, 2, 0, 16, ElementType::f32));
  EXPECT_NE(draw(w, 1, 0, 16, ElementType::f32), draw(w, 1ull << 32, 0, 16, ElementType::f32));
  EXPECT_NE(draw(w, 1, 0, 16, ElementType::f32), draw(v, 1, 0, 16, ElementType::f32));
}

// Our own arithmetic compared with that of the C library.
TEST(RandomInit, NormalValuesAreThoseOfBoxAndMuller) {
  auto check = [](uint32_t a, uint32_t b) {
    double radius = std::sqrt(-2.0 * std::log((a + 0.5) * 0x1p-32)), angle = 2 * M_PI * ((b + 0.5) * 0x1p-32);
    auto [x, y] = philoxNormal(a, b);
    EXPECT_NEAR(x, radius * std::cos(angle), 4e-15 * radius) << a << " " << b;
    EXPECT_NEAR(y, radius * std::sin(angle), 4e-15 * radius) << a << " " << b;
  };
  uint32_t ends[] = {0, 1, 0x3fffffff, 0x40000000, 0x7fffffff, 0x80000000, 0xb504f333, 0xbfffffff, 0xc0000000, ~0u};
  for (uint32_t a : ends)
    for (uint32_t b : ends)
      check(a, b);
  for (uint32_t i = 0; i < 2000; ++i)
    check(philox4x32({1, 2}, {i, 0, 0, 0})[0], philox4x32({1, 2}, {i, 0, 0, 0})[1]);
}

TEST(RandomInit, TextsGiveTheSameNumbersBack) {
  for (double value : {0.0, -0.5, 1.0 / 3, 1e-300, -1.7976931348623157e308})
    for (Draw::Kind kind : {Draw::Kind::Normal, Draw::Kind::Uniform}) {
      Draw draw{kind, value, 0.1, "a name, (with): signs"};
      auto read = parseDraw(draw.text());
      ASSERT_TRUE(read) << draw.text();
      EXPECT_TRUE(read->kind == kind && read->value == value && read->scale == 0.1 && read->name == draw.name);
    }
  EXPECT_EQ((Draw{Draw::Kind::Normal, 0, 0.02, "w"}.text()), "normal(0, 0.02):w");
  for (const char *text : {"", "w", "normal", "normal(", "normal(0, 1)", "normal(0,1):w", "normal(0, nan):w",
                           "uniform(inf, 1):w", "normal(x, 1):w", "Normal(0, 1):w", "normal(0, 1, 2):w"})
    EXPECT_FALSE(parseDraw(text)) << text;
}

// Ranks share a bucket. Each one draws its part, and no file is read.
TEST(RandomInit, EachRankOfABucketDrawsItsPart) {
  PlanFixture fixture(1, 3, true);
  fb::PlanT plan;
  fixture.plan().UnPackTo(&plan);
  for (auto &state : plan.states)
    for (auto &segment : state->segments)
      segment->source = Draw{Draw::Kind::Normal, 0, 1, segment->name}.text();
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Plan::Pack(builder, &plan));
  const fb::Plan &drawn = *flatbuffers::GetRoot<fb::Plan>(builder.GetBufferPointer());
  EXPECT_TRUE(drawsStates(drawn));
  EXPECT_FALSE(drawsStates(fixture.plan()));
  cleave_model model{};
  model.abi = CLEAVE_MODEL_ABI;
  WeightStore store;
  ASSERT_TRUE(WeightStore::open(model, "", "", &store).isOk());
  ASSERT_TRUE(store.check(drawn).isOk());
  auto expected = [](const char *name, uint64_t at) {
    float value = 0;
    drawElements({Draw::Kind::Normal, 0, 1, name}, 5, at, 1, ElementType::f32, reinterpret_cast<std::byte *>(&value));
    return value;
  };
  for (unsigned rank = 0; rank < 3; ++rank) {
    std::vector<std::vector<std::byte>> storage;
    RankStates states = fixture.rankStates(rank, storage);
    StateView &view = states.states[0];
    view.state = drawn.states()->Get(0);
    states.states.resize(1);
    Status status = initializeStates(states, store, 5);
    ASSERT_TRUE(status.isOk()) << status.message();
    for (uint64_t i = 0; i < view.range.count; ++i) {
      uint64_t at = view.range.first + i;
      float wanted = at < 15 ? expected("w", at) : at >= 16 && at < 19 ? expected("b", at - 16) : 0;
      EXPECT_EQ(reinterpret_cast<float *>(view.data)[i], wanted) << at;
    }
  }
}

} // namespace
