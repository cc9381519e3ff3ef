// Products that pack their right operand before each run. A row has the same bits with any number of rows in the
// product, so layouts that give a rank more or fewer rows compute the same.
#include "test/runtime/device/KernelHarness.h"

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>

using namespace cleave::rt;
using namespace cleave::rt::test;

namespace {

constexpr fb::DType kF32 = fb::DType::f32;

struct Product {
  int64_t m, n, k;
  bool transposeA, hasBias, transposeB = false;

  const char *name() const { return hasBias ? "matmul_bias" : "matmul"; }
  std::string text() const {
    return std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) + (transposeA ? " of a^T" : "") +
           (transposeB ? " by b^T" : "") + (hasBias ? " and a bias" : "");
  }
};

KernelParams paramsOf(const Product &p) {
  KernelParams params(*findKernelDef(p.name()));
  params.set("dtype", int64_t(kF32)).set("out_dtype", int64_t(kF32)).set("batch", 1).set("batch_a", 1);
  params.set("batch_b", 1).set("m", p.m).set("n", p.n).set("k", p.k).set("transpose_a", p.transposeA);
  params.set("transpose_b", p.transposeB);
  return params;
}

// Only the library's kernel for AVX-512 packs blocks. In the other one, the order of additions depends on the rows.
bool packsBlocks() {
  constexpr auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

size_t scratchOf(const Product &p, int threads) {
  std::vector<int64_t> list;
  size_t bytes = 0;
  EXPECT_TRUE(paramsOf(p).finish(&list).isOk());
  EXPECT_TRUE(hostScratchBytes(p.name(), list, threads, &bytes).isOk());
  return bytes;
}

// Computes `rows` rows of the product, beginning with `first`. Here a is [m, k], and b is [k, n] until they are stored.
Values run(Product p, const Values &a, int64_t first, int64_t rows, int threads) {
  Values part(static_cast<size_t>(rows * p.k)), right = noise(static_cast<size_t>(p.k * p.n), 2), b = right;
  for (int64_t k = 0; k < p.k; ++k)
    for (int64_t column = 0; column < p.n; ++column)
      b[static_cast<size_t>(p.transposeB ? column * p.k + k : k * p.n + column)] =
          right[static_cast<size_t>(k * p.n + column)];
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < p.k; ++k)
      part[static_cast<size_t>(p.transposeA ? k * rows + row : row * p.k + k)] =
          a[static_cast<size_t>((first + row) * p.k + k)];
  p.m = rows;
  std::vector<Operand> operands = {{kF32, part}, {kF32, b}};
  if (p.hasBias)
    operands.push_back({kF32, sine(static_cast<size_t>(p.n), 3)});
  operands.push_back({kF32, Values(static_cast<size_t>(rows * p.n), 7)});
  return runKernel(p.name(), paramsOf(p), operands, threads);
}

// Compares the whole product with pieces that have too few rows for packing a plain b.
void checkRows(const Product &p) {
  Product low = p;
  low.transposeB = false;
  Values a = noise(static_cast<size_t>(p.m * p.k), 1), pieces;
  for (int64_t first = 0; first < p.m; first += 200) {
    Values piece = run(low, a, first, std::min<int64_t>(200, p.m - first), 1);
    pieces.insert(pieces.end(), piece.begin(), piece.end());
  }
  for (int threads : {1, 2, 3})
    EXPECT_TRUE(run(p, a, 0, p.m, threads) == pieces) << p.text() << " on " << threads;
}

} // namespace

// Long sums are split into parts, each with its own blocks. The last part is shorter.
TEST(PackedProduct, ARowDoesNotDependOnTheOthers) {
  if (!packsBlocks())
    GTEST_SKIP() << "no AVX-512";
  for (bool transposeA : {false, true}) {
    checkRows({256, 1024, 48, transposeA, true});
    checkRows({331, 2048, 16, transposeA, false});
    checkRows({530, 64, 80, transposeA, true});
  }
  checkRows({512, 192, 1040, false, false});
  checkRows({300, 1024, 1200, false, true});
  checkRows({600, 64, 2000, true, false});
  // If the parts of a transposed b had to be copied, it is packed with any number of rows.
  for (int64_t m : {9, 16, 100, 300}) {
    checkRows({m, 128, 1040, false, m > 50, true});
    checkRows({m, 192, 1600, true, m > 50, true});
  }
}

// Blocks are made only if there are enough rows. Their memory is planned, and it is bounded.
TEST(PackedProduct, PacksFromSoManyRowsOn) {
  if (!packsBlocks())
    GTEST_SKIP() << "no AVX-512";
  auto blocks = [](const Product &p) { return static_cast<size_t>(p.n * p.k) * sizeof(float); };
  for (int threads : {1, 2}) {
    for (Product p :
         {Product{256, 3072, 768, false, false}, {512, 768, 768, false, true}, {50257, 768, 512, true, false}})
      EXPECT_GE(scratchOf(p, threads), blocks(p)) << p.text();
    for (Product p : {Product{255, 3072, 768, false, false},
                      {511, 768, 768, false, true},
                      {1024, 770, 768, false, false},
                      {1024, 768, 777, false, false},
                      {4096, 16384, 1024, false, false}})
      EXPECT_LT(scratchOf(p, threads), blocks(p) / 2) << p.text();
  }
  EXPECT_LT(scratchOf({4096, 4096, 14336, false, false}, 1), size_t{40} << 20) << "parts share the scratch";
  EXPECT_LT(scratchOf({64, 4096, 14336, false, false, true}, 1), size_t{10} << 20) << "parts share the scratch";
}
