// The approximate instructions, directed rounding, and reduced types. Approximate instructions are computed accurately,
// so their bits differ from a device's.
#include "test/cuda/emulated/block/Intrinsics.h"
#include "test/cuda/emulated/block/ReducedTypes.h"
#include <cfenv>
#include <cmath>

namespace cleave::emulated {

namespace {

float exp2Approximate(float x) { return exp2f(x); }
float log2Approximate(float x) { return log2f(x); }
float sinApproximate(float x) { return sinf(x); }
float cosApproximate(float x) { return cosf(x); }
float tanhApproximate(float x) { return tanhf(x); }
float rsqrtApproximate(float x) { return float(1.0 / std::sqrt(double(x))); }
double rsqrtApproximate64(double x) { return 1.0 / std::sqrt(x); }

template <class T> T rounded(uint32_t op, uint32_t mode, T a, T b, T c) {
  static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  int old = fegetround();
  fesetround(modes[mode]);
  volatile T x = a, y = b, z = c, result = 0; // volatile: the compiler must not compute the result in another mode
  switch (RoundedOp(op)) {
  case RoundedOp::Add:
    result = x + y;
    break;
  case RoundedOp::Sub:
    result = x - y;
    break;
  case RoundedOp::Mul:
    result = x * y;
    break;
  case RoundedOp::Fma:
    result = std::fma(x, y, z);
    break;
  case RoundedOp::Div:
    result = x / y;
    break;
  case RoundedOp::Sqrt:
    result = std::sqrt(x);
    break;
  case RoundedOp::Rcp:
    result = T(1) / x;
    break;
  }
  fesetround(old);
  return result;
}
float rounded32(uint32_t op, uint32_t mode, float a, float b, float c) { return rounded<float>(op, mode, a, b, c); }
double rounded64(uint32_t op, uint32_t mode, double a, double b, double c) {
  return rounded<double>(op, mode, a, b, c);
}
float narrow(uint32_t mode, double d) {
  static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  int old = fegetround();
  fesetround(modes[mode]);
  volatile double x = d;
  volatile float result = float(x);
  fesetround(old);
  return result;
}

double wideF16(uint16_t h) { return double(f16ToFloat(h)); }
double wideBf16(uint16_t h) { return double(bf16ToFloat(h)); }
uint16_t narrowF16(double d) { return doubleToF16(d); }
uint16_t narrowBf16(double d) { return doubleToBf16(d); }
uint16_t truncateBf16(float f) { return f != f ? 0x7fff : uint16_t(bitsAs<uint32_t>(f) >> 16); }
float tf32(float f) { return floatToTf32(f); }

} // namespace

void addMathIntrinsics(std::vector<Intrinsic> &list) {
  list.push_back({"emu_ex2", reinterpret_cast<void *>(&exp2Approximate)});
  list.push_back({"emu_lg2", reinterpret_cast<void *>(&log2Approximate)});
  list.push_back({"emu_sin", reinterpret_cast<void *>(&sinApproximate)});
  list.push_back({"emu_cos", reinterpret_cast<void *>(&cosApproximate)});
  list.push_back({"emu_tanh", reinterpret_cast<void *>(&tanhApproximate)});
  list.push_back({"emu_rsqrt", reinterpret_cast<void *>(&rsqrtApproximate)});
  list.push_back({"emu_rsqrt64", reinterpret_cast<void *>(&rsqrtApproximate64)});
  list.push_back({"emu_rounded32", reinterpret_cast<void *>(&rounded32)});
  list.push_back({"emu_rounded64", reinterpret_cast<void *>(&rounded64)});
  list.push_back({"emu_narrow32", reinterpret_cast<void *>(&narrow)});
  list.push_back({"emu_wide_f16", reinterpret_cast<void *>(&wideF16)});
  list.push_back({"emu_wide_bf16", reinterpret_cast<void *>(&wideBf16)});
  list.push_back({"emu_narrow_f16", reinterpret_cast<void *>(&narrowF16)});
  list.push_back({"emu_narrow_bf16", reinterpret_cast<void *>(&narrowBf16)});
  list.push_back({"emu_truncate_bf16", reinterpret_cast<void *>(&truncateBf16)});
  list.push_back({"emu_tf32", reinterpret_cast<void *>(&tf32)});
}

} // namespace cleave::emulated
