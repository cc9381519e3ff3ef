// Pools and their gradients. params: planes count_pad, then a window at 2.
//
// Positions of a plane are 32-bit numbers, and are divided by multiplication (Divider), because 64-bit numbers and
// divisions took most of the time. The terms of a sum are added in ascending order of taps, or of outputs.
#pragma once

#include "kernels/common/cuda/Device.cuh"

namespace cleave::rt {

// Computes n / by for n from 0 to 2^31 - 1, as (n * magic / 2^32 + n) / 2^shift.
struct Divider {
  unsigned magic, shift;
  __device__ explicit Divider(int divisor) {
    unsigned by = divisor > 1 ? divisor : 1;
    shift = by == 1 ? 0 : 32 - __clz(static_cast<int>(by - 1));
    magic = static_cast<unsigned>((((1ull << shift) - by) << 32) / by) + 1;
  }
  __device__ int quotient(int n) const {
    unsigned number = static_cast<unsigned>(n);
    return static_cast<int>((__umulhi(number, magic) + number) >> shift);
  }
};

struct Range {
  int first, end;
};

// A window on one dimension.
struct PoolAxis {
  int in, out, kernel, stride, dilation, padLow, padHigh;
  Divider byIn, byOut, byStride;

  __device__ PoolAxis(const DeviceWindow &window, int d)
      : in(static_cast<int>(window.in[d])), out(static_cast<int>(window.out[d])),
        kernel(static_cast<int>(window.kernel[d])), stride(static_cast<int>(window.stride[d])),
        dilation(static_cast<int>(window.dilation[d])), padLow(static_cast<int>(window.padLow[d])),
        padHigh(static_cast<int>(window.padHigh[d])), byIn(in), byOut(out), byStride(stride) {}

  __device__ int start(int output) const { return output * stride - padLow; }
  // The number of taps of a window that begins at `start` whose positions are below `end`.
  __device__ int tapsBelow(int start, int end) const {
    int room = end - start;
    return room <= 0 ? 0 : min(kernel, dilation == 1 ? room : (room + dilation - 1) / dilation);
  }
  // The taps that are not in the padding.
  __device__ Range taps(int start) const { return {tapsBelow(start, 0), tapsBelow(start, in)}; }
  // The outputs whose windows reach one of the inputs `first` to `last`. With dilation, some of them may read none of
  // these.
  __device__ Range readers(int first, int last) const {
    int begin = first + padLow - (kernel - 1) * dilation;
    return {begin <= 0 ? 0 : byStride.quotient(begin + stride - 1), min(byStride.quotient(last + padLow) + 1, out)};
  }
  // True if this output, one of the input's readers, has a tap on the input.
  __device__ bool reads(int output, int input) const {
    return dilation == 1 || (input - start(output)) % dilation == 0;
  }
  // The number of positions of this output that the mean divides by.
  __device__ int positions(int output, bool countPad) const {
    Range inside = taps(start(output));
    return countPad ? tapsBelow(start(output), in + padHigh) : inside.end - inside.first;
  }
};

struct PoolWindow {
  PoolAxis d, h, w;
  int in, out; // of a plane
  __device__ explicit PoolWindow(const DeviceWindow &window)
      : d(window, 0), h(window, 1), w(window, 2), in(d.in * h.in * w.in), out(d.out * h.out * w.out) {
    constexpr Int kMost = PoolWork::kMost;
    bool fits = window.inSize() <= kMost && window.outSize() <= kMost;
    for (int i = 0; i < 3; ++i)
      fits &= window.in[i] + window.padLow[i] + window.padHigh[i] <= kMost && window.stride[i] <= kMost &&
              window.kernel[i] * window.dilation[i] <= kMost;
    if (!fits)
      __trap(); // an error instead of wrong results
  }

  // Calls visit(input) for each tap of an output that is not in the padding, row-major.
  template <typename Visit> __device__ void forEachTap(int output, Visit visit) const {
    int row = w.byOut.quotient(output), slice = h.byOut.quotient(row);
    int startD = d.start(slice), startH = h.start(row - slice * h.out), startW = w.start(output - row * w.out);
    Range tapsD = d.taps(startD), tapsH = h.taps(startH), tapsW = w.taps(startW);
#pragma unroll 1
    for (int kd = tapsD.first; kd < tapsD.end; ++kd)
#pragma unroll 1
      for (int kh = tapsH.first; kh < tapsH.end; ++kh) {
        int line = ((startD + kd * d.dilation) * h.in + startH + kh * h.dilation) * w.in + startW;
#pragma unroll 1
        for (int kw = tapsW.first; kw < tapsW.end; ++kw)
          visit(line + kw * w.dilation);
      }
  }
};

// Calls work(plane, item) for the work items of a thread. Items of each plane are numbered from 0.
template <typename Work> __device__ void forEachOfPlanes(Int planes, int ofPlane, Work work) {
  if (ofPlane == 0)
    return;
  Divider byPlane(ofPlane);
  Int most = (Int(1) << 30) / ofPlane; // planes whose items fit in 32 bits
#pragma unroll 1
  for (Int first = 0; first < planes; first += most) {
    int items = static_cast<int>(min(most, planes - first)) * ofPlane;
#pragma unroll 1
    for (int item = blockIdx.x * blockDim.x + threadIdx.x; item < items; item += gridDim.x * blockDim.x) {
      int plane = byPlane.quotient(item);
      work(first + plane, item - plane * ofPlane);
    }
  }
}

// Returns the input that is the maximum of an output's window: the first of equal ones, where a NaN is larger than any
// number. Returns -1 if the whole window is in the padding.
template <typename T> __device__ int maximumOf(const T *plane, const PoolWindow &window, int output) {
  using C = typename ComputeOf<T>::type;
  int best = -1;
  C maximum = C();
  window.forEachTap(output, [&](int input) {
    C value = widened<C>(plane[input]);
    if (best < 0 || value > maximum || (value != value && maximum == maximum)) {
      best = input;
      maximum = value;
    }
  });
  return best;
}

template <typename T> __device__ void maxPool(const CudaCall &call) {
  using C = typename ComputeOf<T>::type;
  PoolWindow window(DeviceWindow(call, 2));
  const T *x = buffer<T>(call, 0);
  T *y = buffer<T>(call, 1);
  forEachOfPlanes(call.params[0], window.out, [&](Int number, int output) {
    const T *plane = x + number * window.in;
    int best = maximumOf(plane, window, output);
    y[number * window.out + output] = best < 0 ? rounded<T>(C(-INFINITY)) : plane[best];
  });
}

// Neighbours in a row whose gradients a thread computes together: most outputs that read one of them read the others
// too.
struct PoolGroups {
  static constexpr int kInputs = 4;
  int ofRow, ofPlane;
  Divider byRow;
  __device__ explicit PoolGroups(const PoolWindow &window)
      : ofRow((window.w.in + kInputs - 1) / kInputs), ofPlane(window.d.in * window.h.in * ofRow), byRow(ofRow) {}
};

// Computes the gradients of a group. For each input, adds the gradients of the outputs that have their maximum there,
// in ascending order. maximum(output) returns the input that has the output's maximum.
template <typename T, typename Maximum>
__device__ void gatherMaxima(const PoolWindow &window, const PoolGroups &groups, int group, const T *dy, T *dx,
                             Maximum maximum) {
  using C = typename ComputeOf<T>::type;
  constexpr int kInputs = PoolGroups::kInputs, kBytes = sizeof(T) * kInputs;
  struct alignas(kBytes < 16 ? kBytes : 16) Vector {
    T values[kInputs];
  };
  int row = groups.byRow.quotient(group), slice = window.h.byIn.quotient(row), line = row - slice * window.h.in;
  int first = (group - row * groups.ofRow) * kInputs, count = min(kInputs, window.w.in - first);
  int input = row * window.w.in + first;
  Range d = window.d.readers(slice, slice), h = window.h.readers(line, line);
  Range w = window.w.readers(first, first + count - 1);
  C sums[kInputs] = {};
#pragma unroll 1
  for (int od = d.first; od < d.end; ++od)
#pragma unroll 1
    for (int oh = h.first; oh < h.end; ++oh) {
      int output = (od * window.h.out + oh) * window.w.out + w.first, end = output + w.end - w.first;
#pragma unroll 1
      for (; output < end; ++output) {
        int at = maximum(output) - input;
        if (at < 0 || at >= count)
          continue;
        C term = widened<C>(dy[output]);
#pragma unroll
        for (int i = 0; i < kInputs; ++i)
          if (i == at)
            sums[i] += term;
      }
    }
  bool isAligned = window.w.in % kInputs == 0 && reinterpret_cast<unsigned long long>(dx) % alignof(Vector) == 0;
  Vector vector;
#pragma unroll
  for (int i = 0; i < kInputs; ++i) {
    vector.values[i] = rounded<T>(sums[i]);
    if (!isAligned && i < count)
      dx[input + i] = vector.values[i];
  }
  if (isAligned)
    *reinterpret_cast<Vector *>(dx + input) = vector;
}

// A block finds the maxima of a few planes' outputs and keeps their positions in shared memory. If planes are few or
// large, each thread finds the maxima that it needs.
template <typename T> __device__ void maxPoolGrad(const CudaCall &call) {
  constexpr int kPlaces = 12800, kNowhere = 65535, kManyPlanes = 128;
  __shared__ unsigned short places[kPlaces];
  PoolWindow window(DeviceWindow(call, 2));
  PoolGroups groups(window);
  Int planes = call.params[0];
  const T *x = buffer<T>(call, 0), *dy = buffer<T>(call, 1);
  T *dx = buffer<T>(call, 2);
  if (planes < kManyPlanes || window.out > kPlaces || window.in > kNowhere) {
    forEachOfPlanes(planes, groups.ofPlane, [&](Int plane, int group) {
      gatherMaxima(window, groups, group, dy + plane * window.out, dx + plane * window.in,
                   [&](int output) { return maximumOf(x + plane * window.in, window, output); });
    });
    return;
  }
  // A quarter of the blocks get work: as many as run at a time.
  Int blocks = max(1, gridDim.x / 4), wanted = (planes + blocks - 1) / blocks;
  int together = static_cast<int>(min(Int(kPlaces / max(1, window.out)), wanted));
  Divider byOut(window.out), byPlane(groups.ofPlane);
#pragma unroll 1
  for (Int first = Int(blockIdx.x) * together; first < planes; first += Int(gridDim.x) * together) {
    int count = static_cast<int>(min(Int(together), planes - first));
#pragma unroll 1
    for (int item = threadIdx.x; item < count * window.out; item += blockDim.x) {
      int plane = byOut.quotient(item);
      int best = maximumOf(x + (first + plane) * window.in, window, item - plane * window.out);
      places[item] = static_cast<unsigned short>(best < 0 ? kNowhere : best);
    }
    __syncthreads();
#pragma unroll 1
    for (int item = threadIdx.x; item < count * groups.ofPlane; item += blockDim.x) {
      int plane = byPlane.quotient(item);
      gatherMaxima(window, groups, item - plane * groups.ofPlane, dy + (first + plane) * window.out,
                   dx + (first + plane) * window.in,
                   [&](int output) { return int(places[plane * window.out + output]); });
    }
    __syncthreads();
  }
}

template <typename T> __device__ void averagePool(const CudaCall &call) {
  using C = typename ComputeOf<T>::type;
  PoolWindow window(DeviceWindow(call, 2));
  bool countPad = call.params[1] != 0;
  const T *x = buffer<T>(call, 0);
  T *y = buffer<T>(call, 1);
  forEachOfPlanes(call.params[0], window.out, [&](Int number, int output) {
    int row = window.w.byOut.quotient(output), slice = window.h.byOut.quotient(row);
    const T *plane = x + number * window.in;
    C sum = C(0);
    window.forEachTap(output, [&](int input) { sum += widened<C>(plane[input]); });
    int positions = window.d.positions(slice, countPad) * window.h.positions(row - slice * window.h.out, countPad) *
                    window.w.positions(output - row * window.w.out, countPad);
    y[number * window.out + output] = rounded<T>(sum / static_cast<C>(max(positions, 1)));
  });
}

// Each thread computes the gradient of an input.
template <typename T> __device__ void averagePoolGrad(const CudaCall &call) {
  using C = typename ComputeOf<T>::type;
  PoolWindow window(DeviceWindow(call, 2));
  bool countPad = call.params[1] != 0;
  const T *dy = buffer<T>(call, 0);
  T *dx = buffer<T>(call, 1);
  forEachOfPlanes(call.params[0], window.in, [&](Int plane, int input) {
    int row = window.w.byIn.quotient(input), slice = window.h.byIn.quotient(row);
    int line = row - slice * window.h.in, column = input - row * window.w.in;
    Range d = window.d.readers(slice, slice), h = window.h.readers(line, line), w = window.w.readers(column, column);
    C sum = C(0);
#pragma unroll 1
    for (int od = d.first; od < d.end; ++od)
#pragma unroll 1
      for (int oh = h.first; oh < h.end; ++oh) {
        if (!window.d.reads(od, slice) || !window.h.reads(oh, line))
          continue;
        int positions = window.d.positions(od, countPad) * window.h.positions(oh, countPad);
        const T *outputs = dy + plane * window.out + (od * window.h.out + oh) * window.w.out;
#pragma unroll 1
        for (int ow = w.first; ow < w.end; ++ow)
          if (window.w.reads(ow, column))
            sum += widened<C>(outputs[ow]) / static_cast<C>(positions * window.w.positions(ow, countPad));
      }
    dx[plane * window.in + input] = rounded<T>(sum);
  });
}

} // namespace cleave::rt
