#include "runtime/state/RandomInit.h"

#include "runtime/base/Hash.h"
#include "runtime/base/Philox.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/RankKinds.h"
#include "runtime/state/FloatConversion.h"

#include <algorithm>

namespace cleave::rt {
namespace {

uint32_t low(uint64_t word) { return static_cast<uint32_t>(word); }
uint32_t high(uint64_t word) { return static_cast<uint32_t>(word >> 32); }

// Computes the four values of a block.
void drawBlock(const Draw &draw, uint64_t seed, uint64_t tensor, uint64_t block, double *values) {
  Philox4 words = philox4x32({low(seed), high(seed)}, {low(block), high(block), low(tensor), high(tensor)});
  for (unsigned i = 0; i < 4; i += 2) {
    std::array<double, 2> pair = {philoxUniform(words[i]), philoxUniform(words[i + 1])};
    if (draw.kind == Draw::Kind::Normal)
      pair = philoxNormal(words[i], words[i + 1]);
    values[i] = draw.value + draw.scale * pair[0];
    values[i + 1] = draw.value + draw.scale * pair[1];
  }
}

} // namespace

void drawElements(const Draw &draw, uint64_t seed, uint64_t first, uint64_t count, ElementType type,
                  std::byte *target) {
  constexpr uint64_t kPiece = 4096; // elements; a multiple of the four of a block
  uint64_t tensor = fnv1a(draw.name), end = first + count, width = elementSize(type);
  uint64_t pieces = count == 0 ? 0 : (end - 1) / kPiece - first / kPiece + 1;
#pragma omp parallel for schedule(static)
  for (uint64_t piece = 0; piece < pieces; ++piece) {
    double values[kPiece];
    uint64_t base = (first / kPiece + piece) * kPiece, from = std::max(base, first), to = std::min(base + kPiece, end);
    for (uint64_t block = from / 4; block * 4 < to; ++block)
      drawBlock(draw, seed, tensor, block, values + (block * 4 - base));
    convertElements(ElementType::f64, reinterpret_cast<const std::byte *>(values + (from - base)), type,
                    target + (from - first) * width, to - from);
  }
}

bool drawsStates(const fb::Plan &plan) {
  for (const KindState &each : statesOf(plan))
    for (size_t i = 0; i < lengthOf(each.state->segments()); ++i)
      if (drawOf(*each.state->segments()->Get(i)))
        return true;
  return false;
}

} // namespace cleave::rt
