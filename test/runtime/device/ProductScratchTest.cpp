// Tests that the scratch of a product depends only on its parameters: a run must need exactly what the compiler plans,
// whatever kernels either of them has made before. This is not obvious, because the library caches primitives, and
// treats the descriptors of a row and of its transpose as equal.
#include "test/runtime/device/KernelHarness.h"

#include <oneapi/dnnl/dnnl.hpp>

using namespace cleave::rt;
using namespace cleave::rt::test;

namespace {

constexpr int64_t kSizes[] = {1, 11, 16, 1600};

struct Product {
  int64_t batch, batchB, m, n, k, transposeA, transposeB;
};

size_t scratchOf(const Product &p, int threads) {
  KernelParams params(*findKernelDef("matmul"));
  params.set("dtype", int64_t(fb::DType::f32)).set("out_dtype", int64_t(fb::DType::f32));
  params.set("batch", p.batch).set("batch_a", p.batch).set("batch_b", p.batchB);
  params.set("m", p.m).set("n", p.n).set("k", p.k).set("transpose_a", p.transposeA).set("transpose_b", p.transposeB);
  std::vector<int64_t> list;
  size_t bytes = 0;
  EXPECT_TRUE(params.finish(&list).isOk());
  EXPECT_TRUE(hostScratchBytes("matmul", list, threads, &bytes).isOk());
  return bytes;
}

void forgetPrimitives() {
  int capacity = dnnl::get_primitive_cache_capacity();
  dnnl::set_primitive_cache_capacity(0);
  dnnl::set_primitive_cache_capacity(capacity);
}

// Makes all products of one size, each after each of the others.
void checkAfterEachOther(Product p, int threads) {
  for (int first = 0; first < 4; ++first)
    for (int second = 0; second < 4; ++second) {
      Product before = p, after = p;
      before.transposeA = first / 2, before.transposeB = first % 2;
      after.transposeA = second / 2, after.transposeB = second % 2;
      forgetPrimitives();
      size_t alone = scratchOf(after, threads);
      forgetPrimitives();
      scratchOf(before, threads);
      EXPECT_EQ(scratchOf(after, threads), alone)
          << p.batch << " x " << p.m << " x " << p.n << " x " << p.k << " on " << threads << " threads, transposed "
          << after.transposeA << after.transposeB << " after " << before.transposeA << before.transposeB;
    }
}

TEST(ProductScratch, DoesNotDependOnWhatWasMadeBefore) {
  for (int64_t m : kSizes)
    for (int64_t n : kSizes)
      for (int64_t k : kSizes)
        for (auto [batch, batchB] : {std::pair<int64_t, int64_t>{1, 1}, {3, 3}, {3, 1}})
          for (int threads : {1, 2})
            if (m * n * k < 100000 && (m == 1 || n == 1 || k == 1))
              checkAfterEachOther({batch, batchB, m, n, k, 0, 0}, threads);
}

} // namespace
