// ldmatrix, stmatrix and mma.sync, by the fragment tables of the PTX ISA ("Matrix Fragments for mma.m16n8k16" and the
// tables of the other shapes). All m16n8 shapes share one rule. With g = lane / 4, q = lane % 4, and p elements in a
// 32-bit register:
//
//     A (16 x K), register r, element e: row g + 8 * (r & 1), column q * p + e + 4 * p * (r >> 1)
//     B (K x 8),  register r, element e: row q * p + e + 4 * p * r, column g
//     C, D (16 x 8) of 32 bits, r = 0..3: row g + 8 * (r >> 1), column 2 * q + (r & 1)
//
// NVIDIA does not document the order and the width in which a device adds the products. Here the sum is computed in
// double and rounded once. This is within the bounds that the tests allow, and does not depend on the seed.
#include "test/cuda/emulated/block/Block.h"
#include "test/cuda/emulated/block/Intrinsics.h"
#include "test/cuda/emulated/block/ReducedTypes.h"
#include "test/cuda/emulated/driver/Codes.h"
#include <cstring>

namespace cleave::emulated {
namespace {

struct Rows {
  uint64_t address; // of one row of 8 elements of 16 bits
  uint32_t count;   // matrices: 1, 2, 4
  bool transposed;
  uint32_t registers[4];
};

// The position in a matrix of the element in half `half` of a lane's register, by the fragment layout. Matrix `m` is in
// register `m`.
void place(bool transposed, uint32_t lane, uint32_t half, uint32_t &row, uint32_t &column) {
  row = transposed ? lane % 4 * 2 + half : lane / 4;
  column = transposed ? lane / 4 : lane % 4 * 2 + half;
}

void loadTogether(Thread *lanes, uint32_t) {
  const auto &first = *static_cast<Rows *>(lanes[0].argument);
  for (uint32_t m = 0; m < first.count; m++)
    for (uint32_t lane = 0; lane < 32; lane++) {
      uint16_t halves[2];
      for (uint32_t h = 0; h < 2; h++) {
        uint32_t row, column;
        place(first.transposed, lane, h, row, column);
        uint64_t address = static_cast<Rows *>(lanes[m * 8 + row].argument)->address;
        memcpy(&halves[h], reinterpret_cast<const void *>(address + 2 * column), 2);
      }
      memcpy(&static_cast<Rows *>(lanes[lane].argument)->registers[m], halves, 4);
    }
}

void storeTogether(Thread *lanes, uint32_t) {
  const auto &first = *static_cast<Rows *>(lanes[0].argument);
  for (uint32_t m = 0; m < first.count; m++)
    for (uint32_t lane = 0; lane < 32; lane++) {
      uint16_t halves[2];
      memcpy(halves, &static_cast<Rows *>(lanes[lane].argument)->registers[m], 4);
      for (uint32_t h = 0; h < 2; h++) {
        uint32_t row, column;
        place(first.transposed, lane, h, row, column);
        uint64_t address = static_cast<Rows *>(lanes[m * 8 + row].argument)->address;
        memcpy(reinterpret_cast<void *>(address + 2 * column), &halves[h], 2);
      }
    }
}

// Lane i has the address of row i % 8 of matrix i / 8. The addresses of lanes above the count are not used.
void checkRow(uint64_t address, uint32_t count, Access kind, uint32_t line) {
  Block &b = currentBlock();
  if (b.self().lane >= count * 8)
    return;
  if (address % 16)
    b.fail(code::MisalignedAddress, "gives a row of a matrix that is not aligned to 16 bytes");
  if (!b.shared().contains(address))
    b.fail(code::IllegalAddress, "gives a row of a matrix that is not in shared memory");
  b.access(address, 16, kind, line);
}

void loadMatrix(uint32_t *out, uint64_t address, uint32_t count, uint32_t transposed, uint32_t line) {
  checkRow(address, count, Access::Read, line);
  Rows mine{address, count, transposed != 0, {}};
  currentBlock().meet("ldmatrix", ~0u, &mine, loadTogether);
  memcpy(out, mine.registers, 4 * count);
}

void storeMatrix(const uint32_t *in, uint64_t address, uint32_t count, uint32_t transposed, uint32_t line) {
  checkRow(address, count, Access::Write, line);
  Rows mine{address, count, transposed != 0, {}};
  memcpy(mine.registers, in, 4 * count);
  currentBlock().meet("stmatrix", ~0u, &mine, storeTogether);
}

uint32_t perRegister(Element e) {
  switch (e) {
  case Element::F16:
  case Element::BF16:
    return 2;
  case Element::S8:
  case Element::U8:
    return 4;
  default:
    return 1;
  }
}

double valueOf(Element type, uint32_t reg, uint32_t e) {
  switch (type) {
  case Element::F16:
    return f16ToFloat(uint16_t(reg >> (16 * e)));
  case Element::BF16:
    return bf16ToFloat(uint16_t(reg >> (16 * e)));
  case Element::TF32:
    return bitsAs<float>(reg & ~0x1fffu); // the device reads only the upper 19 bits
  case Element::S8:
    return int8_t(reg >> (8 * e));
  case Element::U8:
    return uint8_t(reg >> (8 * e));
  case Element::S32:
    return int32_t(reg);
  default:
    return bitsAs<float>(reg);
  }
}

struct Multiply {
  uint32_t k;
  Element input, accumulator;
  const uint32_t *a, *b, *c;
  uint32_t *d;
};

struct Tiles {
  double a[16][32], b[32][8], c[16][8];
};

void gather(Thread *lanes, Tiles &t) {
  for (uint32_t lane = 0; lane < 32; lane++) {
    const auto &m = *static_cast<Multiply *>(lanes[lane].argument);
    uint32_t g = lane / 4, q = lane % 4, p = perRegister(m.input), half = m.k / (4 * p); // half: registers of B
    for (uint32_t r = 0; r < 2 * half; r++)
      for (uint32_t e = 0; e < p; e++)
        t.a[g + 8 * (r & 1)][q * p + e + 4 * p * (r >> 1)] = valueOf(m.input, m.a[r], e);
    for (uint32_t r = 0; r < half; r++)
      for (uint32_t e = 0; e < p; e++)
        t.b[q * p + e + 4 * p * r][g] = valueOf(m.input, m.b[r], e);
    for (uint32_t i = 0; i < 4; i++)
      t.c[g + 8 * (i >> 1)][2 * q + (i & 1)] =
          m.accumulator == Element::F16 ? valueOf(Element::F16, m.c[i >> 1], i & 1) : valueOf(m.accumulator, m.c[i], 0);
  }
}

void scatter(Thread *lanes, const Tiles &t) {
  for (uint32_t lane = 0; lane < 32; lane++) {
    const auto &m = *static_cast<Multiply *>(lanes[lane].argument);
    uint32_t g = lane / 4, q = lane % 4;
    uint16_t halves[4];
    for (uint32_t i = 0; i < 4; i++) {
      double value = t.c[g + 8 * (i >> 1)][2 * q + (i & 1)];
      if (m.accumulator == Element::S32)
        m.d[i] = uint32_t(int64_t(value));
      else if (m.accumulator == Element::F16)
        halves[i] = doubleToF16(value);
      else
        m.d[i] = bitsAs<uint32_t>(float(value));
    }
    if (m.accumulator == Element::F16)
      memcpy(m.d, halves, 8);
  }
}

void multiplyTogether(Thread *lanes, uint32_t) {
  Tiles t;
  gather(lanes, t);
  uint32_t k = static_cast<Multiply *>(lanes[0].argument)->k;
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 8; j++)
      for (uint32_t l = 0; l < k; l++)
        t.c[i][j] += t.a[i][l] * t.b[l][j];
  scatter(lanes, t);
}

// `in` has the registers of A, then those of B, then those of C.
void multiply(uint32_t *out, const uint32_t *in, uint32_t k, uint32_t input, uint32_t accumulator) {
  Multiply mine{k, Element(input), Element(accumulator), nullptr, nullptr, nullptr, out};
  uint32_t half = k / (4 * perRegister(mine.input));
  mine.a = in;
  mine.b = in + 2 * half;
  mine.c = in + 3 * half;
  currentBlock().meet("mma.sync", ~0u, &mine, multiplyTogether);
}

} // namespace

void addMatrixIntrinsics(std::vector<Intrinsic> &list) {
  list.push_back({"emu_load_matrix", reinterpret_cast<void *>(&loadMatrix)});
  list.push_back({"emu_store_matrix", reinterpret_cast<void *>(&storeMatrix)});
  list.push_back({"emu_multiply", reinterpret_cast<void *>(&multiply)});
}

} // namespace cleave::emulated
