// Tests ldmatrix and mma.sync separately, against the fragment tables of the PTX ISA, because in a product a
// permutation that both share would cancel out. Then tests products with cp.async, ldmatrix and mma.sync, and with
// wgmma and mbarriers.
#include "test/cuda/emulated/block/ReducedTypes.h"
#include "test/cuda/emulated/tests/DriverLibrary.h"
#include <cmath>
#include <functional>
#include <random>

namespace cleave::emulated::test {
namespace {

class MatrixTest : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    int major = 0;
    ASSERT_EQ(d.call("cuDeviceGetAttribute", &major, 75, 0), code::Success);
    if (major != 9)
      GTEST_SKIP() << "the kernels are compiled for sm_90a";
    module = std::make_unique<Module>(readText("matrix.ptx"));
  }
  void TearDown() override {
    clearFindings();
    setSeed(1);
    module.reset();
    DriverTest::TearDown();
  }
  std::unique_ptr<Module> module;
};

// A pair of elements of a 16 x 16 matrix whose elements count up.
uint32_t pairAt(int row0, int column0, int row1, int column1) {
  return uint32_t(row0 * 16 + column0) | uint32_t(row1 * 16 + column1) << 16;
}

TEST_F(MatrixTest, LoadMatrix) {
  Buffer<uint32_t> plain(128), transposed(128);
  ASSERT_EQ(launch(module->function("load_matrix"), {1, 32}, nullptr, plain.address, transposed.address),
            code::Success);
  ASSERT_EQ(synchronize(), code::Success) << firstFinding();
  std::vector<uint32_t> p = plain.get(), t = transposed.get();
  for (int lane = 0; lane < 32; lane++)
    for (int i = 0; i < 4; i++) {
      // Matrix i of the four. Lanes 8 i to 8 i + 7 give the addresses of its rows: row l % 16, column l / 16 * 8.
      int row = i % 2 * 8, column = i / 2 * 8, g = lane / 4, q = lane % 4;
      EXPECT_EQ(p[size_t(lane * 4 + i)], pairAt(row + g, column + 2 * q, row + g, column + 2 * q + 1))
          << lane << " " << i;
      EXPECT_EQ(t[size_t(lane * 4 + i)], pairAt(row + 2 * q, column + g, row + 2 * q + 1, column + g))
          << lane << " " << i;
    }
}

// The tables, written out for each register and element as in the PTX ISA.
struct Kind {
  int number, k, perRegister, registersA, registersB;
  std::function<float(float)> round;
  std::function<uint32_t(float)> bits;
};

Kind kindOf(int number) {
  auto bf16 = [](float v) { return uint32_t(floatToBf16(v)); };
  auto f16 = [](float v) { return uint32_t(floatToF16(v)); };
  auto tf32 = [](float v) { return bitsAs<uint32_t>(floatToTf32(v)); };
  auto roundBf16 = [](float v) { return bf16ToFloat(floatToBf16(v)); };
  switch (number) {
  case 0:
    return {0, 16, 2, 4, 2, roundBf16, bf16};
  case 1:
    return {1, 16, 2, 4, 2, [](float v) { return f16ToFloat(floatToF16(v)); }, f16};
  case 2:
    return {2, 8, 1, 4, 2, [](float v) { return floatToTf32(v); }, tf32};
  default:
    return {3, 8, 2, 2, 1, roundBf16, bf16};
  }
}

// Row and column of element `e` of register `r` of A.
void placeA(const Kind &kind, int lane, int r, int e, int &row, int &column) {
  int g = lane / 4, q = lane % 4;
  if (kind.number == 0 ||
      kind.number == 1) { // m16n8k16: a0,a1 (g, 2q) a2,a3 (g+8, 2q) a4,a5 (g, 2q+8) a6,a7 (g+8, 2q+8)
    static const int rows[] = {0, 8, 0, 8}, columns[] = {0, 0, 8, 8};
    row = g + rows[r];
    column = 2 * q + columns[r] + e;
  } else if (kind.number == 2) { // m16n8k8 tf32: a0 (g, q) a1 (g+8, q) a2 (g, q+4) a3 (g+8, q+4)
    static const int rows[] = {0, 8, 0, 8}, columns[] = {0, 0, 4, 4};
    row = g + rows[r];
    column = q + columns[r];
  } else { // m16n8k8: a0,a1 (g, 2q) a2,a3 (g+8, 2q)
    row = g + 8 * r;
    column = 2 * q + e;
  }
}

void placeB(const Kind &kind, int lane, int r, int e, int &row, int &column) {
  int g = lane / 4, q = lane % 4;
  column = g;
  if (kind.number == 2) // b0 (q, g) b1 (q+4, g)
    row = q + 4 * r;
  else // b0,b1 (2q, g) b2,b3 (2q+8, g)
    row = 2 * q + 8 * r + e;
}

TEST_F(MatrixTest, Multiply) {
  std::mt19937 generator(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int number = 0; number < 4; number++) {
    Kind kind = kindOf(number);
    float A[16][16], B[16][8], C[16][8];
    for (auto &row : A)
      for (float &v : row)
        v = kind.round(uniform(generator));
    for (auto &row : B)
      for (float &v : row)
        v = kind.round(uniform(generator));
    for (auto &row : C)
      for (float &v : row)
        v = uniform(generator);
    std::vector<uint32_t> a(128, 0), b(64, 0);
    std::vector<float> c(128);
    for (int lane = 0; lane < 32; lane++) {
      int row, column;
      for (int e = 0; e < kind.perRegister; e++) {
        for (int r = 0; r < kind.registersA; r++) {
          placeA(kind, lane, r, e, row, column);
          a[size_t(lane * 4 + r)] |= kind.bits(A[row][column]) << (16 * e);
        }
        for (int r = 0; r < kind.registersB; r++) {
          placeB(kind, lane, r, e, row, column);
          b[size_t(lane * 2 + r)] |= kind.bits(B[row][column]) << (16 * e);
        }
      }
      for (int i = 0; i < 4; i++)
        c[size_t(lane * 4 + i)] = C[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
    }
    Buffer<uint32_t> bufferA(a), bufferB(b);
    Buffer<float> bufferC(c), bufferD(128);
    ASSERT_EQ(launch(module->function("multiply"), {1, 32}, nullptr, bufferA.address, bufferB.address, bufferC.address,
                     bufferD.address, number),
              code::Success);
    ASSERT_EQ(synchronize(), code::Success) << firstFinding();
    std::vector<float> result = bufferD.get();
    for (int lane = 0; lane < 32; lane++)
      for (int i = 0; i < 4; i++) {
        int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        double expected = C[row][column];
        for (int l = 0; l < kind.k; l++)
          expected += double(A[row][l]) * B[l][column];
        EXPECT_NEAR(result[size_t(lane * 4 + i)], expected, 1e-5) << "kind " << number << " lane " << lane << " " << i;
      }
  }
}

struct Operands {
  std::vector<uint16_t> bits;
  std::vector<float> values;
  explicit Operands(size_t n, unsigned seed) : bits(n), values(n) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < n; i++) {
      bits[i] = floatToBf16(normal(generator));
      values[i] = bf16ToFloat(bits[i]);
    }
  }
};

void expectProduct(const Operands &a, const Operands &b, const std::vector<float> &c, size_t m, size_t n, size_t k,
                   size_t ld) {
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) {
      double expected = 0;
      for (size_t l = 0; l < k; l++)
        expected += double(a.values[i * k + l]) * b.values[j * k + l];
      ASSERT_NEAR(c[i * ld + j], expected, 1e-3) << i << " " << j;
    }
}

TEST_F(MatrixTest, ProductOfTiles) {
  const size_t m = 32, n = 16, k = 48;
  Operands a(m * k, 1), b(n * k, 2);
  Buffer<uint16_t> bufferA(a.bits), bufferB(b.bits);
  for (uint64_t seed = 1; seed <= 5; seed++) {
    Buffer<float> c(m * n);
    setSeed(seed);
    ASSERT_EQ(launch(module->function("product"), {unsigned(m / 16), 32, 0, unsigned(n / 8)}, nullptr, bufferA.address,
                     bufferB.address, c.address, int(n), int(k)),
              code::Success);
    ASSERT_EQ(synchronize(), code::Success) << firstFinding();
    expectProduct(a, b, c.get(), m, n, k, n);
  }
}

// Producer and consumer warp groups, which two mbarriers keep apart. If the producer does not wait, it is a race.
TEST_F(MatrixTest, WarpGroups) {
  const size_t m = 64, n = 16, k = 192;
  Operands a(m * k, 1), b(n * k, 2);
  Buffer<uint16_t> bufferA(a.bits), bufferB(b.bits);
  Buffer<float> c(m * 256);
  auto run = [&](int careful) {
    EXPECT_EQ(launch(module->function("group_product"), {1, 256}, nullptr, bufferA.address, bufferB.address, c.address,
                     int(k), careful),
              code::Success);
    return synchronize();
  };
  for (uint64_t seed = 1; seed <= 5; seed++) {
    setSeed(seed);
    ASSERT_EQ(run(1), code::Success) << firstFinding();
    std::vector<float> rows;
    for (size_t i = 0; i < m; i++) { // the kernel leaves the rest uninitialized, so it must not be read
      std::vector<float> row(n);
      ASSERT_EQ(d.call("cuMemcpyDtoH_v2", static_cast<void *>(row.data()), c.address + i * 1024, n * 4), code::Success);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    expectProduct(a, b, rows, m, n, k, n);
  }
  for (uint64_t seed = 1; seed <= 5 && d.isEmulated; seed++) {
    setSeed(seed);
    EXPECT_NE(run(0), code::Success) << "seed " << seed; // a race, or a phase that the consumer has missed
    clearFindings();
  }
}

// A in registers, and operands whose neighbouring lines are adjacent. Each layout follows the PTX ISA's tables, which
// transposedProduct writes out.
TEST_F(MatrixTest, TransposedWarpGroup) {
  const size_t m = 64, n = 128, k = 32;
  Operands a(m * k, 1), b(k * n, 2);
  Buffer<uint16_t> bufferA(a.bits), bufferB(b.bits);
  Buffer<float> c(m * n);
  auto differences = [&](int kind, int apart) {
    std::string name = "group_transposed_" + std::to_string(kind);
    EXPECT_EQ(launch(module->function(name.c_str()), {1, 128}, nullptr, bufferA.address, bufferB.address, c.address,
                     apart),
              code::Success);
    EXPECT_EQ(synchronize(), code::Success) << firstFinding();
    std::vector<float> result = c.get();
    size_t wrong = 0;
    for (size_t i = 0; i < m; i++)
      for (size_t j = 0; j < n; j++) {
        double expected = 0;
        for (size_t l = 0; l < k; l++)
          expected += double(a.values[i * k + l]) * b.values[l * n + j];
        wrong += !(std::abs(result[i * n + j] - expected) < 1e-3);
      }
    return wrong;
  };
  const int apart = 32 * 128;
  for (int kind = 0; kind < 3; kind++)
    EXPECT_EQ(differences(kind, apart), 0u) << "kind " << kind;
  // A wrong distance between the halves changes only the second half.
  EXPECT_GT(differences(0, 2048), m * n / 4);
  EXPECT_LE(differences(0, 2048), m * n / 2);
  if (!d.isEmulated)
    return;
  EXPECT_EQ(launch(module->function("group_transposed_0"), {1, 128}, nullptr, bufferA.address, bufferB.address,
                   c.address, 1 << 17),
            code::Success);
  EXPECT_NE(synchronize(), code::Success) << "a descriptor that leads out of shared memory";
  clearFindings();
}

} // namespace
} // namespace cleave::emulated::test
