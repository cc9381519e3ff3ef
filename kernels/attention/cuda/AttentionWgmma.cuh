// Attention of f16 and bf16 by wgmma: the forward kernel of AttentionMma.cuh for sm_90a, without dropout. A block has
// two warp groups of 64 lines (rows of the scores); a warp of a group has 16 of them, as there. Keys and values are
// tiles in shared memory, loaded one tile ahead:
//
//   S = Q K^T   both read along their lines
//   O += P V    P is what S left in registers; V is read across its lines
//
// A block takes 48 KiB, which no launch has to ask for. Queries of up to 64 elements are in shared memory, those of up
// to 128 in registers.
#pragma once

#include "kernels/attention/cuda/Wgmma.cuh"

#include <type_traits>

namespace cleave::rt {

template <typename T, int Size> struct AttentionWgmma {
  static constexpr int kTile = Size == 64 ? 64 : 48, kGroup = 64; // columns of a tile, lines of a warp group
  static constexpr bool kSharedQueries = Size == 64;
  using Scores = Wgmma<T, kTile>;
  using Result = Wgmma<T, Size>;
  using Queries = SwizzledTile<T, kMmaLines, Size>;

  struct Tiles {
    SwizzledTile<T, kTile, Size> keys[2], values[2]; // at hand, and under way
  };
  struct Both {
    Tiles tiles;
    Queries queries;
  };
  union Either { // queries are on their way to registers
    Tiles tiles;
    Queries queries;
  };
  std::conditional_t<kSharedQueries, Both, Either> memory;

  // Everything that this thread asked for is here, and then what all threads asked for.
  static __device__ void waitForAll() {
    waitForTiles();
    showToProducts();
    __syncthreads();
  }

  // Left operands of a warp's 16 lines.
  __device__ void readQueries(unsigned (&lines)[Size / 16][4]) {
    const int own = threadIdx.x / 32 * 16, lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 0; step < Size / 16; ++step) {
      const T *place = memory.queries.at(own + lane % 16, step * 16 + lane / 16 * 8);
      auto at = static_cast<unsigned>(__cvta_generic_to_shared(place));
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(lines[step][0]), "=r"(lines[step][1]), "=r"(lines[step][2]), "=r"(lines[step][3])
                   : "r"(at)
                   : "memory");
    }
  }

  __device__ void multiplyAcross(float (&scores)[kTile / 8][4], unsigned (&queries)[Size / 16][4], int place) {
    Scores::open(scores);
#pragma unroll
    for (int step = 0; step < Size / 16; ++step) {
      const auto keys = memory.tiles.keys[place].lines(0, step * 16);
      if constexpr (kSharedQueries) {
        const auto own = memory.queries.lines(threadIdx.x / 128 * kGroup, step * 16);
        step == 0 ? Scores::template across<false>(scores, own, keys)
                  : Scores::template across<true>(scores, own, keys);
      } else {
        step == 0 ? Scores::template across<false>(scores, queries[step], keys)
                  : Scores::template across<true>(scores, queries[step], keys);
      }
    }
    closeGroup();
  }

  __device__ void multiplyAlong(float (&result)[Size / 8][4], unsigned (&powers)[kTile / 16][4], int place) {
    Result::open(result);
#pragma unroll
    for (int step = 0; step < kTile / 16; ++step)
      Result::along(result, powers[step], memory.tiles.values[place].columns(step * 16));
    closeGroup();
  }

  // Lines [first, first + 128) of a head.
  __device__ void run(const CudaCall &call, const AttentionCall &a, Int item, int first) {
    const int line = first + threadIdx.x / 32 * 16, group = first + threadIdx.x / 128 * kGroup;
    auto ask = [&](int begin, int place) {
      loadTile<kTile, Size>(memory.tiles.keys[place], buffer<T>(call, 1) + item * a.columns * a.depth, begin, a.columns,
                            a.depth);
      loadTile<kTile, Size>(memory.tiles.values[place], buffer<T>(call, 2) + item * a.columns * a.width, begin,
                            a.columns, a.width);
    };
    __syncthreads();
    loadTile<kMmaLines, Size>(memory.queries, buffer<T>(call, 0) + item * a.rows * a.depth, first, a.rows, a.depth);
    unsigned queries[Size / 16][4];
    if constexpr (!kSharedQueries) {
      waitForTiles();
      __syncthreads();
      readQueries(queries);
      __syncthreads();
    }
    ask(0, 0);
    float result[Size / 8][4] = {}, maximum[2] = {-INFINITY, -INFINITY}, sum[2] = {};
    const int end = a.causal && first + kMmaLines < a.columns ? first + kMmaLines : a.columns;
#pragma unroll 1
    for (int begin = 0, place = 0; begin < end; begin += kTile, place ^= 1) {
      waitForAll(); // and all are done with the other tiles
      if (begin + kTile < end)
        ask(begin + kTile, place ^ 1);
      if (group >= a.rows || (a.causal && begin >= group + kGroup)) // of the whole group
        continue;
      float scores[kTile / 8][4];
      multiplyAcross(scores, queries, place);
      Scores::template wait<0>(scores);
      maskScores<kTile>(a, scores, line, begin);
      float factors[2];
      powersOfScores<kTile>(scores, maximum, sum, factors);
#pragma unroll
      for (int n = 0; n < Size / 8; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          result[n][e] *= factors[e / 2];
      unsigned powers[kTile / 16][4];
#pragma unroll
      for (int k = 0; k < kTile / 16; ++k)
#pragma unroll
        for (int r = 0; r < 4; ++r)
          powers[k][r] = Mma<T>::pack(scores[2 * k + r / 2][r % 2 * 2], scores[2 * k + r / 2][r % 2 * 2 + 1]);
      holdOperands(powers);
      multiplyAlong(result, powers, place);
      Result::template wait<0>(result);
    }
    storeLines<T, Size>(buffer<T>(call, a.after) + item * a.rows * a.width, result, line, a.rows, a.width, 1 / sum[0],
                        1 / sum[1]);
    storeStatistics(call, a, item * a.rows, line, maximum, sum);
  }
};

template <typename T, int Size> __device__ void attentionWgmma(const CudaCall &call) {
  needsWgmma();
  __shared__ AttentionWgmma<T, Size> tiles;
  AttentionCall a(call, /*drops=*/false);
  const int blocks = (a.rows + kMmaLines - 1) / kMmaLines;
#pragma unroll 1
  for (Int work = blockIdx.x; work < a.items * blocks; work += gridDim.x) {
    const Int item = work / blocks;
    a.setItem(item);
    tiles.run(call, a, item, int(work % blocks) * kMmaLines);
  }
}

} // namespace cleave::rt
