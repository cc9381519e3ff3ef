// Which probabilities of a tile dropout keeps. The Philox numbers are those of the unfused graph, and are drawn again
// wherever a tile is computed.
//
// The number of row r and column c is word `index mod 4` of the counter `index / 4`, with index = first + r * columns +
// c. A tile's rows are next to each other in vectors, so a lane is a row. Its counters begin at `index / 4` of the
// tile's first column, and column c is the word c + (index mod 4) from there on.
//
//   columns 6, row 1: index 6 is word 2 of counter 1
//     words    w0 w1 w2 w3 | w0 w1 w2 w3     of counters 1 and 2
//     column         0  1    2  3  4  5
#ifndef CLEAVE_KERNELS_ATTENTION_HOST_DROPOUT_H
#define CLEAVE_KERNELS_ATTENTION_HOST_DROPOUT_H

#include "kernels/attention/host/Tiles.h"

#if defined(__x86_64__) && !defined(__clang__)
#include <immintrin.h>
#endif

namespace cleave::rt {

// The dropout of a head: the key, the upper half of the counter, and the index of its first element.
struct HeadDropout {
  uint64_t seed = 0, stream = 0, first = 0;

  // `buffers` must begin with those of dropout.
  static HeadDropout of(void *const *buffers, int64_t item) {
    auto number = [&](int buffer, int64_t at) { return static_cast<const uint64_t *>(buffers[buffer])[at]; };
    return {number(0, 0), number(1, 0), number(2, item)};
  }
};

// The lines of a tile's factors, and a few more for the words that the factors are made from.
constexpr int64_t kDropoutLines = kAttentionTile + 4;

// Vectors of 64-bit lanes with a 32-bit word each. `Part` holds as many words, each as wide as a number of the kernel.
template <int Bytes, typename Element> struct WordVectors {
  typedef uint64_t Words __attribute__((vector_size(Bytes)));
  typedef int Halves __attribute__((vector_size(Bytes)));
  typedef long long Wide __attribute__((vector_size(Bytes)));
  typedef Element Part __attribute__((vector_size(Bytes / 8 * sizeof(Element))));
};

template <typename V> struct PhiloxLanes {
  static constexpr int kBytes = static_cast<int>(sizeof(typename V::Vector));
  static constexpr int64_t kLanes = kBytes / 8;
  using Vectors = WordVectors<kBytes, std::conditional_t<sizeof(typename V::Number) == 4, uint32_t, uint64_t>>;
  using Words = typename Vectors::Words;

  // The 64-bit product of words. It is one instruction, which GCC does not find by itself.
  static CLEAVE_VECTOR_CODE Words product(Words word, uint64_t number) {
    Words numbers = Words{} + number;
#if defined(__x86_64__) && !defined(__clang__)
    using Halves = typename Vectors::Halves;
    if constexpr (kBytes == 64)
      return (Words)__builtin_ia32_pmuludq512_mask((Halves)word, (Halves)numbers, typename Vectors::Wide{}, 0xff);
    else if constexpr (kBytes == 32)
      return (Words)__builtin_ia32_pmuludq256((Halves)word, (Halves)numbers);
    else
      return (Words)__builtin_ia32_pmuludq128((Halves)word, (Halves)numbers);
#else
    return word * numbers;
#endif
  }

  // Philox 4x32-10 (runtime/base/Philox.h) of the counters (group, stream).
  static CLEAVE_VECTOR_CODE void philox(Words group, const HeadDropout &d, Words (&words)[4]) {
    constexpr uint64_t low = 0xffffffff;
    uint64_t key0 = d.seed & low, key1 = d.seed >> 32;
    Words none = {}, c0 = group & low, c1 = group >> 32, c2 = none + (d.stream & low), c3 = none + (d.stream >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      Words first = product(c0, 0xD2511F53), second = product(c2, 0xCD9E8D57);
      c0 = (second >> 32) ^ c1 ^ key0, c1 = second & low;
      c2 = (first >> 32) ^ c3 ^ key1, c3 = first & low;
      key0 = (key0 + 0x9E3779B9) & low, key1 = (key1 + 0xBB67AE85) & low;
    }
    words[0] = c0, words[1] = c1, words[2] = c2, words[3] = c3;
  }
};

// Draws the counters of the rows' columns: line 4 k + j gets word j of the k-th counter of each row.
template <typename V>
CLEAVE_VECTOR_CODE void drawWords(typename V::Number *to, const uint64_t *indices, const HeadDropout &d,
                                  int64_t lines) {
  using P = PhiloxLanes<V>;
  using Part = typename P::Vectors::Part;
  for (int64_t r = 0; r < kAttentionTile; r += P::kLanes) {
    typename P::Words index;
    std::memcpy(&index, indices + r, sizeof index);
    for (int64_t line = 0; line < lines; line += 4) {
      typename P::Words words[4];
      P::philox((index >> 2) + static_cast<uint64_t>(line / 4), d, words);
      for (int j = 0; j < 4; ++j) {
        Part part = __builtin_convertvector(words[j], Part);
        std::memcpy(to + (line + j) * kAttentionTile + r, &part, sizeof part);
      }
    }
  }
}

// factors[c, r] = 1 / (1 - rate) if the probability of column c and row r is kept, else 0. `factors` has kDropoutLines
// lines, which first hold the words. Line c is made from the lines c to c + 3, which no earlier line has overwritten.
template <typename V>
CLEAVE_VECTOR_CODE void keepOfTile(typename V::Number *factors, const AttentionShape &s, const HeadDropout &d,
                                   const ScoreTile &tile) {
  using Integers = typename V::Integers;
  using Vector = typename V::Vector;
  uint64_t indices[kAttentionTile];
  for (int64_t r = 0; r < kAttentionTile; ++r)
    indices[r] = d.first + static_cast<uint64_t>((tile.row + r) * s.columns + tile.column);
  drawWords<V>(factors, indices, d, (tile.columns + 3 + 3) / 4 * 4);
  const auto threshold = static_cast<typename V::Integer>(s.dropThreshold);
  const Vector none = {}, kept = none + static_cast<typename V::Number>(1 / (1 - s.rate));
  for (int64_t r = 0; r < kAttentionTile; r += V::kLanes) {
    Integers shift;
    for (int64_t i = 0; i < V::kLanes; ++i)
      shift[i] = static_cast<typename V::Integer>(indices[r + i] % 4);
    auto wordsOf = [&](int64_t line) {
      Integers words;
      std::memcpy(&words, factors + line * kAttentionTile + r, sizeof words);
      return words;
    };
    for (int64_t c = 0; c < tile.columns; ++c) {
      Integers word = shift == 0   ? wordsOf(c)
                      : shift == 1 ? wordsOf(c + 1)
                      : shift == 2 ? wordsOf(c + 2)
                                   : wordsOf(c + 3);
      Integers fraction = (word >> 8) & 0xffffff;
      storeVector<V>(factors + c * kAttentionTile + r, fraction >= threshold ? kept : none);
    }
  }
}

} // namespace cleave::rt

#endif
