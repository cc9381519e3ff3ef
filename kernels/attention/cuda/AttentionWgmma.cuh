// Attention for f16 and bf16 by wgmma: the forward kernel of AttentionMma.cuh for sm_90a, without dropout. A block has
// two warp groups of 64 lines each (rows of the scores), and each warp has 16 of them, as in AttentionMma.cuh. Keys and
// values are tiles in shared memory, which are loaded one or two tiles ahead:
//
//   S = Q K^T   both operands are read along their lines
//   O += P V    P is in the registers where S was computed; V is read across its lines
//
// A block uses 48 KiB of shared memory, which needs no special launch. Whole heads (of Size elements, aligned, without
// a mask) have separate code, in which offsets are constants.
#pragma once

#include "kernels/attention/cuda/TileCopies.cuh"

#include <climits>

namespace cleave::rt {

constexpr int kCachedBytes = 24 << 20; // bytes of keys and values that are read at a time: less than the L2 cache
constexpr float kLog2e = 1.44269504f;

__device__ inline float powerOfTwo(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}
__device__ inline float inverseOf(float x) {
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
  return inverse;
}

// This thread's number. The barrier for the compiler keeps values that depend on it out of registers before this call.
__device__ inline int threadHere() {
  int thread = threadIdx.x;
  asm volatile("" : "+r"(thread));
  return thread;
}

template <typename T, int Size, bool IsWhole> struct AttentionWgmma {
  static constexpr int kTile = Size == 64 ? 64 : 48, kGroup = 64; // columns of a tile; lines of a warp group
  static constexpr bool kIsAhead = Size == 128;                    // the next scores are computed while O += P V runs
  static constexpr bool kQueriesInRegisters = Size == 128 || IsWhole;
  static constexpr int kPlaces = Size == 64 && IsWhole ? 3 : 2;
  static constexpr unsigned kTileBytes = kTile * Size * 2, kBytes = 48 << 10;
  // Keys come first, then values. Queries come last; if they are moved to registers, later tiles use their memory.
  static constexpr unsigned kValues = kPlaces * kTileBytes, kQueries = kBytes - kMmaLines * Size * 2;
  // The largest score may grow by this much before earlier sums are scaled. (With 5, powers would stay below e^5.)
  static constexpr float kSlack = 0;
  using Scores = Wgmma<T, kTile>;
  using Result = Wgmma<T, Size>;
  static_assert(kValues + kPlaces * kTileBytes + (kQueriesInRegisters ? 0 : kMmaLines * Size * 2) <= kBytes);

  const CudaCall &call;
  const AttentionCall &a;
  const unsigned memory;
  const bool isAligned;
  TileCopies<T, Size, IsWhole> keys, values;
  int line; // the first line of the warp
  float result[Size / 8][4], maximum[2], sum[2], base[2], factors[2]; // powers are of scores minus `base`
  unsigned powers[kTile / 16][4], queries[kQueriesInRegisters ? Size / 16 : 1][4];

  __device__ unsigned keysAt(int place) const { return memory + place * kTileBytes; }
  __device__ unsigned valuesAt(int place) const { return memory + kValues + place * kTileBytes; }
  __device__ void askForKeys(int begin, int place) {
    keys.template next<kTile>(keysAt(place), a.columns - begin, a.depth, isAligned);
  }
  __device__ void askForValues(int begin, int place) {
    values.template next<kTile>(valuesAt(place), a.columns - begin, a.width, isAligned);
  }

  // Reads the left operands of a warp's 16 lines.
  __device__ void readQueries() {
    const int thread = threadHere(), row = thread / 32 * 16 + thread % 16, second = thread % 32 / 16;
#pragma unroll
    for (int step = 0; step < Size / 16; ++step) {
      const int chunk = step * 2 + second;
      const unsigned part = memory + kQueries + chunk / 8 * (kMmaLines * 128);
      const unsigned at = part + row * 128 + ((chunk % 8) ^ (row % 8)) * 16;
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(queries[step][0]), "=r"(queries[step][1]), "=r"(queries[step][2]), "=r"(queries[step][3])
                   : "r"(at)
                   : "memory");
    }
  }

  __device__ void multiplyAcross(float (&scores)[kTile / 8][4], int place) {
    using Keys = SwizzledPlace<kTile>;
#pragma unroll
    for (int step = 0; step < Size / 16; ++step) {
      const auto other = Keys::lines(keysAt(place), step * 16);
      if constexpr (kQueriesInRegisters) {
        step == 0 ? Scores::template across<false>(scores, queries[step], other)
                  : Scores::template across<true>(scores, queries[step], other);
      } else {
        const unsigned group = memory + kQueries + threadIdx.x / 128 * (kGroup * 128);
        const auto own = SwizzledPlace<kMmaLines>::lines(group, step * 16);
        step == 0 ? Scores::template across<false>(scores, own, other)
                  : Scores::template across<true>(scores, own, other);
      }
    }
    closeGroup();
  }

  __device__ void multiplyAlong(int place) {
#pragma unroll
    for (int step = 0; step < kTile / 16; ++step)
      Result::along(result, powers[step], SwizzledPlace<kTile>::columns(valuesAt(place), step * 16));
    closeGroup();
  }

  // Turns products into scores: masks them, and sets -inf where there is no score. For whole heads, they are not yet
  // scaled.
  __device__ void maskProducts(float (&scores)[kTile / 8][4], int begin) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    if (!IsWhole && a.maskKind != AttentionCall::kNone) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int row = line + g + half * 8;
        asm volatile("" : "+r"(row)); // keeps the address of the mask out of registers elsewhere
        const Int rowMask = a.maskOf(row);
#pragma unroll
        for (int j = 0; j < kTile / 8; ++j)
#pragma unroll
          for (int e = half * 2; e < half * 2 + 2; ++e)
            scores[j][e] = a.score(scores[j][e], row, rowMask, begin + j * 8 + t * 2 + e % 2);
      }
      return;
    }
    if constexpr (!IsWhole)
#pragma unroll
      for (int j = 0; j < kTile / 8; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          scores[j][e] = __fmul_rn(scores[j][e], a.scale);
    if (begin + kTile <= a.columns && (!a.causal || begin + kTile - 1 <= line))
      return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int last = a.causal ? min(line + g + half * 8, a.columns - 1) : a.columns - 1, left = last - begin - t * 2;
#pragma unroll
      for (int j = 0; j < kTile / 8; ++j)
#pragma unroll
        for (int e = half * 2; e < half * 2 + 2; ++e)
          scores[j][e] = j * 8 + e % 2 <= left ? scores[j][e] : -INFINITY;
    }
  }

  // Turns products into powers. Returns whether earlier sums must be multiplied by `factors`. For whole heads, the
  // scale, the base and the factor of the power are one multiply-add. Otherwise the base is subtracted first, because
  // masks may be large.
  __device__ bool powersOf(float (&scores)[kTile / 8][4], int begin) {
    maskProducts(scores, begin);
    bool grows = false;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float largest[2] = {-INFINITY, -INFINITY};
#pragma unroll
      for (int j = 0; j < kTile / 8; ++j)
        largest[j % 2] = fmaxf(largest[j % 2], fmaxf(scores[j][half * 2], scores[j][half * 2 + 1]));
      const float scaled = maximumOfFour(fmaxf(largest[0], largest[1])) * (IsWhole ? a.scale : 1);
      if constexpr (!IsWhole)
        base[half] = maximum[half];
      maximum[half] = fmaxf(maximum[half], scaled);
      grows |= maximum[half] > base[half] + kSlack;
    }
    grows = __any_sync(0xffffffffu, grows);
    if (grows) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        factors[half] = maximum[half] == -INFINITY ? 1 : powerOfTwo((base[half] - maximum[half]) * kLog2e);
        base[half] = maximum[half];
        sum[half] *= factors[half];
      }
      if constexpr (!kIsAhead)
        scaleResult();
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float scale = (IsWhole ? a.scale : 1) * kLog2e, less = IsWhole ? -base[half] * kLog2e : 0;
      const float off = IsWhole || base[half] == -INFINITY ? 0 : base[half];
      float total[2] = {0, 0};
#pragma unroll
      for (int j = 0; j < kTile / 8; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float &score = scores[j][half * 2 + e];
          total[e] += score = powerOfTwo(IsWhole ? __fmaf_rn(score, scale, less) : (score - off) * kLog2e);
        }
      sum[half] += total[0] + total[1];
    }
    return grows;
  }

  __device__ void scaleResult() {
#pragma unroll
    for (int n = 0; n < Size / 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        result[n][e] *= factors[e / 2];
  }

  __device__ void pack(const float (&scores)[kTile / 8][4]) {
#pragma unroll
    for (int k = 0; k < kTile / 16; ++k)
#pragma unroll
      for (int r = 0; r < 4; ++r)
        powers[k][r] = Mma<T>::pack(scores[2 * k + r / 2][r % 2 * 2], scores[2 * k + r / 2][r % 2 * 2 + 1]);
    holdOperands(powers);
  }

  // Writes the lines to their tensor through shared memory, 16 bytes at a time.
  __device__ void store(Int item) {
    float inverse[2];
    T *to = buffer<T>(call, a.after) + item * a.rows * a.width;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      sum[half] = sumOfFour(sum[half]);
      inverse[half] = inverseOf(sum[half]);
      if (IsWhole && base[half] != maximum[half])
        sum[half] *= powerOfTwo((base[half] - maximum[half]) * kLog2e);
    }
    storeStatistics(call, a, item * a.rows, line, maximum, sum);
    if (!IsWhole && (a.width % 8 != 0 || reinterpret_cast<unsigned long long>(to) % 16 != 0))
      return storeLines<T, Size>(to, result, line, a.rows, a.width, inverse[0], inverse[1]);
    __syncthreads(); // no thread uses the tiles any more
    constexpr int kChunks = Size / 8, kRows = 32 / kChunks; // chunks of a row; rows that a warp writes at a time
    const int thread = threadHere(), lane = thread % 32;
    const unsigned own = memory + thread / 32 * (16 * Size * 2);
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int n = 0; n < Size / 8; ++n) {
        const int row = lane / 4 + half * 8;
        const unsigned two = Mma<T>::pack(result[n][half * 2] * inverse[half], result[n][half * 2 + 1] * inverse[half]);
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(own + row * (Size * 2) + (n ^ row % 8) * 16 + lane % 4 * 4),
                     "r"(two)
                     : "memory");
      }
    __syncwarp();
    const int chunk = lane % kChunks;
#pragma unroll
    for (int first = 0; first < 16; first += kRows) {
      const int row = first + lane / kChunks;
      uint4 v;
      asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                   : "r"(own + row * (Size * 2) + (chunk ^ row % 8) * 16)
                   : "memory");
      if (line + row < a.rows && (IsWhole || chunk * 8 < a.width))
        *reinterpret_cast<uint4 *>(to + Int(line + row) * a.width + chunk * 8) = v;
    }
  }

  // Computes lines [first, first + 128) of a head.
  __device__ void run(Int item, int first) {
    const int thread = threadHere(), group = first + __shfl_sync(0xffffffffu, thread / 128, 0) * kGroup;
    line = first + thread / 32 * 16;
    const int end = a.causal && first + kMmaLines < a.columns ? first + kMmaLines : a.columns;
    const int own = group >= a.rows ? 0 : a.causal && group + kGroup < end ? group + kGroup : end; // of this group
    __syncthreads();
    TileCopies<T, Size, IsWhole> lines;
    lines.begin(threadHere(), buffer<T>(call, 0) + item * a.rows * a.depth, first, a.depth);
    lines.template next<kMmaLines>(memory + kQueries, a.rows - first, a.depth, isAligned);
    keys.begin(thread, buffer<T>(call, 1) + item * a.columns * a.depth, 0, a.depth);
    values.begin(thread, buffer<T>(call, 2) + item * a.columns * a.width, 0, a.width);
    askForKeys(0, 0);
#pragma unroll
    for (int n = 0; n < Size / 8; ++n)
      result[n][0] = result[n][1] = result[n][2] = result[n][3] = 0;
    maximum[0] = maximum[1] = base[0] = base[1] = -INFINITY, sum[0] = sum[1] = 0;
    if constexpr (kIsAhead)
      runAhead(own, end);
    else
      runInTurn(own, end);
    store(item);
  }

  // Alternates between the products and the powers of a tile. Units that are idle are used by other blocks.
  __device__ void runInTurn(int own, int end) {
    askForValues(0, 0);
    closeCopies();
    if constexpr (kQueriesInRegisters) {
      if (kTile < end)
        askForKeys(kTile, 1);
      closeCopies();
      waitForCopies<1>();
      __syncthreads();
      readQueries();
      __syncthreads();
      if (kTile < end)
        askForValues(kTile, 1);
      closeCopies();
    }
    int begin = 0;
    auto turn = [&](int place) {
      waitForCopies<kPlaces - 2>();
      showToProducts();
      __syncthreads(); // this tile has arrived, and no thread uses the one before
      const int ahead = begin + (kPlaces - 1) * kTile, free = place == 0 ? kPlaces - 1 : place - 1;
      auto ask = [&] {
        if (ahead < end)
          askForKeys(ahead, free), askForValues(ahead, free);
        closeCopies();
      };
      if (begin < own) {
        float scores[kTile / 8][4];
        if constexpr (kQueriesInRegisters) // as if changed: ptxas needs a fence before the products of each turn
          asm volatile("mov.b32 %0, %0;" : "+r"(queries[0][0]));
        Scores::open(scores);
        multiplyAcross(scores, place);
        ask();
        Scores::template wait<0>(scores);
        powersOf(scores, begin);
        pack(scores);
        Result::open(result);
        multiplyAlong(place);
        Result::template wait<0>(result);
      } else {
        ask();
      }
      begin += kTile;
    };
    if constexpr (kPlaces == 3) {
#pragma unroll 1
      while (true) { // places are constants, and so are descriptors
        turn(0);
        if (begin >= end)
          return;
        turn(1);
        if (begin >= end)
          return;
        turn(2);
        if (begin >= end)
          return;
      }
    } else {
#pragma unroll 1
      for (int place = 0; begin < end; place ^= 1)
        turn(place);
    }
  }

  // Computes the scores of the next tile while the products with the values of this tile run.
  __device__ void runAhead(int own, int end) {
    closeCopies();
    waitForCopies<0>();
    showToProducts();
    __syncthreads();
    readQueries();
    __syncthreads();
    askForValues(0, 0);
    if (kTile < end)
      askForKeys(kTile, 1);
    closeCopies();
    float scores[kTile / 8][4];
    if (own > 0) {
      Scores::open(scores);
      multiplyAcross(scores, 0);
      Scores::template wait<0>(scores);
      powersOf(scores, 0);
      pack(scores);
    }
    int begin = 0;
    auto turn = [&](int place) {
      waitForCopies<0>();
      showToProducts();
      __syncthreads(); // these values and the next keys have arrived, and no thread uses the earlier ones
      const int next = begin + kTile, ahead = next + kTile;
      auto ask = [&] {
        if (next < end)
          askForValues(next, place ^ 1);
        if (ahead < end)
          askForKeys(ahead, place);
        closeCopies();
      };
      if (next < own) {
        Result::open(result);
        multiplyAcross(scores, place ^ 1);
        multiplyAlong(place);
        ask();
        Scores::template wait<1>(scores);
        const bool grows = powersOf(scores, next);
        Result::template wait<0>(result);
        if (grows)
          scaleResult();
        pack(scores);
      } else if (begin < own) {
        Result::open(result);
        multiplyAlong(place);
        ask();
        Result::template wait<0>(result);
      } else {
        ask();
      }
      begin = next;
    };
    if constexpr (IsWhole) {
#pragma unroll 1
      while (true) { // places are constants, and so are descriptors
        turn(0);
        if (begin >= end)
          return;
        turn(1);
        if (begin >= end)
          return;
      }
    } else {
#pragma unroll 1
      for (int place = 0; begin < end; place ^= 1)
        turn(place);
    }
  }
};

template <typename T, int Size, bool IsWhole>
__device__ void attentionWgmma(const CudaCall &call, AttentionCall &a, unsigned memory, bool isAligned) {
  AttentionWgmma<T, Size, IsWhole> attention{call, a, memory, isAligned};
  const int blocks = (a.rows + kMmaLines - 1) / kMmaLines;
#pragma unroll 1
  for (unsigned turn = 0;; ++turn) {
    const Int work = blockIdx.x + Int(turn) * gridDim.x;
    if (work >= a.items * blocks)
      return;
    Int item;
    int block;
    if (a.causal && a.items * blocks < INT_MAX) { // long blocks first, of as many heads as fit in the cache
      const Int bytes = Int(a.columns) * (a.depth + a.width) * 2;
      const unsigned items = unsigned(a.items), most = bytes < kCachedBytes ? kCachedBytes / unsigned(bytes) : 1;
      const unsigned heads = min(most, items);
      const unsigned before = unsigned(work) / (heads * blocks) * heads, rest = unsigned(work) - before * blocks;
      const unsigned here = min(items - before, heads);
      item = before + rest % here, block = blocks - 1 - int(rest / here);
    } else {
      item = work / blocks, block = int(work - item * blocks);
    }
    if constexpr (!IsWhole)
      a.setItem(item);
    attention.run(item, block * kMmaLines);
  }
}

template <typename T, int Size> __device__ void attentionWgmma(const CudaCall &call) {
  needsWgmma();
  __shared__ __align__(1024) unsigned char tiles[AttentionWgmma<T, Size, true>::kBytes];
  const auto memory = static_cast<unsigned>(__cvta_generic_to_shared(tiles));
  AttentionCall a(call, /*drops=*/false);
  auto place = [&](int number) { return reinterpret_cast<unsigned long long>(call.buffers[number]); };
  const bool isAligned = a.depth % 8 == 0 && a.width % 8 == 0 && (place(0) | place(1) | place(2)) % 16 == 0;
  if (isAligned && place(3) % 16 == 0 && a.depth == Size && a.width == Size && a.maskKind == AttentionCall::kNone &&
      a.scale > 0)
    attentionWgmma<T, Size, true>(call, a, memory, true);
  else
    attentionWgmma<T, Size, false>(call, a, memory, isAligned);
}

} // namespace cleave::rt
