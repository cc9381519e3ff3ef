#include "kernels/common/host/TransposingReorder.h"

#include "kernels/common/host/Types.h"
#include "kernels/common/host/Vectors.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cleave::rt {

namespace {

constexpr int64_t kLanes = 16;
constexpr int64_t kLongRun = 256; // longer runs gain nothing, and their offsets need memory

#if defined(__x86_64__)

#define CLEAVE_AVX512 __attribute__((target("avx512f")))

// Transposes in this order, in Intel's terms for 32-bit lanes: pairs, quarters, 128-bit parts, halves.
CLEAVE_AVX512 inline void transpose(__m512 (&r)[kLanes]) {
  __m512 t[kLanes];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4)
    for (int j = 0; j < 2; ++j) {
      __m512d low = _mm512_castps_pd(t[i + j]), high = _mm512_castps_pd(t[i + j + 2]);
      r[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, high));
      r[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, high));
    }
  for (int i = 0; i < 16; i += 8)
    for (int j = 0; j < 4; ++j) {
      t[i + j] = _mm512_shuffle_f32x4(r[i + j], r[i + j + 4], 0x88);
      t[i + j + 4] = _mm512_shuffle_f32x4(r[i + j], r[i + j + 4], 0xdd);
    }
  for (int j = 0; j < 8; ++j) {
    r[j] = _mm512_shuffle_f32x4(t[j], t[j + 8], 0x88);
    r[j + 8] = _mm512_shuffle_f32x4(t[j], t[j + 8], 0xdd);
  }
}

CLEAVE_AVX512 void transposeWhole(const float *from, const int64_t *rows, float *to, const int64_t *columns) {
  __m512 block[kLanes];
  for (int64_t i = 0; i < kLanes; ++i)
    block[i] = _mm512_loadu_ps(from + rows[i]);
  transpose(block);
  for (int64_t j = 0; j < kLanes; ++j)
    _mm512_storeu_ps(to + columns[j], block[j]);
}

// Transposes `height` rows and `width` columns, at most kLanes each.
CLEAVE_AVX512 void transposePart(const float *from, const int64_t *rows, int64_t height, float *to,
                                 const int64_t *columns, int64_t width) {
  auto isColumn = static_cast<__mmask16>((1u << width) - 1), isRow = static_cast<__mmask16>((1u << height) - 1);
  __m512 block[kLanes];
  for (int64_t i = 0; i < kLanes; ++i)
    block[i] = i < height ? _mm512_maskz_loadu_ps(isColumn, from + rows[i]) : _mm512_setzero_ps();
  transpose(block);
  for (int64_t j = 0; j < kLanes; ++j) // a constant count keeps the block in registers
    if (j < width)
      _mm512_mask_storeu_ps(to + columns[j], isRow, block[j]);
}

void transposeBlock(const float *from, const int64_t *rows, int64_t height, float *to, const int64_t *columns,
                    int64_t width) {
  if (height == kLanes && width == kLanes)
    transposeWhole(from, rows, to, columns);
  else
    transposePart(from, rows, height, to, columns, width);
}

// The plan's scratch depends on the answer: the library's reorders may need some, and ours need none.
bool hasVectors() { return vectorLevel() == VectorLevel::Avx512; }

#else

void transposeBlock(const float *, const int64_t *, int64_t, float *, const int64_t *, int64_t) {}
bool hasVectors() { return false; }

#endif

} // namespace

// Splits a long axis into two, if one of them can consist of whole blocks.
void TransposingReorder::addAxis(ReorderAxis axis, std::vector<ReorderAxis> &axes) {
  int64_t part = axis.size > kLongRun ? kLongRun : 0;
  while (part > 0 && axis.size % part != 0)
    part -= kLanes;
  if (part > 0) {
    axes.push_back({part, axis.from, axis.to});
    axis = {axis.size / part, axis.from * part, axis.to * part};
  }
  axes.push_back(axis);
}

// Removes the axes of a contiguous run that begins with axis `first`, and returns the run's offsets on the other side.
TransposingReorder::Offsets TransposingReorder::takeRun(std::vector<ReorderAxis> &axes, size_t first,
                                                        int64_t ReorderAxis::*contiguous, int64_t ReorderAxis::*other) {
  Offsets run = {0};
  for (size_t next = first; next < axes.size();) {
    ReorderAxis axis = axes[next];
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(next));
    Offsets longer;
    for (int64_t i = 0; i < axis.size; ++i)
      for (int64_t offset : run)
        longer.push_back(offset + i * (axis.*other));
    run = std::move(longer);
    auto length = static_cast<int64_t>(run.size());
    for (next = 0; next < axes.size(); ++next)
      if (axes[next].*contiguous == length && length * axes[next].size <= kLongRun)
        break;
  }
  return run;
}

std::optional<TransposingReorder> TransposingReorder::make(const dnnl::memory::desc &from,
                                                           const dnnl::memory::desc &to) {
  if (!hasVectors())
    return std::nullopt;
  std::vector<ReorderAxis> axes;
  for (const ReorderAxis &axis : reorderAxes(from, to))
    addAxis(axis, axes);
  auto withUnit = [&](int64_t ReorderAxis::*stride) {
    return std::find_if(axes.begin(), axes.end(), [&](const ReorderAxis &axis) { return axis.*stride == 1; }) -
           axes.begin();
  };
  auto row = static_cast<size_t>(withUnit(&ReorderAxis::to)),
       column = static_cast<size_t>(withUnit(&ReorderAxis::from));
  if (row == column || row >= axes.size() || column >= axes.size())
    return std::nullopt;
  TransposingReorder result;
  ReorderAxis rowAxis = axes[row]; // must not become part of a column
  axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(row));
  result.columns_ = takeRun(axes, column - (column > row), &ReorderAxis::from, &ReorderAxis::to);
  axes.push_back(rowAxis);
  result.rows_ = takeRun(axes, axes.size() - 1, &ReorderAxis::to, &ReorderAxis::from);
  result.loops_ = std::move(axes);
  return result;
}

void TransposingReorder::run(const float *from, float *to) const {
  auto height = static_cast<int64_t>(rows_.size()), width = static_cast<int64_t>(columns_.size());
  int64_t across = (width + kLanes - 1) / kLanes, outer = 1;
  for (const ReorderAxis &axis : loops_)
    outer *= axis.size;
#pragma omp parallel for if (outer * height * width * 4 > static_cast <int64_t>(kParallelBytes))
  for (int64_t task = 0; task < outer * across; ++task) {
    int64_t rest = task / across, column = task % across * kLanes, source = 0, target = 0;
    for (const ReorderAxis &axis : loops_) {
      source += rest % axis.size * axis.from;
      target += rest % axis.size * axis.to;
      rest /= axis.size;
    }
    for (int64_t row = 0; row < height; row += kLanes)
      transposeBlock(from + source + column, &rows_[static_cast<size_t>(row)], std::min(kLanes, height - row),
                     to + target + row, &columns_[static_cast<size_t>(column)], std::min(kLanes, width - column));
  }
}

} // namespace cleave::rt
