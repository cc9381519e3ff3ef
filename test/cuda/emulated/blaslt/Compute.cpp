// The product itself. Sums are computed in the compute type. Epilogues are applied to them before the one rounding at
// the end.
#include "test/cuda/emulated/blaslt/Problem.h"
#include "test/cuda/emulated/block/ReducedTypes.h"
#include <cmath>
#include <cstdlib>
#include <vector>

namespace cleave::emulated::blaslt {
namespace {

double load(const void *p, int type, uint64_t i) {
  switch (type) {
  case R_64F:
    return static_cast<const double *>(p)[i];
  case R_32F:
    return static_cast<const float *>(p)[i];
  case R_16F:
    return f16ToFloat(static_cast<const uint16_t *>(p)[i]);
  default:
    return bf16ToFloat(static_cast<const uint16_t *>(p)[i]);
  }
}

void store(void *p, int type, uint64_t i, double v) {
  switch (type) {
  case R_64F:
    static_cast<double *>(p)[i] = v;
    break;
  case R_32F:
    static_cast<float *>(p)[i] = float(v);
    break;
  case R_16F:
    static_cast<uint16_t *>(p)[i] = doubleToF16(v);
    break;
  default:
    static_cast<uint16_t *>(p)[i] = doubleToBf16(v);
  }
}

// A column-major matrix in device memory, column by column. Only its elements are accessed, because the bytes between
// columns may belong to other tensors.
class Columns {
public:
  Columns(const cleave_emulated_memory &memory, uint64_t address, int type, uint64_t rows, int64_t ld)
      : memory(memory), address(address), type(type), rows(rows), ld(ld) {}
  const void *read(uint64_t column) const { return memory.read(memory.self, at(column), rows * bytesOf(type)); }
  void *write(uint64_t column) const { return memory.write(memory.self, at(column), rows * bytesOf(type)); }

private:
  uint64_t at(uint64_t column) const { return address + column * uint64_t(ld) * bytesOf(type); }
  const cleave_emulated_memory &memory;
  uint64_t address;
  int type;
  uint64_t rows;
  int64_t ld;
};

// Stores op(X) in `out`, as a dense column-major matrix of T. Returns false after an error.
template <class T>
bool gather(const cleave_emulated_memory &memory, uint64_t address, const Layout &l, bool transposed, bool tf32,
            std::vector<T> &out) {
  out.resize(l.rows * l.cols);
  Columns columns(memory, address, l.type, l.rows, l.ld);
  for (uint64_t c = 0; c < l.cols; c++) {
    const void *p = columns.read(c);
    if (!p)
      return false;
    for (uint64_t r = 0; r < l.rows; r++) {
      double v = load(p, l.type, r);
      out[transposed ? r * l.cols + c : c * l.rows + r] = T(tf32 ? floatToTf32(float(v)) : v);
    }
  }
  return true;
}

double roundTo(int type, double value) {
  uint64_t bits = 0;
  store(&bits, type, 0, value);
  return load(&bits, type, 0);
}

// sum = A * B. The inner dimension is split into `parts` partial sums, so that each algorithm has an order of addition
// of its own. If `roundsParts`, each partial sum, and each sum of them, is rounded to the result's type.
template <class T>
void multiply(const Problem &p, const std::vector<T> &a, const std::vector<T> &b, uint64_t parts, bool roundsParts,
              std::vector<T> &sum) {
  sum.assign(p.m * p.n, T(0));
  std::vector<T> part(p.m);
  for (uint64_t j = 0; j < p.n; j++)
    for (uint64_t s = 0; s < parts; s++) {
      std::fill(part.begin(), part.end(), T(0));
      for (uint64_t l = p.k * s / parts; l < p.k * (s + 1) / parts; l++) {
        T factor = b[j * p.k + l];
        const T *column = &a[l * p.m];
        for (uint64_t i = 0; i < p.m; i++)
          part[i] += column[i] * factor;
      }
      for (uint64_t i = 0; i < p.m; i++)
        if (T &total = sum[j * p.m + i]; roundsParts)
          total = T(roundTo(p.d.type, double(total) + roundTo(p.d.type, double(part[i]))));
        else
          total += part[i];
    }
}

double gelu(double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }
double geluGradient(double x) {
  double t = std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

// The types of the vectors and matrices that epilogues use, if the descriptor does not give them: that of D.
int biasType(const Problem &p) { return p.desc.biasType >= 0 ? p.desc.biasType : p.d.type; }
int auxType(const Problem &p) { return p.desc.auxType >= 0 ? p.desc.auxType : p.d.type; }

bool storeVector(const cleave_emulated_memory &memory, uint64_t address, int type, const std::vector<double> &values) {
  void *p = memory.write(memory.self, address, values.size() * bytesOf(type));
  for (uint64_t i = 0; p && i < values.size(); i++)
    store(p, type, i, values[i]);
  return p != nullptr;
}

// The auxiliary matrix of relu has one bit for each element, in columns of auxLd bits. That of gelu has the inputs of
// the function.
bool applyFunction(const Problem &p, const cleave_emulated_memory &memory, uint64_t auxAddress, uint64_t column,
                   std::vector<double> &values) {
  uint32_t e = p.desc.epilogue;
  bool bits = e & (EpilogueRelu | EpilogueDRelu), reads = e & (EpilogueDRelu | EpilogueDGelu);
  uint64_t bytes = bits ? (p.m + 7) / 8 : p.m * bytesOf(auxType(p));
  uint64_t at =
      auxAddress + (bits ? column * uint64_t(p.desc.auxLd) / 8 : column * uint64_t(p.desc.auxLd) * bytesOf(auxType(p)));
  void *written = (e & EpilogueAux) && !reads ? memory.write(memory.self, at, bytes) : nullptr;
  const void *read = reads ? memory.read(memory.self, at, bytes) : nullptr;
  if ((e & EpilogueAux) && !written && !read)
    return false;
  for (uint64_t i = 0; i < p.m; i++) {
    double &v = values[i];
    uint8_t bit = uint8_t(1u << (i % 8));
    if (written && bits) {
      uint8_t &byte = static_cast<uint8_t *>(written)[i / 8];
      byte = v > 0 ? byte | bit : byte & uint8_t(~bit);
    } else if (written) {
      store(written, auxType(p), i, v);
    }
    if (e & EpilogueRelu)
      v = v > 0 ? v : 0;
    if (e & EpilogueGelu)
      v = gelu(v);
    if (e & EpilogueDRelu)
      v = static_cast<const uint8_t *>(read)[i / 8] & bit ? v : 0;
    if (e & EpilogueDGelu)
      v *= geluGradient(load(read, auxType(p), i));
  }
  return true;
}

template <class T>
bool finish(const Problem &p, const Operands &o, double alpha, double beta, uint64_t batch, const std::vector<T> &sum,
            const cleave_emulated_memory &memory) {
  auto step = [&](const Layout &l) { return batch * uint64_t(l.batchStride) * bytesOf(l.type); };
  Columns c(memory, o.c + step(p.c), p.c.type, p.m, p.c.ld), d(memory, o.d + step(p.d), p.d.type, p.m, p.d.ld);
  uint64_t biasAt = p.desc.bias + batch * uint64_t(p.desc.biasBatchStride) * bytesOf(biasType(p));
  uint64_t auxAt = p.desc.aux + batch * uint64_t(p.desc.auxBatchStride) * bytesOf(auxType(p));
  const void *bias = nullptr;
  if (p.desc.epilogue & EpilogueBias) {
    bias = memory.read(memory.self, biasAt, p.m * bytesOf(biasType(p)));
    if (!bias)
      return false;
  }
  std::vector<double> values(p.m), gradient(p.m, 0);
  for (uint64_t j = 0; j < p.n; j++) {
    const void *old = beta != 0 ? c.read(j) : nullptr;
    if (beta != 0 && !old)
      return false;
    for (uint64_t i = 0; i < p.m; i++) {
      values[i] = alpha * double(sum[j * p.m + i]);
      if (old)
        values[i] += beta * load(old, p.c.type, i);
      if (bias)
        values[i] += load(bias, biasType(p), i);
    }
    if (!applyFunction(p, memory, auxAt, j, values))
      return false;
    void *to = d.write(j);
    if (!to)
      return false;
    for (uint64_t i = 0; i < p.m; i++) {
      store(to, p.d.type, i, values[i]);
      gradient[i] += values[i];
    }
  }
  return !(p.desc.epilogue & EpilogueBiasGradient) || storeVector(memory, biasAt, biasType(p), gradient);
}

// Bias gradients of the operands: sums over the inner dimension. CLEAVE_EMULATED_BLASLT_SHORT_SUMS=1 leaves out the
// last value.
template <class T>
bool operandGradients(const Problem &p, uint64_t batch, const std::vector<T> &a, const std::vector<T> &b,
                      const cleave_emulated_memory &memory) {
  uint64_t at = p.desc.bias + batch * uint64_t(p.desc.biasBatchStride) * bytesOf(biasType(p));
  uint64_t length = p.k - (getenv("CLEAVE_EMULATED_BLASLT_SHORT_SUMS") ? 1 : 0);
  if (p.desc.epilogue & EpilogueBiasGradientA) {
    std::vector<double> total(p.m, 0);
    for (uint64_t l = 0; l < length; l++)
      for (uint64_t i = 0; i < p.m; i++)
        total[i] += double(a[l * p.m + i]);
    return storeVector(memory, at, biasType(p), total);
  }
  if (p.desc.epilogue & EpilogueBiasGradientB) {
    std::vector<double> total(p.n, 0);
    for (uint64_t j = 0; j < p.n; j++)
      for (uint64_t l = 0; l < length; l++)
        total[j] += double(b[j * p.k + l]);
    return storeVector(memory, at, biasType(p), total);
  }
  return true;
}

template <class T>
bool computeBatch(const Problem &p, const Operands &o, double alpha, double beta, const Algorithm &algorithm,
                  uint64_t batch, const cleave_emulated_memory &memory) {
  uint64_t parts = std::min<uint64_t>(algorithm.id + 1, std::max<uint64_t>(p.k, 1));
  bool roundsParts = parts > 1 && algorithm.reduction != ReductionComputeType;
  auto step = [&](const Layout &l) { return batch * uint64_t(l.batchStride) * bytesOf(l.type); };
  bool tf32 = p.desc.computeType == Compute32FastTF32;
  std::vector<T> a, b, sum;
  return gather(memory, o.a + step(p.a), p.a, p.desc.transA != OpN, tf32, a) &&
         gather(memory, o.b + step(p.b), p.b, p.desc.transB != OpN, tf32, b) &&
         (multiply(p, a, b, parts, roundsParts, sum), finish(p, o, alpha, beta, batch, sum, memory)) &&
         operandGradients(p, batch, a, b, memory);
}

} // namespace

void compute(const Problem &p, const Operands &o, const Algorithm &algorithm, const cleave_emulated_memory &memory) {
  double alpha = o.alpha, beta = o.beta;
  if (p.desc.pointerMode == 1) {
    const void *x = memory.read(memory.self, o.alphaPointer, bytesOf(p.desc.scaleType));
    const void *y = x ? memory.read(memory.self, o.betaPointer, bytesOf(p.desc.scaleType)) : nullptr;
    if (!y)
      return;
    alpha = load(x, p.desc.scaleType, 0);
    beta = load(y, p.desc.scaleType, 0);
  }
  // The contents of an algorithm's workspace are undefined: fill it with NaN patterns, and record a write.
  if (algorithm.workspace) {
    auto *scratch = static_cast<uint8_t *>(memory.write(memory.self, o.workspace, algorithm.workspace));
    if (!scratch)
      return;
    std::fill(scratch, scratch + algorithm.workspace, 0xff);
  }
  for (uint64_t batch = 0; batch < uint64_t(p.d.batchCount); batch++) {
    bool good = p.desc.computeType == Compute64F ? computeBatch<double>(p, o, alpha, beta, algorithm, batch, memory)
                                                 : computeBatch<float>(p, o, alpha, beta, algorithm, batch, memory);
    if (!good)
      return;
  }
}

} // namespace cleave::emulated::blaslt
