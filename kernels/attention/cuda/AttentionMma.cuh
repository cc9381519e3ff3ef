// Attention for f16 and bf16 by matrix instructions (mma.sync m16n8k16, from sm_80 on; f32 sums). A warp owns 16 lines
// of the scores, and keeps its part of the results in registers. The registers with the result of one product are the
// left operand of the next one (probabilities, gradients of scores). So only the tiles of the other side are in shared
// memory:
//
//   forward           lines are rows:     S = Q K^T    O += P V
//
// The gradient is in AttentionGradMma.cuh. Size is the padded size of a head, 64 or 128. Elements beyond depth and
// width are zeros.
//
// A thread of a warp is (g, t) = (lane / 4, lane % 4). Of a tile of sums, 16 lines by 8 columns, it has these elements:
//   [0] (g, 2 t)   [1] (g, 2 t + 1)   [2] (g + 8, 2 t)   [3] (g + 8, 2 t + 1)
#pragma once

#include "kernels/attention/cuda/Attention.cuh"

namespace cleave::rt {

constexpr int kMmaLines = AttentionWork::kMmaLines;

template <typename T> struct Mma;
#define CLEAVE_MMA(T, type, convert)                                                                                   \
  template <> struct Mma<T> {                                                                                          \
    static __device__ void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {                 \
      asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "        \
          "{%0,%1,%2,%3};"                                                                                             \
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                             \
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                             \
    }                                                                                                                  \
    static __device__ unsigned pack(float low, float high) {                                                           \
      auto pair = convert(low, high);                                                                                  \
      return *reinterpret_cast<unsigned *>(&pair);                                                                     \
    }                                                                                                                  \
  };
CLEAVE_MMA(__half, "f16", __floats2half2_rn)
CLEAVE_MMA(__nv_bfloat16, "bf16", __floats2bfloat162_rn)
#undef CLEAVE_MMA

// e^x for x <= 0, with a relative error of about (2 + |x|) * 2^-23: the product is rounded. Powers are added to e^0 = 1,
// so this is an error of about 2^-22 of the sum.
__device__ inline float powerOfE(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * 1.44269504f));
  return power;
}

// Waits until all tiles that this thread has asked for have arrived.
__device__ inline void waitForTiles() {
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}

// Starts to load lines [first, first + Rows) of a head's tensor. They are in the tile after waitForTiles() and a
// barrier. Elements outside of the tensor become zeros.
template <int Rows, int Size, typename Tile, typename T>
__device__ void loadTile(Tile &tile, const T *from, int first, int rows, int size) {
  constexpr int kChunks = Size / 8, kStep = CudaCall::kBlockSize / kChunks; // rows that the block loads at a time
  static_assert(Rows % kStep == 0);
  const int r = threadIdx.x / kChunks, i = threadIdx.x % kChunks * 8;
  if (size % 8 == 0 && reinterpret_cast<unsigned long long>(from) % 16 == 0) {
    const T *source = from + Int(first + r) * size + i;
    const int left = i < size ? rows - first - r : 0; // rows from here to the end
#pragma unroll
    for (int k = 0; k < Rows; k += kStep) {
      auto at = static_cast<unsigned>(__cvta_generic_to_shared(tile.at(r + k, i)));
      bool isHere = k < left;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(isHere ? source : from),
                   "r"(isHere ? 16 : 0)
                   : "memory");
      source += kStep * size;
    }
    return;
  }
#pragma unroll 1
  for (int k = 0; k < Rows; k += kStep) {
    const bool isRow = first + r + k < rows;
    const T *source = from + Int(isRow ? first + r + k : 0) * size + i;
    T *target = tile.at(r + k, i);
#pragma unroll 1
    for (int c = 0; c < 8; ++c)
      target[c] = isRow && i + c < size ? source[c] : rounded<T>(0.0f);
  }
}

// Rows of a head's tensor in shared memory. A line is padded by 16 bytes, so that matrices are spread over all banks.
template <typename T, int Rows, int Size> struct MmaTile {
  alignas(16) T values[Rows][Size + 8];

  __device__ T *at(int row, int column) { return &values[row][column]; }
  __device__ void load(const T *from, int first, int rows, int size) {
    loadTile<Rows, Size>(*this, from, first, rows, size);
  }
  // Reads the right operands of two steps of 16, for a product with this tile transposed: the tile's rows are columns
  // of the product.
  __device__ void across(int row, int column, unsigned (&b)[4]) const {
    int lane = threadIdx.x % 32;
    auto at = static_cast<unsigned>(__cvta_generic_to_shared(&values[row + lane % 8][column + lane / 8 * 8]));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(at));
  }
  // Reads 16 lines as left operands.
  __device__ void lines(int row, unsigned (&operands)[Size / 16][4]) const {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 0; step < Size / 16; ++step) {
      const T *place = &values[row + lane % 16][step * 16 + lane / 16 * 8];
      auto at = static_cast<unsigned>(__cvta_generic_to_shared(place));
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(operands[step][0]), "=r"(operands[step][1]), "=r"(operands[step][2]), "=r"(operands[step][3])
                   : "r"(at)
                   : "memory");
    }
  }
  // Reads the right operands of products with this tile as it is, for columns [column, column + 16), which are two
  // tiles of sums.
  __device__ void along(int row, int column, unsigned (&b)[4]) const {
    int lane = threadIdx.x % 32;
    auto at = static_cast<unsigned>(__cvta_generic_to_shared(&values[row + lane % 16][column + lane / 16 * 8]));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(at));
  }
};

// The 16 lines of a warp as left operands.
template <typename T, int Size> struct MmaLines {
  unsigned values[Size / 16][4];

  // All warps must call it: the lines of a block are loaded through a tile.
  template <int Rows> __device__ void load(MmaTile<T, Rows, Size> &tile, const T *from, int first, int rows, int size) {
    const int own = threadIdx.x / 32 * 16;
#pragma unroll 1
    for (int begin = 0; begin < kMmaLines; begin += Rows) {
      __syncthreads();
      tile.load(from, first + begin, rows, size);
      waitForTiles();
      __syncthreads();
      if (own >= begin && own < begin + Rows)
        tile.lines(own - begin, values);
    }
  }
};

// sums[j] = lines * (rows first + [8 j, 8 j + 8) of the tile)^T. Consecutive products belong to different sums, so none
// waits for the one before it.
template <typename T, int Rows, int TileRows, int Size>
__device__ void multiplyAcross(float (&sums)[Rows / 8][4], const unsigned (&lines)[Size / 16][4],
                               const MmaTile<T, TileRows, Size> &tile, int first) {
#pragma unroll
  for (int j = 0; j < Rows / 8; ++j)
    sums[j][0] = sums[j][1] = sums[j][2] = sums[j][3] = 0;
#pragma unroll
  for (int step = 0; step < Size / 16; step += 2) {
    unsigned b[Rows / 8][4];
#pragma unroll
    for (int j = 0; j < Rows / 8; ++j)
      tile.across(first + j * 8, step * 16, b[j]);
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int j = 0; j < Rows / 8; ++j)
        Mma<T>::multiply(sums[j], lines[step + half], b[j][2 * half], b[j][2 * half + 1]);
  }
}

// result += factors * (rows first + [0, Rows) of the tile)
template <typename T, int Rows, int TileRows, int Size>
__device__ void multiplyAlong(float (&result)[Size / 8][4], const float (&factors)[Rows / 8][4],
                              const MmaTile<T, TileRows, Size> &tile, int first) {
#pragma unroll
  for (int k = 0; k < Rows / 16; ++k) {
    const float(&low)[4] = factors[2 * k], (&high)[4] = factors[2 * k + 1];
    unsigned a[4] = {Mma<T>::pack(low[0], low[1]), Mma<T>::pack(low[2], low[3]), Mma<T>::pack(high[0], high[1]),
                     Mma<T>::pack(high[2], high[3])};
#pragma unroll
    for (int n = 0; n < Size / 8; n += 2) {
      unsigned b[4];
      tile.along(first + k * 16, n * 8, b);
      Mma<T>::multiply(result[n], a, b[0], b[1]);
      Mma<T>::multiply(result[n + 1], a, b[2], b[3]);
    }
  }
}

// Reductions over the four threads that share a line.
__device__ inline float sumOfFour(float value) {
  value += __shfl_xor_sync(0xffffffffu, value, 1);
  return value + __shfl_xor_sync(0xffffffffu, value, 2);
}
__device__ inline float maximumOfFour(float value) {
  value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 2));
}

// Writes 16 lines, multiplied by factors for their upper and lower half.
template <typename T, int Size>
__device__ void storeLines(T *to, const float (&sums)[Size / 8][4], int first, int rows, int size, float upper,
                           float lower) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const bool isPaired = size % 2 == 0 && reinterpret_cast<unsigned long long>(to) % 4 == 0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first + g + half * 8, left = row < rows ? size - t * 2 : 0; // elements from here to the line's end
    const float factor = half ? lower : upper;
    T *at = to + Int(row) * size + t * 2;
#pragma unroll
    for (int n = 0; n < Size / 8; ++n) {
      const unsigned pair = Mma<T>::pack(sums[n][half * 2] * factor, sums[n][half * 2 + 1] * factor);
      if (isPaired) {
        if (n * 8 < left)
          *reinterpret_cast<unsigned *>(at + n * 8) = pair;
        continue;
      }
      if (n * 8 < left)
        at[n * 8] = reinterpret_cast<const T *>(&pair)[0];
      if (n * 8 + 1 < left)
        at[n * 8 + 1] = reinterpret_cast<const T *>(&pair)[1];
    }
  }
}

// Turns products into scores: scales and masks them, and sets -inf where there is no score. For the 16 lines of a warp
// from `line` on.
template <int Rows>
__device__ void maskScores(const AttentionCall &a, float (&scores)[Rows / 8][4], int line, int begin) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  bool isWhole = a.maskKind == AttentionCall::kNone && line + 16 <= a.rows && begin + Rows <= a.columns &&
                 (!a.causal || begin + Rows - 1 <= line);
  if (isWhole) {
#pragma unroll
    for (int j = 0; j < Rows / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        scores[j][e] = __fmul_rn(scores[j][e], a.scale); // rounded as it is compared: no multiply-add
    return;
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = line + g + half * 8;
    const Int rowMask = a.maskOf(row);
#pragma unroll
    for (int j = 0; j < Rows / 8; ++j)
#pragma unroll
      for (int e = half * 2; e < half * 2 + 2; ++e)
        scores[j][e] = a.score(scores[j][e], row, rowMask, begin + j * 8 + t * 2 + e % 2);
  }
}

// Turns scores into powers, and updates the lines' largest scores and sums, for the upper and the lower half. The
// caller must multiply earlier sums by `factors`.
template <int Rows>
__device__ void powersOfScores(float (&scores)[Rows / 8][4], float (&maximum)[2], float (&sum)[2],
                               float (&factors)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float largest = maximum[half], total = 0;
#pragma unroll
    for (int j = 0; j < Rows / 8; ++j)
      largest = fmaxf(largest, fmaxf(scores[j][half * 2], scores[j][half * 2 + 1]));
    largest = maximumOfFour(largest);
    const float base = largest == -INFINITY ? 0 : largest;
    factors[half] = powerOfE(maximum[half] - base);
#pragma unroll
    for (int j = 0; j < Rows / 8; ++j)
#pragma unroll
      for (int e = half * 2; e < half * 2 + 2; ++e)
        total += scores[j][e] = powerOfE(scores[j][e] - base);
    maximum[half] = largest;
    sum[half] = sum[half] * factors[half] + sumOfFour(total);
  }
}

// Stores the lines' largest scores and sums, which the gradient reads. `from` is the index of the head's first line.
__device__ inline void storeStatistics(const CudaCall &call, const AttentionCall &a, Int from, int line,
                                       const float (&maximum)[2], const float (&sum)[2]) {
  for (int half = 0; half < 2; ++half)
    if (int row = line + threadIdx.x % 32 / 4 + half * 8; threadIdx.x % 4 == 0 && row < a.rows) {
      buffer<float>(call, a.after + 1)[from + row] = maximum[half];
      buffer<float>(call, a.after + 2)[from + row] = sum[half];
    }
}

template <typename T, int Size, bool Drops> __device__ void attentionMma(const CudaCall &call) {
  constexpr int kTile = Size == 64 ? 64 : 32, kRows = 32;    // rows of a tile; rows that a warp processes at a time
  __shared__ MmaTile<T, kTile, Size> keys[2], values[2]; // the present tiles, and those that are being loaded
  AttentionCall a(call, Drops);
  const int tiles = (a.rows + kMmaLines - 1) / kMmaLines;
#pragma unroll 1
  for (Int work = blockIdx.x; work < a.items * tiles; work += gridDim.x) {
    const Int item = work / tiles;
    const int first = int(work % tiles) * kMmaLines, line = first + threadIdx.x / 32 * 16;
    a.setItem(item);
    Dropout<Drops>::setItem(call, a, item);
    MmaLines<T, Size> queries;
    queries.load(keys[1], buffer<T>(call, 0) + item * a.rows * a.depth, first, a.rows, a.depth);
    float result[Size / 8][4] = {}, maximum[2] = {-INFINITY, -INFINITY}, sum[2] = {};
    const int end = a.causal && first + kMmaLines < a.columns ? first + kMmaLines : a.columns;
    auto ask = [&](int begin) {
      int place = begin / kTile % 2;
      keys[place].load(buffer<T>(call, 1) + item * a.columns * a.depth, begin, a.columns, a.depth);
      values[place].load(buffer<T>(call, 2) + item * a.columns * a.width, begin, a.columns, a.width);
    };
    ask(0);
#pragma unroll 1
    for (int begin = 0; begin < end; begin += kRows) {
      const int place = begin / kTile % 2;
      if (begin % kTile == 0) {
        waitForTiles();
        __syncthreads(); // all threads' parts of these tiles have arrived, and none uses the other ones
        if (begin + kTile < end)
          ask(begin + kTile);
      }
      if (line >= a.rows || (a.causal && begin > line + 15)) // the condition is the same for the whole warp
        continue;
      float scores[kRows / 8][4];
      multiplyAcross<T, kRows, kTile, Size>(scores, queries.values, keys[place], begin % kTile);
      maskScores<kRows>(a, scores, line, begin);
      float factors[2];
      powersOfScores<kRows>(scores, maximum, sum, factors);
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int n = 0; n < Size / 8; ++n)
          result[n][half * 2] *= factors[half], result[n][half * 2 + 1] *= factors[half];
      if constexpr (Drops)
        Dropout<Drops>::drop(
            scores, Dropout<Drops>::template keepOfLines<false, kRows / 8>(line + threadIdx.x % 32 / 4, begin));
      multiplyAlong<T, kRows, kTile, Size>(result, scores, values[place], begin % kTile);
    }
    const float factor = Dropout<Drops>::factor();
    storeLines<T, Size>(buffer<T>(call, a.after) + item * a.rows * a.width, result, line, a.rows, a.width,
                        factor / sum[0], factor / sum[1]);
    storeStatistics(call, a, item * a.rows, line, maximum, sum);
  }
}

} // namespace cleave::rt
