// wgmma: matrix multiplication by four warps, with operands in shared memory named by descriptors.
//
// A descriptor (PTX ISA, "Matrix Descriptor Format") holds, in units of 16 bytes: the start address (bits 0-13), the
// leading (16-29) and the stride (32-45) byte offset; bits 62-63 are the swizzle (0 none, 1 of 128 bytes). Here K-major
// operands of 16 bits are modelled: rows of 8 lie in one core matrix, `stride` apart.
// The operation is done when it is issued: a missing fence or wait cannot show, and has to be found in the PTX.
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
  uint64_t a, b;
  bool keep; // add to D
  float signA, signB;
  uint32_t *d;
};

// The byte offset of element (row, k) in the arena.
uint64_t offsetOf(uint64_t descriptor, uint32_t row, uint32_t k) {
  uint64_t start = (descriptor & 0x3fff) << 4, leading = (descriptor >> 16 & 0x3fff) << 4;
  uint64_t stride = (descriptor >> 32 & 0x3fff) << 4;
  switch (descriptor >> 62) {
  case 0:
    return start + row / 8 * stride + k / 8 * leading + row % 8 * 16 + k % 8 * 2;
  case 1: {
    uint64_t at = start + row / 8 * stride + row % 8 * 128 + k * 2;
    return at ^ (at >> 7 & 7) << 4;
  }
  default:
    currentBlock().fail(code::NotSupported, "uses a wgmma descriptor of 32- or 64-byte swizzle, which is not emulated");
  }
}

std::vector<float> operand(uint64_t descriptor, Element type, uint32_t rows) {
  Block &b = currentBlock();
  std::vector<float> values(rows * 16);
  for (uint32_t r = 0; r < rows; r++)
    for (uint32_t k = 0; k < 16; k++) {
      uint64_t address = reinterpret_cast<uint64_t>(b.shared().base()) + offsetOf(descriptor, r, k);
      b.access(address, 2, Access::Read, 0);
      uint16_t half;
      memcpy(&half, reinterpret_cast<const void *>(address), 2);
      values[r * 16 + k] = type == Element::BF16 ? bf16ToFloat(half) : f16ToFloat(half);
    }
  return values;
}

// D fragment: warp w has rows 16 w to 16 w + 15; register e of a lane is row g + 8 * (e / 2 % 2), column
// e / 4 * 8 + 2 q + e % 2.
void multiplyTogether(Thread *threads) {
  const auto &first = *static_cast<GroupMultiply *>(threads[0].argument);
  std::vector<float> a = operand(first.a, first.input, 64), b = operand(first.b, first.input, first.n);
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

void groupMultiply(uint32_t *d, uint32_t n, uint32_t input, uint64_t a, uint64_t b, uint32_t keep, uint32_t scaleA,
                   uint32_t scaleB) {
  GroupMultiply mine{n, Element(input), a, b, keep != 0, float(int32_t(scaleA)), float(int32_t(scaleB)), d};
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
