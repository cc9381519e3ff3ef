// Compares with oneDNN's own reorders, bit by bit. All elements are different.
#include "kernels/common/host/TransposingReorder.h"

#include "kernels/common/host/Dnnl.h"
#include "kernels/common/host/HostKernel.h"
#include "kernels/common/host/Vectors.h"

#include <gtest/gtest.h>
#include <numeric>

namespace cleave::rt {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

memory::desc describe(const memory::dims &dims, Tag tag) { return {dims, memory::data_type::f32, tag}; }

std::vector<float> reorderByDnnl(const memory::desc &from, const memory::desc &to, std::vector<float> &source) {
  std::vector<float> target(to.get_size() / sizeof(float), -1);
  memory a(from, DnnlBuilder::engine(), source.data()), b(to, DnnlBuilder::engine(), target.data());
  dnnl::stream stream(DnnlBuilder::engine());
  dnnl::reorder(a, b).execute(stream, a, b);
  stream.wait();
  return target;
}

struct Layouts {
  memory::dims dims;
  Tag a, b;
};

void PrintTo(const Layouts &layouts, std::ostream *out) {
  for (int64_t size : layouts.dims)
    *out << size << ' ';
  *out << static_cast<int>(layouts.a) << ' ' << static_cast<int>(layouts.b);
}

class TransposingReorderTest : public testing::TestWithParam<Layouts> {
protected:
  static void check(const memory::desc &from, const memory::desc &to) {
    auto reorder = TransposingReorder::make(from, to);
    if (vectorLevel() != VectorLevel::Avx512) {
      EXPECT_FALSE(reorder.has_value());
      return;
    }
    ASSERT_TRUE(reorder.has_value());
    std::vector<float> source(from.get_size() / sizeof(float));
    std::iota(source.begin(), source.end(), 1.0f);
    std::vector<float> target(source.size() + 64, -1); // the bytes after the end must not change
    reorder->run(source.data(), target.data());
    std::vector<float> expected = reorderByDnnl(from, to, source);
    expected.resize(target.size(), -1);
    EXPECT_EQ(target, expected);
  }
};

TEST_P(TransposingReorderTest, SameAsDnnl) {
  memory::desc a = describe(GetParam().dims, GetParam().a), b = describe(GetParam().dims, GetParam().b);
  check(a, b);
  check(b, a);
}

INSTANTIATE_TEST_SUITE_P(
    Images, TransposingReorderTest,
    testing::Values(Layouts{{1, 64, 24, 24}, Tag::nchw, Tag::nhwc}, Layouts{{2, 3, 7, 5}, Tag::nchw, Tag::nhwc},
                    Layouts{{3, 33, 1, 19}, Tag::nchw, Tag::nhwc}, Layouts{{1, 40, 64, 64}, Tag::nchw, Tag::nhwc},
                    Layouts{{2, 32, 26, 26}, Tag::nchw, Tag::nChw16c}, Layouts{{1, 48, 2, 2}, Tag::nchw, Tag::nChw8c},
                    Layouts{{2, 32, 5, 6, 7}, Tag::ncdhw, Tag::nCdhw16c}, Layouts{{2, 17, 5}, Tag::ncw, Tag::nwc}));

INSTANTIATE_TEST_SUITE_P(Weights, TransposingReorderTest,
                         testing::Values(Layouts{{64, 32, 3, 3}, Tag::oihw, Tag::OIhw16i16o},
                                         Layouts{{32, 48, 3, 3}, Tag::oihw, Tag::OIhw16o16i},
                                         Layouts{{64, 3, 7, 7}, Tag::oihw, Tag::Oihw16o},
                                         Layouts{{64, 32, 3, 3}, Tag::oihw, Tag::Ohwi32o},
                                         Layouts{{32, 64, 1, 1}, Tag::oihw, Tag::OIhw16i16o},
                                         Layouts{{2, 32, 16, 3, 3}, Tag::goihw, Tag::gOIhw16i16o},
                                         Layouts{{48, 20}, Tag::ab, Tag::ba}));

TEST(TransposingReorder, LeavesTheRestToDnnl) {
  // Cases: a copy, padding, and another type.
  memory::dims dims = {2, 32, 5, 5}, odd = {2, 30, 5, 5};
  EXPECT_FALSE(TransposingReorder::make(describe(dims, Tag::nchw), describe(dims, Tag::nchw)));
  EXPECT_FALSE(TransposingReorder::make(describe(odd, Tag::nchw), describe(odd, Tag::nChw16c)));
  memory::desc half(dims, memory::data_type::bf16, Tag::nchw), other(dims, memory::data_type::bf16, Tag::nhwc);
  EXPECT_FALSE(TransposingReorder::make(half, other));
}

// A plan for host:avx2 has the scratch that oneDNN's reorder needs, on any machine.
TEST(TransposingReorder, KeepsToTheInstructionsOfTheTarget) {
  GTEST_FLAG_SET(death_test_style, "threadsafe"); // a new process, because oneDNN's setting cannot be changed
  auto isMadeForAvx2 = [] {
    keepToInstructions("host:avx2");
    memory::dims dims = {1, 64, 24, 24};
    return TransposingReorder::make(describe(dims, Tag::nchw), describe(dims, Tag::nhwc)).has_value();
  };
  EXPECT_EXIT(std::exit(isMadeForAvx2() ? 1 : 0), testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace cleave::rt
