// wgmma: matrix multiplication by four warps. The operands have 16 bits, and are in shared memory, where descriptors
// name them. A may also be in registers.
//
// A descriptor (PTX ISA, "Matrix Descriptor Format") has the start address (bits 0-13), the leading byte offset (16-29)
// and the stride byte offset (32-45), in units of 16 bytes. Bits 62-63 are the swizzle (0 none, 1 of 128 bytes). A
// "line" is a row of A or a column of B.
//
// - "K-major": elements of a line follow each other. 8 lines are a core matrix (1024 bytes with the swizzle), and core
// matrices are `stride` apart. - "MN-major" (a transposed operand): elements of neighbouring lines follow each other. A
// core matrix has 8 lines (64 with the swizzle) of 8 k each. With the swizzle, `leading` is the distance to the next
// lines, and `stride` the one to the next k. Without it, the other way round.
//
// The operation is done when it is issued. So a missing fence or wait cannot show here, and has to be found in the PTX.
#include "test/cuda/emulated/block/Block.h"
#include "test/cuda/emulated/block/Intrinsics.h"
#include "test/cuda/emulated/block/ReducedTypes.h"
#include "test/cuda/emulated/driver/Codes.h"
#include <cstring>
#include <vector>

namespace cleave::emulated {
namespace {

struct GroupMultiply {
  uint32_t n;
  Element input;
  const uint32_t *left; // A in registers, or null
  uint64_t a, b;
  bool keep; // add to D
  bool transposedA, transposedB;
  float signA, signB;
  uint32_t *d;
};

// The byte offset of element k of a line in the arena.
uint64_t offsetOf(uint64_t descriptor, bool transposed, uint32_t line, uint32_t k) {
  uint64_t start = (descriptor & 0x3fff) << 4, leading = (descriptor >> 16 & 0x3fff) << 4;
  uint64_t stride = (descriptor >> 32 & 0x3fff) << 4;
  switch (descriptor >> 62) {
  case 0:
    return transposed ? start + line / 8 * stride + k / 8 * leading + k % 8 * 16 + line % 8 * 2
                      : start + line / 8 * stride + k / 8 * leading + line % 8 * 16 + k % 8 * 2;
  case 1: {
    uint64_t at = transposed ? start + line / 64 * leading + k / 8 * stride + k % 8 * 128 + line % 64 * 2
                             : start + line / 8 * stride + line % 8 * 128 + k * 2;
    return at ^ (at >> 7 & 7) << 4;
  }
  default:
    currentBlock().fail(code::NotSupported, "uses a wgmma descriptor of 32- or 64-byte swizzle, which is not emulated");
  }
}

float valueOf(Element type, uint32_t half) {
  return type == Element::BF16 ? bf16ToFloat(uint16_t(half)) : f16ToFloat(uint16_t(half));
}

std::vector<float> operand(uint64_t descriptor, bool transposed, Element type, uint32_t lines) {
  Block &b = currentBlock();
  std::vector<float> values(lines * 16);
  for (uint32_t r = 0; r < lines; r++)
    for (uint32_t k = 0; k < 16; k++) {
      uint64_t address = reinterpret_cast<uint64_t>(b.shared().base()) + offsetOf(descriptor, transposed, r, k);
      b.access(address, 2, Access::Read, 0);
      uint16_t half;
      memcpy(&half, reinterpret_cast<const void *>(address), 2);
      values[r * 16 + k] = valueOf(type, half);
    }
  return values;
}

// A from registers: warp w has rows 16 w to 16 w + 15, in its registers as in mma.m16n8k16 (MatrixIntrinsics.cpp).
std::vector<float> operandInRegisters(Thread *threads) {
  std::vector<float> values(64 * 16);
  for (uint32_t t = 0; t < 128; t++) {
    const auto &m = *static_cast<GroupMultiply *>(threads[t].argument);
    for (uint32_t r = 0; r < 4; r++)
      for (uint32_t e = 0; e < 2; e++) {
        uint32_t row = t / 32 * 16 + t % 32 / 4 + 8 * (r & 1), k = t % 4 * 2 + e + 8 * (r >> 1);
        values[row * 16 + k] = valueOf(m.input, m.left[r] >> (16 * e));
      }
  }
  return values;
}

// The fragments of D: warp w has rows 16 w to 16 w + 15. Register e of a lane is row g + 8 * (e / 2 % 2), column e / 4
// * 8 + 2 q + e % 2.
void multiplyTogether(Thread *threads) {
  const auto &first = *static_cast<GroupMultiply *>(threads[0].argument);
  std::vector<float> a = first.left ? operandInRegisters(threads)
                                    : operand(first.a, first.transposedA, first.input, 64);
  std::vector<float> b = operand(first.b, first.transposedB, first.input, first.n);
  for (uint32_t t = 0; t < 128; t++) {
    const auto &m = *static_cast<GroupMultiply *>(threads[t].argument);
    uint32_t g = t % 32 / 4, q = t % 4;
    for (uint32_t e = 0; e < m.n / 2; e++) {
      uint32_t row = t / 32 * 16 + g + (e >> 1 & 1) * 8, column = e / 4 * 8 + q * 2 + (e & 1);
      double sum = m.keep ? double(bitsAs<float>(m.d[e])) : 0;
      for (uint32_t k = 0; k < 16; k++)
        sum += double(m.signA * a[row * 16 + k]) * double(m.signB * b[column * 16 + k]);
      m.d[e] = bitsAs<uint32_t>(float(sum));
    }
  }
}

// transposes: bit 0 for A, bit 1 for B.
void groupMultiply(uint32_t *d, uint32_t n, uint32_t input, const uint32_t *left, uint64_t a, uint64_t b, uint32_t keep,
                   uint32_t scaleA, uint32_t scaleB, uint32_t transposes) {
  bool transposedA = transposes & 1, transposedB = transposes & 2;
  float signA = float(int32_t(scaleA)), signB = float(int32_t(scaleB));
  GroupMultiply mine{n, Element(input), left, a, b, keep != 0, transposedA, transposedB, signA, signB, d};
  currentBlock().meetWarpGroup("wgmma.mma_async", &mine, multiplyTogether);
}

void groupFence() {
  currentBlock().meetWarpGroup("wgmma.fence", nullptr, [](Thread *) {});
}
void groupWait() {
  currentBlock().meetWarpGroup("wgmma.wait_group", nullptr, [](Thread *) {});
}

} // namespace

void addWarpGroupIntrinsics(std::vector<Intrinsic> &list) {
  list.push_back({"emu_group_multiply", reinterpret_cast<void *>(&groupMultiply)});
  list.push_back({"emu_group_fence", reinterpret_cast<void *>(&groupFence)});
  list.push_back({"emu_group_wait", reinterpret_cast<void *>(&groupWait)});
}

} // namespace cleave::emulated
