// The passes themselves. Sums are computed in f32 and rounded once at the end.
#include "test/cuda/emulated/block/ReducedTypes.h"
#include "test/cuda/emulated/cudnn/Problem.h"
#include <algorithm>
#include <atomic>

namespace cleave::emulated::cudnn {
namespace {

// Stores all elements of a tensor in `out`, as f32. f32 elements are rounded to TF32 unless the descriptor forbids it.
bool gather(const cleave_emulated_memory &memory, uint64_t address, const Problem &p, uint64_t count,
            std::vector<float> &out) {
  const void *data = memory.read(memory.self, address, count * bytesOf(p.type));
  if (!data)
    return false;
  out.resize(count);
  for (uint64_t i = 0; i < count; i++)
    out[i] = p.type == Float  ? static_cast<const float *>(data)[i]
             : p.type == Half ? f16ToFloat(static_cast<const uint16_t *>(data)[i])
                              : bf16ToFloat(static_cast<const uint16_t *>(data)[i]);
  if (p.type == Float && p.math != FmaMath)
    std::transform(out.begin(), out.end(), out.begin(), floatToTf32);
  return true;
}

// Calls visit(input, tap, output) for each input element that an output element reads. The arguments are indices into
// an input plane, a window and an output plane.
template <class Visit> void forEachTriple(const Problem &p, Visit visit) {
  int64_t o[3], k[3];
  for (o[0] = 0; o[0] < p.out[0]; o[0]++)
    for (o[1] = 0; o[1] < p.out[1]; o[1]++)
      for (o[2] = 0; o[2] < p.out[2]; o[2]++)
        for (k[0] = 0; k[0] < p.kernel[0]; k[0]++)
          for (k[1] = 0; k[1] < p.kernel[1]; k[1]++)
            for (k[2] = 0; k[2] < p.kernel[2]; k[2]++) {
              int64_t i[3];
              bool inside = true;
              for (int d = 0; d < 3; d++) {
                i[d] = o[d] * p.stride[d] - p.pad[d] + k[d] * p.dilation[d];
                inside &= i[d] >= 0 && i[d] < p.in[d];
              }
              if (inside)
                visit((i[0] * p.in[1] + i[1]) * p.in[2] + i[2], (k[0] * p.kernel[1] + k[1]) * p.kernel[2] + k[2],
                      (o[0] * p.out[1] + o[1]) * p.out[2] + o[2]);
            }
}

// Adds step(index, part) to `sum` for each `index` below `count`, in `parts` partial sums.
template <class Step>
void inParts(int64_t count, int64_t parts, std::vector<float> &sum, std::vector<float> &part, Step step) {
  parts = std::min(parts, count);
  for (int64_t s = 0; s < parts; s++) {
    std::fill(part.begin(), part.end(), 0.0f);
    for (int64_t at = count * s / parts; at < count * (s + 1) / parts; at++)
      step(at, part);
    for (size_t i = 0; i < sum.size(); i++)
      sum[i] += part[i];
  }
}

// The result as f32: its planes (for weights: its windows) one after the other. Each is a sum over channels or samples.
std::vector<float> sums(const Problem &p, const std::vector<float> &a, const std::vector<float> &b, int64_t parts) {
  int64_t in = p.in[0] * p.in[1] * p.in[2], out = p.out[0] * p.out[1] * p.out[2];
  int64_t taps = p.kernel[0] * p.kernel[1] * p.kernel[2], groupIn = p.ic / p.groups, groupOut = p.oc / p.groups;
  std::vector<float> result;
  auto plane = [&](int64_t size, int64_t count, auto step) {
    std::vector<float> sum(size_t(size), 0.0f), part(static_cast<size_t>(size));
    inParts(count, parts, sum, part, step);
    result.insert(result.end(), sum.begin(), sum.end());
  };
  if (p.pass == Pass::Forward) {
    for (int64_t n = 0; n < p.n; n++)
      for (int64_t oc = 0; oc < p.oc; oc++)
        plane(out, groupIn, [&](int64_t c, std::vector<float> &y) {
          const float *x = &a[size_t((n * p.ic + oc / groupOut * groupIn + c) * in)],
                      *w = &b[size_t((oc * groupIn + c) * taps)];
          forEachTriple(p, [&](int64_t i, int64_t k, int64_t o) { y[size_t(o)] += x[i] * w[k]; });
        });
  } else if (p.pass == Pass::InputGrad) {
    for (int64_t n = 0; n < p.n; n++)
      for (int64_t ic = 0; ic < p.ic; ic++)
        plane(in, groupOut, [&](int64_t c, std::vector<float> &dx) {
          int64_t oc = ic / groupIn * groupOut + c;
          const float *w = &a[size_t((oc * groupIn + ic % groupIn) * taps)], *dy = &b[size_t((n * p.oc + oc) * out)];
          forEachTriple(p, [&](int64_t i, int64_t k, int64_t o) { dx[size_t(i)] += dy[o] * w[k]; });
        });
  } else {
    for (int64_t oc = 0; oc < p.oc; oc++)
      for (int64_t c = 0; c < groupIn; c++)
        plane(taps, p.n, [&](int64_t n, std::vector<float> &dw) {
          const float *x = &a[size_t((n * p.ic + oc / groupOut * groupIn + c) * in)],
                      *dy = &b[size_t((n * p.oc + oc) * out)];
          forEachTriple(p, [&](int64_t i, int64_t k, int64_t o) { dw[size_t(k)] += x[i] * dy[o]; });
        });
  }
  return result;
}

} // namespace

void compute(const Problem &p, const Operands &o, const Algorithm &algorithm, const cleave_emulated_memory &memory) {
  static std::atomic<int> calls{0};
  std::vector<float> a, b;
  bool isForward = p.pass == Pass::Forward, isInput = p.pass == Pass::InputGrad;
  uint64_t count = isForward ? p.yCount() : isInput ? p.xCount() : p.wCount();
  if (!gather(memory, o.a, p, isInput ? p.wCount() : p.xCount(), a) ||
      !gather(memory, o.b, p, isForward ? p.wCount() : p.yCount(), b))
    return;
  if (algorithm.workspace) { // its contents are undefined afterwards
    auto *scratch = static_cast<uint8_t *>(memory.write(memory.self, o.workspace, algorithm.workspace));
    if (!scratch)
      return;
    std::fill(scratch, scratch + algorithm.workspace, 0xff);
  }
  std::vector<float> old;
  if (o.beta != 0 && !gather(memory, o.c, p, count, old))
    return;
  int64_t parts = algorithm.determinism == Deterministic ? algorithm.parts : 1 + calls++ % 4;
  std::vector<float> result = sums(p, a, b, parts);
  void *to = memory.write(memory.self, o.c, count * bytesOf(p.type));
  if (!to)
    return;
  for (uint64_t i = 0; i < count; i++) {
    float v = o.alpha * result[i] + (old.empty() ? 0.0f : o.beta * old[i]);
    if (p.type == Float)
      static_cast<float *>(to)[i] = v;
    else
      static_cast<uint16_t *>(to)[i] = p.type == Half ? floatToF16(v) : floatToBf16(v);
  }
}

} // namespace cleave::emulated::cudnn
