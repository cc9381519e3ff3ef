// Compares with oneDNN's own reorders, bit by bit. All elements are different.
#include "kernels/common/host/CopyingReorder.h"

#include "kernels/common/host/Dnnl.h"

#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace cleave::rt {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Values = std::vector<float>;

memory::desc matrix(int64_t rows, int64_t columns, int64_t stride) {
  return {{rows, columns}, memory::data_type::f32, memory::dims{stride, 1}};
}

memory::desc describe(const memory::dims &dims, Tag tag) { return {dims, memory::data_type::f32, tag}; }

// The bytes between rows of `to` must not change.
void check(const memory::desc &from, const memory::desc &to, const std::string &what) {
  auto reorder = CopyingReorder::make(from, to);
  ASSERT_TRUE(reorder.has_value()) << what;
  Values source(from.get_size() / sizeof(float)), target(to.get_size() / sizeof(float) + 64, -1);
  std::iota(source.begin(), source.end(), 1.0f);
  Values expected = target;
  memory a(from, DnnlBuilder::engine(), source.data()), b(to, DnnlBuilder::engine(), expected.data());
  dnnl::stream stream(DnnlBuilder::engine());
  dnnl::reorder(a, b).execute(stream, a, b);
  stream.wait();
  reorder->run(source.data(), target.data());
  EXPECT_EQ(target, expected) << what;
}

TEST(CopyingReorder, CopiesSomeColumns) {
  std::mt19937 random(1);
  auto pick = [&](int64_t from, int64_t to) {
    return from + static_cast<int64_t>(random() % static_cast<uint64_t>(to - from + 1));
  };
  for (int i = 0; i < 30; ++i) {
    int64_t rows = pick(1, 90), columns = pick(64, 500), wide = columns + pick(0, 300), other = columns + pick(0, 300);
    std::string what = std::to_string(rows) + " x " + std::to_string(columns) + " of " + std::to_string(wide);
    check(matrix(rows, columns, wide), matrix(rows, columns, columns), what);
    check(matrix(rows, columns, wide), matrix(rows, columns, other), what + " to " + std::to_string(other));
  }
}

// Several threads copy large matrices.
TEST(CopyingReorder, MakesBlocksOfRows) {
  for (int64_t k : {16, 48, 384, 1008})
    for (int64_t n : {64, 192, 1024}) {
      std::string what = std::to_string(k) + " x " + std::to_string(n);
      check(describe({k, n}, Tag::ab), describe({k, n}, Tag::BA16a64b), what);
      check(describe({k, n}, Tag::BA16a64b), describe({k, n}, Tag::ab), what + " back");
      check(matrix(k, n, n + 128), describe({k, n}, Tag::BA16a64b), what + " of wider rows");
    }
  check(describe({3, 4, 5, 64}, Tag::abcd), describe({3, 4, 5, 64}, Tag::acbd), "heads and tokens change places");
  check(describe({2, 64, 5, 80}, Tag::abcd), describe({2, 64, 5, 80}, Tag::abcd), "a copy");
}

TEST(CopyingReorder, LeavesTheRestToDnnl) {
  // Cases: short runs, transposition, padding, and another type.
  EXPECT_FALSE(CopyingReorder::make(matrix(9, 63, 70), matrix(9, 63, 63)));
  EXPECT_FALSE(CopyingReorder::make(describe({64, 64}, Tag::ab), describe({64, 64}, Tag::ba)));
  EXPECT_FALSE(CopyingReorder::make(describe({64, 100}, Tag::ab), describe({64, 100}, Tag::BA16a64b)));
  EXPECT_FALSE(CopyingReorder::make(describe({65, 64}, Tag::ab), describe({65, 64}, Tag::BA16a64b)));
  memory::desc wide({9, 80}, memory::data_type::bf16, memory::dims{90, 1});
  memory::desc dense({9, 80}, memory::data_type::bf16, Tag::ab);
  EXPECT_FALSE(CopyingReorder::make(wide, dense));
}

} // namespace
} // namespace cleave::rt
