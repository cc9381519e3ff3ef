// Attention and its gradient, tile by tile. Scores are in shared memory, and none is stored (FlashAttention-2, Dao
// 2023, arXiv 2307.08691). Numbers are computed in f32 on the ordinary cores. Depth and width are at most kMostSize.
#pragma once

#include "kernels/attention/cuda/Dropout.cuh"

namespace cleave::rt {

// A block computes kTile = 32 rows of one head, and goes over the columns in tiles of as many. Shared memory has the
// tile of queries, one tile of keys or values, and the powers of the scores. A thread has 2 rows (kOwn). Of each, its
// registers have the scores of 2 columns of the tile, 8 columns of the result, and the row's maximum and sum. All 16
// threads of a line (one y) have the same maximum and sum.
//
// After each tile of columns, with m the largest score of a row so far, `sum` is the sum of exp(score - m), and
// `result` (without dropout) is the sum of exp(score - m) * value. If a tile raises m from 1 to 3, both are multiplied
// by exp(1 - 3) before the tile is added. The quotient at the end is the row of the result.
template <typename T, bool Drops> __device__ void attention(const CudaCall &call) {
  constexpr int kTile = AttentionCall::kTile, kSide = AttentionCall::kSide, kOwn = kTile / kSide,
                kColumns = AttentionCall::kColumns;
  __shared__ AttentionTile<T, kTile> queries, others; // others: first keys, then values
  __shared__ float powers[kTile][kTile + 1];
  AttentionCall a(call, Drops);
  const int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  const int tiles = (a.rows + kTile - 1) / kTile;
  for (Int work = blockIdx.x; work < a.items * tiles; work += gridDim.x) {
    const Int item = work / tiles;
    const int first = int(work % tiles) * kTile;
    a.setItem(item);
    Dropout<Drops>::setItem(call, a, item);
    const T *key = buffer<T>(call, 1) + item * a.columns * a.depth,
            *value = buffer<T>(call, 2) + item * a.columns * a.width;
    __syncthreads();
    queries.load(buffer<T>(call, 0) + item * a.rows * a.depth, first, a.rows, a.depth);
    float result[kOwn][kColumns] = {}, maximum[kOwn], sum[kOwn] = {};
    for (int i = 0; i < kOwn; ++i)
      maximum[i] = -INFINITY;
    // With a causal mask, no row of the tile sees columns after the tile's last row.
    const int end = a.causal && first + kTile < a.columns ? first + kTile : a.columns;
    for (int begin = 0; begin < end; begin += kTile) {
      __syncthreads();
      others.load(key, begin, a.columns, a.depth);
      __syncthreads();
      // Scores: the thread adds up its 2 x 2 products of queries and keys over the depth, in registers.
      float products[kOwn][kOwn] = {};
#pragma unroll 1
      for (int d = 0; d < a.depth; ++d)
#pragma unroll
        for (int i = 0; i < kOwn; ++i)
#pragma unroll
          for (int j = 0; j < kOwn; ++j)
            products[i][j] += queries.at(y + kSide * i, d) * others.at(x + kSide * j, d);
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        const int row = first + y + kSide * i;
        const Int rowMask = a.maskOf(row);
        float largest = maximum[i], total = 0;
#pragma unroll
        for (int j = 0; j < kOwn; ++j) {
          products[i][j] = a.score(products[i][j], row, rowMask, begin + x + kSide * j);
          largest = fmaxf(largest, products[i][j]);
        }
        // The row's maximum so far, in all threads of the line. It is -inf as long as the row has no score. The base 0
        // then makes all powers 0, where -inf would make them exp(-inf + inf).
        largest = maximumOfLine(largest);
        float base = largest == -INFINITY ? 0 : largest, factor = expf(maximum[i] - base);
#pragma unroll
        for (int j = 0; j < kOwn; ++j) {
          // Dropout acts on the powers that meet the values. The sum has all powers, as a softmax before dropout does.
          float power = expf(products[i][j] - base);
          powers[y + kSide * i][x + kSide * j] = power * Dropout<Drops>::factorOf(row, begin + x + kSide * j);
          total += power;
        }
        maximum[i] = largest;
        sum[i] = sum[i] * factor + sumOfLine(total);
#pragma unroll
        for (int j = 0; j < kColumns; ++j)
          result[i][j] *= factor;
      }
      __syncthreads();
      // All threads have read the keys, and have written their powers: values replace the keys. Then each thread adds
      // its 2 x 8 elements of powers * values, over the 32 columns of the tile.
      others.load(value, begin, a.columns, a.width);
      __syncthreads();
#pragma unroll 1
      for (int c = 0; c < kTile; ++c)
#pragma unroll
        for (int i = 0; i < kOwn; ++i)
#pragma unroll
          for (int j = 0; j < kColumns; ++j)
            if (x + kSide * j < a.width)
              result[i][j] += powers[y + kSide * i][c] * others.at(c, x + kSide * j);
    }
    for (int i = 0; i < kOwn; ++i) {
      int row = first + y + kSide * i;
      if (row >= a.rows)
        continue;
      for (int j = 0; j < kColumns; ++j)
        if (x + kSide * j < a.width)
          buffer<T>(call, a.after)[(item * a.rows + row) * a.width + x + kSide * j] = rounded<T>(result[i][j] / sum[i]);
      // The gradient computes the probabilities again from these two numbers.
      if (x == 0) {
        buffer<float>(call, a.after + 1)[item * a.rows + row] = maximum[i];
        buffer<float>(call, a.after + 2)[item * a.rows + row] = sum[i];
      }
    }
  }
}

// The gradient has two kinds of work: tiles of columns (keys and values), and tiles of rows (queries). Both compute the
// scores of all tiles of the other side that they need. Nothing is added up across blocks, so sums have one order.
template <typename T, bool Drops> struct AttentionGradTiles {
  static constexpr int kTile = sizeof(T) == 2 ? 32 : AttentionCall::kGradTile, kSide = AttentionCall::kSide,
                       kOwn = kTile / kSide, kColumns = AttentionCall::kColumns;
  AttentionTile<T, kTile> queries, keys, values, grads;
  float probabilities[kTile][kTile + 1], scoreGrads[kTile][kTile + 1];

  __device__ void loadRows(const CudaCall &call, const AttentionCall &a, Int item, int first) {
    queries.load(buffer<T>(call, 0) + item * a.rows * a.depth, first, a.rows, a.depth);
    grads.load(buffer<T>(call, a.after) + item * a.rows * a.width, first, a.rows, a.width);
  }
  __device__ void loadColumns(const CudaCall &call, const AttentionCall &a, Int item, int first) {
    keys.load(buffer<T>(call, 1) + item * a.columns * a.depth, first, a.columns, a.depth);
    values.load(buffer<T>(call, 2) + item * a.columns * a.width, first, a.columns, a.width);
  }

  // Computes the probabilities, and the gradients of the scores, of the loaded tiles.
  __device__ void differentiate(const CudaCall &call, const AttentionCall &a, Int item, int row, int column) {
    const int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
    float products[kOwn][kOwn] = {}, ofGrads[kOwn][kOwn] = {};
#pragma unroll 1
    for (int d = 0; d < a.depth; ++d)
#pragma unroll
      for (int i = 0; i < kOwn; ++i)
#pragma unroll
        for (int j = 0; j < kOwn; ++j)
          products[i][j] += queries.at(y + kSide * i, d) * keys.at(x + kSide * j, d);
#pragma unroll 1
    for (int d = 0; d < a.width; ++d)
#pragma unroll
      for (int i = 0; i < kOwn; ++i)
#pragma unroll
        for (int j = 0; j < kOwn; ++j)
          ofGrads[i][j] += grads.at(y + kSide * i, d) * values.at(x + kSide * j, d);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      int r = row + y + kSide * i;
      Int statistic = item * a.rows + r;
      bool isRow = r < a.rows;
      float maximum = isRow ? buffer<float>(call, a.after + 1)[statistic] : 0;
      float sum = isRow ? buffer<float>(call, a.after + 2)[statistic] : 1;
      float delta = isRow ? buffer<float>(call, a.after + 3)[statistic] : 0;
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        int c = column + x + kSide * j;
        bool isScore = a.isScore(r, c);
        bool isReplaced = true;
        float probability = isScore ? expf(a.masked(products[i][j], a.maskOf(r), c, &isReplaced) - maximum) / sum : 0;
        const float factor = Dropout<Drops>::factorOf(r, c);
        // The gradient of softmax after dropout (AttentionParts.cpp). A score that the mask replaces depends on no
        // query.
        float gradient = isReplaced ? 0 : probability * (ofGrads[i][j] * factor - delta);
        probabilities[y + kSide * i][x + kSide * j] = probability * factor;
        scoreGrads[y + kSide * i][x + kSide * j] = gradient;
      }
    }
  }

  __device__ void columnWork(const CudaCall &call, const AttentionCall &a, Int item, int first) {
    const int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
    float keyGrads[kOwn][kColumns] = {}, valueGrads[kOwn][kColumns] = {};
    __syncthreads();
    loadColumns(call, a, item, first);
    for (int row = a.causal ? first : 0; row < a.rows; row += kTile) { // earlier rows do not see these columns
      __syncthreads();
      loadRows(call, a, item, row);
      __syncthreads();
      differentiate(call, a, item, row, first);
      __syncthreads();
#pragma unroll 1
      for (int r = 0; r < kTile; ++r)
#pragma unroll
        for (int i = 0; i < kOwn; ++i)
#pragma unroll
          for (int j = 0; j < kColumns; ++j) {
            if (x + kSide * j < a.width)
              valueGrads[i][j] += probabilities[r][y + kSide * i] * grads.at(r, x + kSide * j);
            if (x + kSide * j < a.depth)
              keyGrads[i][j] += scoreGrads[r][y + kSide * i] * queries.at(r, x + kSide * j);
          }
    }
    for (int i = 0; i < kOwn; ++i) {
      int column = first + y + kSide * i;
      for (int j = 0; j < kColumns && column < a.columns; ++j) {
        int d = x + kSide * j;
        if (d < a.depth)
          buffer<T>(call, a.after + 5)[(item * a.columns + column) * a.depth + d] =
              rounded<T>(keyGrads[i][j] * a.scale);
        if (d < a.width)
          buffer<T>(call, a.after + 6)[(item * a.columns + column) * a.width + d] = rounded<T>(valueGrads[i][j]);
      }
    }
  }

  __device__ void rowWork(const CudaCall &call, const AttentionCall &a, Int item, int first) {
    const int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
    float queryGrads[kOwn][kColumns] = {};
    __syncthreads();
    loadRows(call, a, item, first);
    const int end = a.causal && first + kTile < a.columns ? first + kTile : a.columns;
    for (int column = 0; column < end; column += kTile) {
      __syncthreads();
      loadColumns(call, a, item, column);
      __syncthreads();
      differentiate(call, a, item, first, column);
      __syncthreads();
#pragma unroll 1
      for (int c = 0; c < kTile; ++c)
#pragma unroll
        for (int i = 0; i < kOwn; ++i)
#pragma unroll
          for (int j = 0; j < kColumns; ++j)
            if (x + kSide * j < a.depth)
              queryGrads[i][j] += scoreGrads[y + kSide * i][c] * keys.at(c, x + kSide * j);
    }
    for (int i = 0; i < kOwn; ++i) {
      int row = first + y + kSide * i;
      for (int j = 0; j < kColumns && row < a.rows; ++j)
        if (x + kSide * j < a.depth)
          buffer<T>(call, a.after + 4)[(item * a.rows + row) * a.depth + x + kSide * j] =
              rounded<T>(queryGrads[i][j] * a.scale);
    }
  }
};

template <typename T, bool Drops> __device__ void attentionGrad(const CudaCall &call) {
  __shared__ AttentionGradTiles<T, Drops> tiles;
  constexpr int kTile = AttentionGradTiles<T, Drops>::kTile;
  AttentionCall a(call, Drops);
  const int ofColumns = (a.columns + kTile - 1) / kTile, ofRows = (a.rows + kTile - 1) / kTile;
  for (Int work = blockIdx.x; work < a.items * (ofColumns + ofRows); work += gridDim.x) {
    Int item = work / (ofColumns + ofRows);
    int tile = int(work % (ofColumns + ofRows));
    a.setItem(item);
    Dropout<Drops>::setItem(call, a, item);
    if (tile < ofColumns)
      tiles.columnWork(call, a, item, tile * kTile);
    else
      tiles.rowWork(call, a, item, (tile - ofColumns) * kTile);
  }
}

} // namespace cleave::rt
