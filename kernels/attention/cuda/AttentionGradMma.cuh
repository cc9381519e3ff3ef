// The gradient of attention for f16 and bf16, by mma.sync (AttentionMma.cuh). It has two passes, which share one
// function. A block has lines of its own (`own`), and goes through the tiles of the other side (`other`):
//
//   row gradients     lines are rows:     S = Q K^T    dP = dY V^T    dQ += dS K
//   column gradients  lines are columns:  S^T = K Q^T  dP^T = V dY^T  dK += dS^T Q   dV += P^T dY
#pragma once

#include "kernels/attention/cuda/AttentionMma.cuh"

#include <type_traits>

namespace cleave::rt {

// The numbers of a row that its gradient needs: the largest score, -log2 of the sum of powers, and delta. The largest
// score is subtracted before anything is multiplied, because only the difference of large scores matters.
struct RowStatistics {
  float maximum, less, delta;

  __device__ float ofScore(float score) const {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(fmaf(score - maximum, 1.44269504f, less)));
    return power;
  }
  // The probability of a product that is not masked. The score is rounded as in the forward pass.
  __device__ float probability(const AttentionCall &a, float product) const {
    return ofScore(__fmul_rn(product, a.scale));
  }
  // The same with a mask. `isReplaced` is true if no gradient goes through the mask.
  __device__ float ofMasked(const AttentionCall &a, float product, int row, int column, bool *isReplaced) const {
    *isReplaced = true;
    if (!a.isScore(row, column))
      return 0;
    return ofScore(a.masked(product, a.maskOf(row), column, isReplaced));
  }
};

// The statistics of a tile's rows.
template <int Rows> struct TileStatistics {
  struct alignas(8) Base {
    float maximum, less;
  };
  alignas(16) Base bases[Rows];
  alignas(16) float deltas[Rows];

  __device__ void set(int row, const RowStatistics &s) { bases[row] = {s.maximum, s.less}, deltas[row] = s.delta; }
  __device__ RowStatistics at(int row) const {
    const Base base = bases[row];
    return {base.maximum, base.less, deltas[row]};
  }
};

// A row's statistics as they are in memory. They are read one tile ahead, and converted when they have arrived.
struct RowNumbers {
  float maximum = 0, sum = 1, delta = 0;

  __device__ void read(const CudaCall &call, const AttentionCall &a, Int item, int row) {
    if (row >= a.rows)
      return;
    const Int at = item * a.rows + row;
    maximum = buffer<float>(call, a.after + 1)[at], sum = buffer<float>(call, a.after + 2)[at];
    delta = buffer<float>(call, a.after + 3)[at];
  }
  __device__ RowStatistics statistics() const { return {maximum, -log2f(sum), delta}; }

  // The statistics of the two lines that a thread has of its warp's 16.
  __device__ static void ofLines(const CudaCall &call, const AttentionCall &a, Int item, int line,
                                 RowStatistics (&found)[2]) {
    for (int half = 0; half < 2; ++half) {
      RowNumbers numbers;
      numbers.read(call, a, item, line + threadIdx.x % 32 / 4 + half * 8);
      found[half] = numbers.statistics();
    }
  }
};

// The checks that a tile of scores needs. Whole: none. Bounded: the ends and the causal mask. Masked: a mask operand
// too.
enum class GradTile { Whole, Bounded, Masked };
// The calls that the code is compiled for: those without a mask, those with a mask, or both.
enum class GradCalls { Unmasked, Masked, All };

// The ranges [from, to) of the other side that are scores with lines `line` and line + 8, counted from `first` on.
template <bool OfColumns> struct GradBounds {
  int from[2], to[2];

  __device__ GradBounds(const AttentionCall &a, int line, int first) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int mine = line + half * 8;
      if (OfColumns) {
        from[half] = a.causal ? mine - first : 0;
        to[half] = mine < a.columns ? a.rows - first : 0;
      } else {
        from[half] = 0;
        to[half] = mine >= a.rows ? 0 : (a.causal && mine + 1 < a.columns ? mine + 1 : a.columns) - first;
      }
    }
  }
  __device__ bool has(int half, int number) const {
    return number < to[half] && (!OfColumns || number >= from[half]);
  }
};

// The tensors of a head: [0] has the size `depth`, [1] the size `width`.
template <typename T, bool OfColumns> struct GradSides {
  const T *own[2], *other[2];
  int lines, others;

  __device__ GradSides(const CudaCall &call, const AttentionCall &a, Int item)
      : lines(OfColumns ? a.columns : a.rows), others(OfColumns ? a.rows : a.columns) {
    const T *rows[2] = {buffer<T>(call, 0) + item * a.rows * a.depth,
                        buffer<T>(call, a.after) + item * a.rows * a.width};
    const T *columns[2] = {buffer<T>(call, 1) + item * a.columns * a.depth,
                           buffer<T>(call, 2) + item * a.columns * a.width};
    for (int k = 0; k < 2; ++k)
      own[k] = OfColumns ? columns[k] : rows[k], other[k] = OfColumns ? rows[k] : columns[k];
  }
  // With a causal mask, columns meet only the rows from theirs on, and rows meet only the columns up to theirs.
  __device__ int from(const AttentionCall &a, int begin, int tile) const {
    return a.causal && OfColumns ? begin / tile * tile : 0;
  }
  __device__ int end(const AttentionCall &a, int begin) const {
    return a.causal && !OfColumns && begin + kMmaLines < others ? begin + kMmaLines : others;
  }
  // True if the causal mask leaves no score of `count` others, from `at` on, with a warp's 16 lines.
  __device__ static bool isEmpty(const AttentionCall &a, int line, int at, int count) {
    return a.causal && (OfColumns ? at + count <= line : at > line + 15);
  }
  // True if each of them is a score.
  __device__ bool isWhole(const AttentionCall &a, int line, int at, int count) const {
    return line + 16 <= lines && at + count <= others &&
           (!a.causal || (OfColumns ? at >= line + 15 : at + count - 1 <= line));
  }
  template <int Size>
  __device__ void store(const CudaCall &call, const AttentionCall &a, Int item, int line,
                        const float (&depthGrads)[Size / 8][4], const float (&widthGrads)[Size / 8][4],
                        float factor) const {
    T *ofDepth = buffer<T>(call, a.after + (OfColumns ? 5 : 4)) + item * lines * a.depth;
    storeLines<T, Size>(ofDepth, depthGrads, line, lines, a.depth, a.scale, a.scale);
    if (OfColumns)
      storeLines<T, Size>(buffer<T>(call, a.after + 6) + item * lines * a.width, widthGrads, line, lines, a.width,
                          factor, factor);
  }
};

// Distributes the work of the blocks: tiles of columns and of rows alternate, for 16 heads at a time. With a causal
// mask, the tiles with the most work come first, so that the last ones are short. Calls run(a, head, whether lines
// are columns, first line), where `a` has the head's mask, and the third argument is std::true_type or std::false_type.
template <bool Drops, typename Run> __device__ void runGrad(const CudaCall &call, Run run) {
  constexpr int kHeads = 16;
  AttentionCall a(call, Drops);
  const int ofColumns = (a.columns + kMmaLines - 1) / kMmaLines, ofRows = (a.rows + kMmaLines - 1) / kMmaLines;
  const int tiles = ofColumns + ofRows, shorter = ofColumns < ofRows ? ofColumns : ofRows;
#pragma unroll 1
  for (Int work = blockIdx.x; work < a.items * tiles; work += gridDim.x) {
    const Int firstHead = work / (tiles * kHeads) * kHeads;
    const unsigned rest = unsigned(work - firstHead * tiles);
    const unsigned heads = unsigned(a.items - firstHead < kHeads ? a.items - firstHead : kHeads);
    const int place = int(rest / heads);
    const bool isPaired = place < 2 * shorter, isOfColumns = isPaired ? place % 2 == 0 : ofColumns > ofRows;
    const int tile = isPaired ? place / 2 : place - shorter;
    const Int item = firstHead + rest % heads;
    a.setItem(item);
    Dropout<Drops>::setItem(call, a, item);
    if (isOfColumns)
      run(a, item, std::true_type(), tile * kMmaLines);
    else
      run(a, item, std::false_type(), (ofRows - 1 - tile) * kMmaLines);
  }
}

template <typename T, int Size, bool Drops> struct AttentionGradMma {
  // Others of a tile, and others that a warp processes at a time.
  static constexpr int kTile = Size == 64 ? 64 : 32, kRows = kTile / 2;
  using Operands = unsigned[Size / 16][4];
  // Queries and gradients of results, or keys and values. Of each there is the present tile, and the tile that is being
  // loaded.
  MmaTile<T, kTile, Size> first[2], second[2];
  TileStatistics<kTile> statistics[2];

  // Reads a warp's 16 lines as left operands. The lines of a block are loaded through the memory of the tiles.
  __device__ void readOwn(Operands &ofDepth, Operands &ofWidth, const T *const *own, int begin, int lines,
                          const AttentionCall &a) {
    using Own = MmaTile<T, kMmaLines, Size>;
    constexpr bool kBoth = Size == 64; // both tensors fit at the same time
    static_assert(sizeof(Own) == (kBoth ? sizeof(first) : sizeof(first) + sizeof(second)));
    Own &depths = reinterpret_cast<Own &>(first), &widths = kBoth ? reinterpret_cast<Own &>(second) : depths;
    __syncthreads();
    depths.load(own[0], begin, lines, a.depth);
    if (kBoth)
      widths.load(own[1], begin, lines, a.width);
    waitForTiles();
    __syncthreads();
    depths.lines(threadIdx.x / 32 * 16, ofDepth);
    if (!kBoth) {
      __syncthreads();
      widths.load(own[1], begin, lines, a.width);
      waitForTiles();
      __syncthreads();
    }
    widths.lines(threadIdx.x / 32 * 16, ofWidth);
  }

  // Turns scores and gradients of probabilities into probabilities and gradients of scores, for lines `line` and line +
  // 8.
  template <bool OfColumns, GradTile Kind>
  static __device__ void differentiate(const AttentionCall &a, float (&scores)[kRows / 8][4],
                                       float (&grads)[kRows / 8][4], const TileStatistics<kTile> &ofOthers, int part,
                                       const RowStatistics (&ofLines)[2], int line, int at) {
    const int t = threadIdx.x % 4;
    const GradBounds<OfColumns> bounds(a, line, at + t * 2);
#pragma unroll
    for (int j = 0; j < kRows / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int number = j * 8 + e % 2, mine = line + e / 2 * 8, theirs = at + t * 2 + number;
        const RowStatistics s = OfColumns ? ofOthers.at(part + t * 2 + number) : ofLines[e / 2];
        bool isReplaced = false;
        float probability;
        if (Kind == GradTile::Masked) {
          probability =
              s.ofMasked(a, scores[j][e], OfColumns ? theirs : mine, OfColumns ? mine : theirs, &isReplaced);
        } else {
          probability = s.probability(a, scores[j][e]);
          if (Kind == GradTile::Bounded)
            probability = bounds.has(e / 2, number) ? probability : 0;
        }
        scores[j][e] = probability;
        grads[j][e] = isReplaced ? 0 : probability * (grads[j][e] - s.delta);
      }
  }

  // Computes lines [begin, begin + 128) of a head: its columns, or its rows.
  template <bool OfColumns, GradCalls Calls>
  __device__ void run(const CudaCall &call, const AttentionCall &a, Int item, int begin) {
    const int g = threadIdx.x % 32 / 4, line = begin + threadIdx.x / 32 * 16;
    const GradSides<T, OfColumns> sides(call, a, item);
    const int from = sides.from(a, begin, kTile), end = sides.end(a, begin);
    RowNumbers numbers; // of a row of the tile that is being loaded
    auto ask = [&](int at, int place) {
      first[place].load(sides.other[0], at, sides.others, a.depth);
      second[place].load(sides.other[1], at, sides.others, a.width);
      if (OfColumns && threadIdx.x < kTile)
        numbers.read(call, a, item, at + threadIdx.x);
    };
    auto keepStatistics = [&](int place) {
      if (OfColumns && threadIdx.x < kTile)
        statistics[place].set(threadIdx.x, numbers.statistics());
    };
    Operands ofDepth, ofWidth;
    readOwn(ofDepth, ofWidth, sides.own, begin, sides.lines, a);
    RowStatistics ofLines[2];
    if (!OfColumns)
      RowNumbers::ofLines(call, a, item, line, ofLines);
    float depthGrads[Size / 8][4] = {}, widthGrads[Size / 8][4] = {};
    auto step = [&](int at, int place, int part) {
      unsigned keep = 0; // drawn before there are scores, to use fewer registers
      if constexpr (Drops)
        keep = Dropout<Drops>::template keepOfLines<OfColumns, kRows / 8>(line + g, at);
      float scores[kRows / 8][4], grads[kRows / 8][4];
      multiplyAcross<T, kRows, kTile, Size>(scores, ofDepth, first[place], part);
      multiplyAcross<T, kRows, kTile, Size>(grads, ofWidth, second[place], part);
      if constexpr (Drops) {
        Dropout<Drops>::drop(grads, keep);
        const float factor = Dropout<Drops>::factor();
#pragma unroll
        for (int j = 0; j < kRows / 8; ++j)
#pragma unroll
          for (int e = 0; e < 4; ++e)
            grads[j][e] *= factor;
      }
      if (Calls == GradCalls::Masked || (Calls == GradCalls::All && a.maskKind != AttentionCall::kNone))
        differentiate<OfColumns, GradTile::Masked>(a, scores, grads, statistics[place], part, ofLines, line + g, at);
      else if (sides.isWhole(a, line, at, kRows))
        differentiate<OfColumns, GradTile::Whole>(a, scores, grads, statistics[place], part, ofLines, line + g, at);
      else
        differentiate<OfColumns, GradTile::Bounded>(a, scores, grads, statistics[place], part, ofLines, line + g, at);
      if (OfColumns) {
        if constexpr (Drops)
          Dropout<Drops>::drop(scores, keep);
        multiplyAlong<T, kRows, kTile, Size>(widthGrads, scores, second[place], part);
      }
      multiplyAlong<T, kRows, kTile, Size>(depthGrads, grads, first[place], part);
    };
    __syncthreads();
    ask(from, 0);
    keepStatistics(0);
#pragma unroll 1
    for (int tile = from, place = 0; tile < end; tile += kTile, place ^= 1) {
      waitForTiles();
      __syncthreads(); // all threads' parts of these tiles have arrived, and none uses the other ones
      const bool hasNext = tile + kTile < end;
      if (hasNext)
        ask(tile + kTile, place ^ 1);
#pragma unroll 1
      for (int part = 0; part < kTile; part += kRows)
        if (line < sides.lines && tile + part < end && !sides.isEmpty(a, line, tile + part, kRows))
          step(tile + part, place, part); // the condition is the same for the whole warp
      if (hasNext)
        keepStatistics(place ^ 1);
    }
    sides.template store<Size>(call, a, item, line, depthGrads, widthGrads, Dropout<Drops>::factor());
  }
};

template <typename T, int Size, bool Drops> __device__ void attentionGradMma(const CudaCall &call) {
  __shared__ AttentionGradMma<T, Size, Drops> tiles;
  runGrad<Drops>(call, [&](const AttentionCall &a, Int item, auto isOfColumns, int begin) {
    constexpr bool kOfColumns = decltype(isOfColumns)::value;
    if constexpr (Size == 64 || Drops)
      tiles.template run<kOfColumns, GradCalls::All>(call, a, item, begin);
    else if (a.maskKind == AttentionCall::kNone) // separate code is faster on an H200 (Rationale.md)
      tiles.template run<kOfColumns, GradCalls::Unmasked>(call, a, item, begin);
    else
      tiles.template run<kOfColumns, GradCalls::Masked>(call, a, item, begin);
  });
}

} // namespace cleave::rt
