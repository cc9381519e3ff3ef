// Code that the forward and the backward kernel share: reading tiles, masking scores, and scratch.
#ifndef CLEAVE_KERNELS_ATTENTION_HOST_TILES_H
#define CLEAVE_KERNELS_ATTENTION_HOST_TILES_H

#include "kernels/attention/host/Attention.h"
#include "kernels/attention/host/VectorMath.h"
#include "kernels/common/host/Types.h"

#include <limits>
#include <type_traits>

namespace cleave::rt {

constexpr int64_t kAttentionTile = AttentionShape::kTile;

// The size of a line, padded to whole vectors.
inline int64_t paddedSize(int64_t size) { return (size + 15) / 16 * 16; }

// Gives out parts of a thread's scratch. If `begin` is null, it only counts.
template <typename C> class ScratchParts {
public:
  explicit ScratchParts(C *begin) : begin_(begin) {}
  C *take(int64_t count) {
    C *part = begin_ ? begin_ + taken_ : nullptr;
    taken_ += paddedSize(count);
    return part;
  }
  int64_t taken() const { return taken_; }

private:
  C *begin_;
  int64_t taken_ = 0;
};

// to[i, r] = from[r, i] for `count` rows of `size`. The rest of the tile becomes zeros.
template <typename C, typename T>
CLEAVE_VECTOR_CODE void readTransposed(C *to, const T *from, int64_t count, int64_t size) {
  for (int64_t r = 0; r < kAttentionTile; ++r)
    for (int64_t i = 0; i < size; ++i)
      to[i * kAttentionTile + r] = r < count ? static_cast<C>(from[r * size + i]) : C(0);
}

// Copies rows to lines of `padded` elements, with zeros at their ends.
template <typename C, typename T>
CLEAVE_VECTOR_CODE void readRows(C *to, const T *from, int64_t count, int64_t size, int64_t padded) {
  for (int64_t r = 0; r < count; ++r)
    for (int64_t i = 0; i < padded; ++i)
      to[r * padded + i] = i < size ? static_cast<C>(from[r * size + i]) : C(0);
}

// Returns the elements in the type of the computation: the original ones, or a copy.
template <typename C, typename T> CLEAVE_VECTOR_CODE const C *readAll(C *copy, const T *from, int64_t count) {
  if constexpr (std::is_same_v<C, T>) {
    return from;
  } else {
    for (int64_t i = 0; i < count; ++i)
      copy[i] = static_cast<C>(from[i]);
    return copy;
  }
}

// The position of a tile in the scores of a head.
struct ScoreTile {
  int64_t row, rows, column, columns; // first row, their number; first column, their number
};

// Turns products into scores: scales and masks them. `mask` is the head's. Rows that do not exist (from tile.rows on)
// keep their zeros.
template <typename V>
CLEAVE_VECTOR_CODE void finishScores(typename V::Number *scores, const AttentionShape &s, const void *mask,
                                     const ScoreTile &tile) {
  using C = typename V::Number;
  const C scale = static_cast<C>(s.scale), fill = static_cast<C>(s.fill);
  for (int64_t c = 0; c < tile.columns; ++c) {
    C *line = scores + c * kAttentionTile;
    for (int64_t r = 0; r < kAttentionTile; r += V::kLanes)
      storeVector<V>(line + r, loadVector<V>(line + r) * scale);
    int64_t column = tile.column + c;
    if (s.isBooleanMask()) {
      auto *keep =
          static_cast<const unsigned char *>(mask) + tile.row * s.maskRowStride() + column * s.maskColumnStride();
      for (int64_t r = 0; r < tile.rows; ++r)
        if (!keep[r * s.maskRowStride()])
          line[r] = fill;
    } else if (s.hasMask) {
      auto *added = static_cast<const C *>(mask) + tile.row * s.maskRowStride() + column * s.maskColumnStride();
      for (int64_t r = 0; r < tile.rows; ++r)
        line[r] += added[r * s.maskRowStride()];
    }
    if (s.causal) // rows before the column do not see it
      for (int64_t r = 0; r < std::min(tile.rows, column - tile.row); ++r)
        line[r] = -std::numeric_limits<C>::infinity();
  }
}

// The gradient of a score that the mask replaces is zero.
template <typename C>
CLEAVE_VECTOR_CODE void dropReplaced(C *gradients, const AttentionShape &s, const void *mask, const ScoreTile &tile) {
  if (!s.isBooleanMask())
    return;
  for (int64_t c = 0; c < tile.columns; ++c) {
    auto *keep = static_cast<const unsigned char *>(mask) + tile.row * s.maskRowStride() +
                 (tile.column + c) * s.maskColumnStride();
    for (int64_t r = 0; r < tile.rows; ++r)
      if (!keep[r * s.maskRowStride()])
        gradients[c * kAttentionTile + r] = 0;
  }
}

} // namespace cleave::rt

#endif
