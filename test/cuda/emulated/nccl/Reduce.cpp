// The results of collectives. A sum is passed from rank to rank, and is rounded to the data's type at every rank, as on
// a device. So sums of reduced types differ from a sum in f32, and from one in the order of the ranks. The order is the
// same in every run, but each kind of collective has another one, as in NCCL: each 4 KiB of an all-reduce starts at
// another rank, a part of a reduce-scatter after its owner, and a reduce after its root.
#include "test/cuda/emulated/block/ReducedTypes.h"
#include "test/cuda/emulated/nccl/Clique.h"
#include <algorithm>
#include <cstring>

namespace cleave::emulated::nccl {
namespace {

template <class T> T combine(int op, T a, T b) {
  switch (op) {
  case Prod:
    return T(a * b);
  case Max:
    return std::max(a, b);
  case Min:
    return std::min(a, b);
  default:
    return T(a + b);
  }
}

struct Half {
  uint16_t bits;
};
struct Brain {
  uint16_t bits;
};
double wide(Half h) { return f16ToFloat(h.bits); }
double wide(Brain b) { return bf16ToFloat(b.bits); }
template <class T> T wide(T v) { return v; }
void narrow(double v, Half &h) { h.bits = doubleToF16(v); }
void narrow(double v, Brain &b) { b.bits = doubleToBf16(v); }
template <class T> void narrow(T v, T &to) { to = v; }

// Elements [first, first + count) of every rank's buffer, which are summed from `start` on.
struct Part {
  uint64_t first, count;
  size_t start;
  bool rotates = false; // each 4 KiB starts at another rank
};

template <class T> void reduce(const std::vector<Call> &calls, const Part &part, uint8_t *out) {
  auto *result = reinterpret_cast<T *>(out);
  size_t ranks = calls.size();
  uint64_t first = part.first;
  for (uint64_t i = 0; i < part.count; i++) {
    size_t start = (part.start + (part.rotates ? i * sizeof(T) / 4096 : 0)) % ranks;
    auto at = [&](size_t hop) { return static_cast<const T *>(calls[(start + hop) % ranks].sendHost)[first + i]; };
    T total = at(0);
    for (size_t hop = 1; hop < ranks; hop++) {
      auto sum = combine(calls[0].op, wide(total), wide(at(hop)));
      narrow(sum, total);
    }
    if (calls[0].op == Avg) {
      auto mean = decltype(wide(total))(wide(total) / decltype(wide(total))(ranks));
      narrow(mean, total);
    }
    result[i] = total;
  }
}

void reduceTyped(const std::vector<Call> &calls, const Part &part, uint8_t *out) {
  switch (calls[0].type) {
  case Int8:
    return reduce<int8_t>(calls, part, out);
  case UInt8:
    return reduce<uint8_t>(calls, part, out);
  case Int32:
    return reduce<int32_t>(calls, part, out);
  case UInt32:
    return reduce<uint32_t>(calls, part, out);
  case Int64:
    return reduce<int64_t>(calls, part, out);
  case UInt64:
    return reduce<uint64_t>(calls, part, out);
  case F16:
    return reduce<Half>(calls, part, out);
  case BF16:
    return reduce<Brain>(calls, part, out);
  case F64:
    return reduce<double>(calls, part, out);
  default:
    return reduce<float>(calls, part, out);
  }
}

} // namespace

std::vector<uint8_t> resultOf(const std::vector<Call> &calls, int rank) {
  const Call &call = calls[size_t(rank)];
  size_t element = bytesOf(call.type), bytes = call.count * element;
  std::vector<uint8_t> out;
  switch (call.kind) {
  case Kind::Reduce:
    if (rank != call.root)
      return out;
    out.resize(bytes);
    reduceTyped(calls, {0, call.count, size_t(call.root) + 1}, out.data());
    return out;
  case Kind::AllReduce:
    out.resize(bytes);
    reduceTyped(calls, {0, call.count, 0, true}, out.data());
    return out;
  case Kind::ReduceScatter:
    out.resize(bytes);
    reduceTyped(calls, {uint64_t(rank) * call.count, call.count, size_t(rank) + 1}, out.data());
    return out;
  case Kind::Broadcast:
    out.resize(bytes);
    memcpy(out.data(), calls[size_t(call.root)].sendHost, bytes);
    return out;
  case Kind::AllGather:
    out.resize(bytes * calls.size());
    for (size_t r = 0; r < calls.size(); r++)
      memcpy(out.data() + r * bytes, calls[r].sendHost, bytes);
    return out;
  default:
    return out;
  }
}

} // namespace cleave::emulated::nccl
