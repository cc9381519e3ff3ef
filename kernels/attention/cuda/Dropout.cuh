// Dropout of probabilities. kernels/attention/host/Dropout.h defines its random numbers. They depend only on counters,
// and are drawn again wherever scores are computed. `Dropout<false>` is for kernels without dropout, and does nothing.
#pragma once

#include "kernels/attention/cuda/AttentionCall.cuh"

namespace cleave::rt {

// The head that a block works on. It is in shared memory, so that it uses no registers between its uses.
struct DropoutHead {
  unsigned key[2], stream[2], threshold; // numbers of 24 bits below the threshold drop
  float factor;                          // 1 / (1 - rate)
  unsigned long long first;              // the index of the head's first element
  int columns;
  bool isAligned; // each row begins with the first word of a counter
};

template <bool Drops> struct Dropout {
  __device__ static DropoutHead &head() {
    __shared__ DropoutHead value;
    return value;
  }
  // All threads must call it. The buffers of dropout are the three before a.after.
  __device__ static void setItem(const CudaCall &call, const AttentionCall &a, Int item) {
    if constexpr (Drops) {
      __syncthreads();
      if (threadIdx.x == 0) {
        DropoutHead &h = head();
        const auto seed = *buffer<unsigned long long>(call, a.after - 3),
                   stream = *buffer<unsigned long long>(call, a.after - 2);
        const double rate = __longlong_as_double(call.params[AttentionCall::kRate]);
        h.key[0] = unsigned(seed), h.key[1] = unsigned(seed >> 32);
        h.stream[0] = unsigned(stream), h.stream[1] = unsigned(stream >> 32);
        h.threshold = unsigned(ceilf(static_cast<float>(rate) * 16777216.0f)); // exact: a power of two
        h.factor = static_cast<float>(1 / (1 - rate));
        h.first = buffer<unsigned long long>(call, a.after - 1)[item];
        h.columns = a.columns;
        h.isAligned = h.first % 4 == 0 && h.columns % 4 == 0;
      }
      __syncthreads();
    }
  }
  __device__ static float factor() {
    if constexpr (Drops)
      return head().factor;
    return 1;
  }
  // Returns as bits which of the four elements of a counter are kept. Philox 4x32-10 (runtime/base/Philox.h).
  __device__ static unsigned keepOfFour(unsigned long long group) {
    const DropoutHead &h = head();
    unsigned words[4] = {unsigned(group), unsigned(group >> 32), h.stream[0], h.stream[1]};
    unsigned key0 = h.key[0], key1 = h.key[1];
#pragma unroll
    for (int round = 0; round < 10; ++round) {
      const auto first = 0xD2511F53ull * words[0], second = 0xCD9E8D57ull * words[2];
      words[0] = unsigned(second >> 32) ^ words[1] ^ key0, words[1] = unsigned(second);
      words[2] = unsigned(first >> 32) ^ words[3] ^ key1, words[3] = unsigned(first);
      key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
    }
    unsigned bits = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      bits |= words[i] >> 8 >= h.threshold ? 1u << i : 0u;
    return bits;
  }
  __device__ static bool keeps(int row, int column) {
    const unsigned long long index = head().first + static_cast<unsigned long long>(row) * head().columns + column;
    return keepOfFour(index >> 2) >> (index & 3) & 1;
  }
  // The same for the four columns of a row from this one on. They must be aligned, so that they belong to one counter.
  __device__ static unsigned keepOfFour(int row, int column) {
    return keepOfFour(head().first / 4 + static_cast<unsigned long long>(row) * unsigned(head().columns / 4) +
                      unsigned(column) / 4);
  }
  // The factor of a probability: 0 if it is dropped.
  __device__ static float factorOf(int row, int column) {
    if constexpr (Drops)
      return keeps(row, column) ? factor() : 0;
    return 1;
  }

  // Returns as bits what is kept. Bit 4 j + e is for element [e] of a thread's j-th tile of sums (AttentionMma.cuh).
  // The lines are `line` and line + 8, which belong to this thread. The elements of the other side are at + 8 j + 2 t
  // and the next one. OfColumns: lines are columns. If rows begin with whole counters, each thread draws the four
  // numbers of one counter and exchanges them with its neighbours.
  template <bool OfColumns, int Tiles> __device__ static unsigned keepOfLines(int line, int at) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    unsigned keep = 0;
    if (!head().isAligned) {
#pragma unroll 1
      for (int n = 0; n < 4 * Tiles; ++n) {
        const int mine = line + n % 4 / 2 * 8, theirs = at + n / 4 * 8 + t * 2 + n % 2;
        keep |= (keeps(OfColumns ? theirs : mine, OfColumns ? mine : theirs) ? 1u : 0u) << n;
      }
      return keep;
    }
#pragma unroll 1
    for (int j = 0; j < Tiles; ++j) {
      unsigned mine;
      if (OfColumns) { // four lanes have the same rows: lane k draws element [k] for all of them
        const int k = g % 4;
        unsigned all = keepOfFour(at + j * 8 + t * 2 + k % 2, line - k + k / 2 * 8) << (4 * k);
        all |= __shfl_xor_sync(0xffffffffu, all, 4);
        all |= __shfl_xor_sync(0xffffffffu, all, 8);
        all >>= k; // bits 0, 4, 8, 12
        mine = (all & 1) | (all >> 3 & 2) | (all >> 6 & 4) | (all >> 9 & 8);
      } else { // of two lanes, the first draws four columns of line g, the second those of line g + 8
        const int half = t % 2;
        const unsigned own = keepOfFour(line + half * 8, at + j * 8 + t / 2 * 4);
        const unsigned other = __shfl_xor_sync(0xffffffffu, own, 1);
        mine = ((half ? other : own) >> (2 * half) & 3) | ((half ? own : other) >> (2 * half) & 3) << 2;
      }
      keep |= mine << (4 * j);
    }
    return keep;
  }
  // Sets dropped values to zero. Kept values are not yet divided by 1 - rate.
  template <int Tiles> __device__ static void drop(float (&values)[Tiles][4], unsigned keep) {
#pragma unroll
    for (int j = 0; j < Tiles; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        values[j][e] = keep >> (4 * j + e) & 1 ? values[j][e] : 0.0f;
  }
};

} // namespace cleave::rt
