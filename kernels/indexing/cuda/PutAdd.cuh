// put_add: params batch outer rows inner indices shift groups size (of an index, in bytes). y must hold x.
//
// The work is linear in the number of indices. A block owns a class of rows (one of 2^shift) and every groups-th slice
// of 64 bytes of a row. It reads all indices once and keeps those of its class, up to a window of kWindow. It sorts the
// window by row; updates of a row stay in ascending order. Then it adds the updates for each of its slices. So each
// element of y is written by one block, and the order of addition is fixed. A window's updates are copied to shared
// memory in tiles, and several tiles are loaded at a time. So no load waits for the sum before it, even if all updates
// belong to one row.
#pragma once

#include "kernels/indexing/cuda/Indexing.cuh"

namespace cleave::rt {

struct Additions {
  static constexpr int kThreads = CudaCall::kBlockSize, kWarps = kThreads / 32, kRounds = 8;
  static constexpr int kWindow = kThreads * kRounds, kReach = 1 << 16; // updates of a window; indices that it spans
  static constexpr int kTile = 64, kStages = 4, kSliceBytes = PutAddWork::kSliceBytes, kChunks = kSliceBytes / 16;
  static constexpr int kDigits = 256; // in a pass of the sort
  struct Spare {
    unsigned row[kWindow];
    unsigned short at[kWindow];
    unsigned places[kWarps][kDigits]; // place of the next update with a digit; before, the number of updates with it
  };
  // A window: rows without the bits that the class determines, and positions relative to the window's first. Bit e of
  // `heads` is set if update e is the first of its row.
  unsigned row[kWindow];
  unsigned short at[kWindow];
  unsigned heads[kWindow / 32];
  unsigned totals[2][kWarps];
  union {
    // For each update of a tile: its slice, and the slice of y if it is the first of its row.
    uint4 tiles[kStages][2][kTile][kChunks];
    Spare spare;                   // while the window is sorted
    long long numbers[2][kWindow]; // while indices are read: the present ones and the next, stored in their own size
  };

  // The heads of a tile: bit e belongs to update e.
  __device__ unsigned long long headsOf(int tile) const {
    return heads[tile * 2] | static_cast<unsigned long long>(heads[tile * 2 + 1]) << 32;
  }

  // Sorts by a stable radix sort, eight bits at a time. Each warp has a range of consecutive updates.
  __device__ void sort(int count, unsigned largest) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int share = (count + kThreads - 1) / kThreads * 32, first = warp * share;
    unsigned *places = spare.places[warp];
#pragma unroll 1
    for (int shift = 0; shift < 32 && largest >> shift; shift += 8) {
      for (int digit = lane; digit < kDigits; digit += 32)
        places[digit] = 0;
      __syncwarp();
#pragma unroll 1
      for (int e = first + lane; e < min(first + share, count); e += 32)
        atomicAdd(&places[row[e] >> shift & (kDigits - 1)], 1u);
      __syncthreads();
      placeDigits();
      __syncthreads();
#pragma unroll 1
      for (int e = first + lane; e - lane < min(first + share, count); e += 32) {
        unsigned digit = e < count ? row[e] >> shift & (kDigits - 1) : kDigits;
        unsigned same = __match_any_sync(~0u, digit), below = __popc(same & ((1u << lane) - 1));
        unsigned to = e < count ? places[digit] + below : 0;
        __syncwarp();
        if (e < count) {
          spare.row[to] = row[e], spare.at[to] = at[e];
          if (below == 0)
            places[digit] = to + __popc(same);
        }
        __syncwarp();
      }
      __syncthreads();
#pragma unroll 1
      for (int e = threadIdx.x; e < count; e += kThreads)
        row[e] = spare.row[e], at[e] = spare.at[e];
      __syncthreads();
    }
  }

  // Each thread handles a digit: counts become the places of each warp's first update with that digit.
  __device__ void placeDigits() {
    static_assert(kDigits == kThreads);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    unsigned counts[kWarps], sum = 0;
    for (int w = 0; w < kWarps; ++w)
      counts[w] = spare.places[w][threadIdx.x], sum += counts[w];
    unsigned upTo = sum; // sum over the warp's digits up to this one
    for (int distance = 1; distance < 32; distance *= 2) {
      unsigned other = __shfl_up_sync(~0u, upTo, distance);
      upTo += lane >= distance ? other : 0;
    }
    if (lane == 31)
      totals[0][warp] = upTo;
    __syncthreads();
    unsigned place = upTo - sum;
    for (int w = 0; w < kWarps; ++w)
      place += w < warp ? totals[0][w] : 0;
    for (int w = 0; w < kWarps; ++w) {
      spare.places[w][threadIdx.x] = place;
      place += counts[w];
    }
  }

  __device__ void findHeads(int count) {
#pragma unroll 1
    for (int first = 0; first < count; first += kThreads) {
      int e = first + int(threadIdx.x);
      unsigned bits = __ballot_sync(~0u, e < count && (e == 0 || row[e] != row[e - 1]));
      if (threadIdx.x % 32 == 0)
        heads[e / 32] = bits;
    }
  }
};

// Maps rows to classes: rows of a class are far apart, and rows at equal distances are spread over several classes.
struct RowClass {
  int shift;
  unsigned number;
  __device__ unsigned mask() const { return (1u << shift) - 1; }
  __device__ unsigned mixed(unsigned rest) const { return rest * 0x9E3779B1u >> 16; }
  __device__ bool has(Int row) const { return ((unsigned(row) ^ mixed(unsigned(row >> shift))) & mask()) == number; }
  __device__ Int rowOf(unsigned rest) const { return Int(rest) << shift | ((number ^ mixed(rest)) & mask()); }
};

// Starts a copy to shared memory. For 2 bytes there is no such instruction, and the copy is made at once.
template <typename T> __device__ void copyAhead(T *to, const T *from) {
  unsigned at = unsigned(__cvta_generic_to_shared(to));
  if constexpr (sizeof(T) == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
  else if constexpr (sizeof(T) >= 4)
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(sizeof(T)) : "memory");
  else
    *to = *from;
}

// Adds a window of updates to the slices of a block.
template <typename T> class WindowAdder {
  using A = Additions;
  static constexpr int kEach = sizeof(T) == 8 ? 2 : 4;             // columns of a thread
  static constexpr int kColumns = A::kSliceBytes / int(sizeof(T)); // columns of a slice, for a team of threads
  static constexpr int kTeam = kColumns / kEach, kTeams = A::kThreads / kTeam, kShare = A::kTile / kTeams;
  struct alignas(kEach * sizeof(T)) Columns {
    T of[kEach];
  };

public:
  // The updates are at `first` and after it.
  __device__ WindowAdder(A &memory, const CudaCall &call, const IndexParams &s, RowClass rows, int count, Int first)
      : memory_(memory), rows_(rows), inner_(s.inner), count_(count), column_(threadIdx.x % kTeam * kEach),
        team_(threadIdx.x / kTeam) {
    const T *update = buffer<const T>(call, 2);
    T *y = buffer<T>(call, 3);
    isWide_ =
        s.inner * sizeof(T) % 16 == 0 && (reinterpret_cast<size_t>(update) | reinterpret_cast<size_t>(y)) % 16 == 0;
    update_ = update + first * s.inner, y_ = y;
  }

  // Adds the window to slice `at` of sample o.
  __device__ void add(const IndexParams &s, Int o, Int at) {
    const T *update = update_ + o * s.indices * inner_ + at * kColumns;
    T *y = y_ + o * s.rows * inner_ + at * kColumns;
    columns_ = int(min(inner_ - at * kColumns, Int(kColumns)));
    int tiles = (count_ + A::kTile - 1) / A::kTile;
#pragma unroll 1
    for (int tile = 1 - A::kStages; tile < tiles; ++tile) {
      if (tile >= 0) {
        asm volatile("cp.async.wait_group %0;" ::"n"(A::kStages - 2) : "memory");
        __syncthreads();
      }
      if (int ahead = tile + A::kStages - 1; ahead < tiles)
        load(update, y, ahead);
      asm volatile("cp.async.commit_group;" ::: "memory");
      if (tile >= 0 && column_ < columns_)
        addTile(y, tile);
    }
    __syncthreads();
  }

private:
  __device__ void load(const T *update, const T *y, int tile) const {
    auto &stage = memory_.tiles[tile % A::kStages];
    int begin = tile * A::kTile;
    unsigned long long heads = memory_.headsOf(tile);
    if (isWide_) {
      static_assert(A::kTile * A::kChunks == A::kThreads);
      int e = threadIdx.x / A::kChunks, chunk = threadIdx.x % A::kChunks, column = chunk * (16 / int(sizeof(T)));
      if (begin + e >= count_ || column >= columns_)
        return;
      copyAhead(&stage[0][e][chunk], reinterpret_cast<const uint4 *>(update + memory_.at[begin + e] * inner_ + column));
      if (heads >> e & 1)
        copyAhead(&stage[1][e][chunk], reinterpret_cast<const uint4 *>(y + rowOf(begin + e) * inner_ + column));
      return;
    }
#pragma unroll 1
    for (int item = threadIdx.x; item < A::kTile * kColumns; item += A::kThreads) {
      int e = item / kColumns, column = item % kColumns;
      if (begin + e >= count_ || column >= columns_)
        continue;
      copyAhead(reinterpret_cast<T *>(stage[0][e]) + column, update + memory_.at[begin + e] * inner_ + column);
      if (heads >> e & 1)
        copyAhead(reinterpret_cast<T *>(stage[1][e]) + column, y + rowOf(begin + e) * inner_ + column);
    }
  }

  // Each team adds the rows whose first update of this tile is one of its kShare. If a row continues in the next tile,
  // its sum is stored where that tile has the slice of y.
  __device__ void addTile(T *y, int tile) const {
    auto &stage = memory_.tiles[tile % A::kStages];
    int begin = tile * A::kTile, end = min(count_ - begin, A::kTile);
    unsigned long long heads = memory_.headsOf(tile) | 1;
#pragma unroll
    for (int e = team_ * kShare; e < (team_ + 1) * kShare; ++e) {
      if (e >= end || !(heads >> e & 1))
        continue;
      unsigned long long after = heads >> e >> 1;
      int until = after ? min(e + __ffsll(static_cast<long long>(after)), end) : end;
      Columns sum = *columns(stage[1][e]);
      const Columns *update = columns(stage[0][e]);
      addTo(sum, *update);
#pragma unroll(sizeof(T) == 2 ? 4 : 8)
      for (int k = e + 1; k < until; ++k)
        addTo(sum, *(update += kTeam));
      if (until == end && begin + end < count_ && !(memory_.headsOf(tile + 1) & 1))
        *columns(memory_.tiles[(tile + 1) % A::kStages][1][0]) = sum;
      else
        store(y + rowOf(begin + e) * inner_ + column_, sum);
    }
  }

  __device__ Int rowOf(int e) const { return rows_.rowOf(memory_.row[e]); }
  __device__ Columns *columns(uint4 *slice) const { return reinterpret_cast<Columns *>(slice) + column_ / kEach; }
  __device__ static void addTo(Columns &sum, const Columns &update) {
    for (int i = 0; i < kEach; ++i)
      combineInto(0, sum.of[i], update.of[i]);
  }
  __device__ void store(T *to, const Columns &sum) const {
    if (isWide_)
      *reinterpret_cast<Columns *>(to) = sum;
    else
      for (int i = 0; i < kEach; ++i)
        if (column_ + i < columns_)
          to[i] = sum.of[i];
  }

  A &memory_;
  RowClass rows_;
  Int inner_;
  const T *update_;
  T *y_;
  int count_, column_, team_, columns_ = 0;
  bool isWide_;
};

// Copies every 32nd of the remaining indices.
template <typename Index> __device__ void copyIndices(Int *numbers, const Index *index, int left) {
#pragma unroll 1
  for (int at = 0; at < min(left, Additions::kRounds * 32); at += 32)
    copyAhead(reinterpret_cast<Index *>(numbers + at), index + at);
}

template <typename T> __device__ void putAdd(const CudaCall &call) {
  using A = Additions;
  __shared__ A memory;
  IndexParams s(call);
  int shift = int(call.params[5]), warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int parity = 0, mine = warp * A::kRounds * 32 + lane; // this thread has every 32nd index from here
  bool isLong = call.params[7] == 8;
#pragma unroll 1
  for (Int item = blockIdx.x; item < call.params[6] << shift; item += gridDim.x) {
    RowClass rows = {shift, unsigned(item) & ((1u << shift) - 1)};
    Int from = 0, copied = 0; // of the indices
    int count = 0, reach = 0; // of the window
#pragma unroll 1
    while (from < s.indices || count > 0) {
#pragma unroll 1
      for (; copied <= from + A::kWindow; copied += A::kWindow) {
        int left = int(max(min(s.indices - copied, Int(A::kWindow)), 0ll)) - mine;
        Int *to = memory.numbers[copied == from ? parity : parity ^ 1] + mine;
        if (isLong)
          copyIndices(to, buffer<const Int>(call, 1) + copied + mine, left);
        else
          copyIndices(to, buffer<const int>(call, 1) + copied + mine, left);
        asm volatile("cp.async.commit_group;" ::: "memory");
      }
      asm volatile("cp.async.wait_group 1;" ::: "memory");
      const Int *numbers = memory.numbers[parity] + mine;
      unsigned rest[A::kRounds], kept[A::kRounds], total = 0;
      bool isWrong = false;
      int left = int(min(s.indices - from, Int(A::kWindow))) - mine;
#pragma unroll
      for (int round = 0; round < A::kRounds; ++round) {
        bool is = round * 32 < left;
        Int row = !is ? 0 : isLong ? numbers[round * 32] : reinterpret_cast<const int &>(numbers[round * 32]);
        row += row < 0 ? s.rows : 0;
        bool isRow = static_cast<unsigned long long>(row) < static_cast<unsigned long long>(s.rows);
        isWrong |= !isRow;
        rest[round] = unsigned(row >> shift);
        kept[round] = __ballot_sync(~0u, is && isRow && rows.has(row));
        total += __popc(kept[round]);
      }
      if (isWrong)
#pragma unroll 1
        for (int at = 0; at < left; at += 32)
          rowOf(call, isLong ? numbers[at] : reinterpret_cast<const int &>(numbers[at]), s.rows);
      if (lane == 0)
        memory.totals[parity][warp] = total;
      __syncthreads();
      int place = count, all = count;
      for (int w = 0; w < A::kWarps; ++w) {
        int each = int(memory.totals[parity][w]);
        place += w < warp ? each : 0, all += each;
      }
      parity ^= 1;
      bool isFull = all > A::kWindow || reach + A::kWindow > A::kReach;
      if (from < s.indices && !(isFull && count > 0)) {
        reach = count == 0 ? 0 : reach;
#pragma unroll
        for (int round = 0; round < A::kRounds; ++round) {
          int e = place + __popc(kept[round] & ((1u << lane) - 1));
          if (kept[round] >> lane & 1)
            memory.row[e] = rest[round], memory.at[e] = static_cast<unsigned short>(reach + mine + round * 32);
          place += __popc(kept[round]);
        }
        count = all, from += A::kWindow, reach += A::kWindow;
        continue;
      }
      asm volatile("cp.async.wait_group 0;" ::: "memory");
      __syncthreads();
      memory.sort(count, unsigned((s.rows - 1) >> shift));
      memory.findHeads(count);
      __syncthreads();
      WindowAdder<T> adder(memory, call, s, rows, count, from - reach);
      Int slices = (s.inner * Int(sizeof(T)) + A::kSliceBytes - 1) / A::kSliceBytes;
#pragma unroll 1
      for (Int pair = item >> shift; pair < s.outer * slices; pair += call.params[6])
        adder.add(s, pair / slices, pair % slices);
      count = 0, copied = from;
    }
  }
}

} // namespace cleave::rt
