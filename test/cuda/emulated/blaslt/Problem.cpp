#include "test/cuda/emulated/blaslt/Problem.h"

namespace cleave::emulated::blaslt {

unsigned bytesOf(int type) {
  switch (type) {
  case R_64F:
    return 8;
  case R_32F:
    return 4;
  case R_16F:
  case R_16BF:
    return 2;
  default:
    return 0;
  }
}

namespace {

// A row-major matrix is a transposed column-major matrix.
void normalize(Layout &l, int &operation) {
  if (l.order != RowMajor)
    return;
  std::swap(l.rows, l.cols);
  operation = operation == OpN ? OpT : OpN;
  l.order = ColumnMajor;
}

bool typesAreSupported(const Desc &desc, int a, int b, int c, int d) {
  if (a != b || c != d)
    return false;
  if (desc.computeType == Compute64F)
    return a == R_64F && d == R_64F && desc.scaleType == R_64F;
  bool single =
      desc.computeType == Compute32F || desc.computeType == Compute32FPedantic || desc.computeType == Compute32FastTF32;
  if (!single || desc.scaleType != R_32F)
    return false;
  if (desc.computeType == Compute32FastTF32)
    return a == R_32F && d == R_32F;
  return (a == R_32F && d == R_32F) || ((a == R_16F || a == R_16BF) && (d == a || d == R_32F));
}

int checkLayout(const Layout &l, const char *name, std::string &why) {
  if (!bytesOf(l.type)) {
    why = std::string(name) + ": this type is not emulated";
    return NotSupported;
  }
  if (l.order != ColumnMajor) {
    why = std::string(name) + ": this order is not emulated";
    return NotSupported;
  }
  if (l.ld < int64_t(l.rows) || l.batchCount < 1) {
    why = std::string(name) + ": the leading dimension is below the rows, or the batch is empty";
    return InvalidValue;
  }
  return Success;
}

int checkEpilogue(const Problem &p, std::string &why) {
  uint32_t e = p.desc.epilogue;
  static const uint32_t known[] = {1,  2,        4,  6,        2 | 128,  6 | 128,  8 | 128, 24 | 128,
                                   32, 32 | 128, 36, 36 | 128, 64 | 128, 80 | 128, 256,     512};
  bool found = false;
  for (uint32_t k : known)
    found |= k == e;
  if (!found) {
    why = "epilogue " + std::to_string(e) + " is none of the API's";
    return InvalidValue;
  }
  if ((usesBias(e) && !p.desc.bias) || ((e & EpilogueAux) && (!p.desc.aux || p.desc.auxLd < int64_t(p.m)))) {
    why = "the epilogue needs a bias or an auxiliary matrix that is not given";
    return InvalidValue;
  }
  // A library may load a bias 16 bytes at a time. Real ones fail at other addresses, but not with each algorithm.
  if (usesBias(e) && p.desc.bias % 16 != 0) {
    why = "the bias is at an address that is no multiple of 16 bytes";
    return InvalidValue;
  }
  // From cublasLt.h: a row of relu's bits begins at a multiple of 16 bytes, and one of gelu's at a multiple of 8
  // elements.
  int64_t multiple = e & (EpilogueRelu | EpilogueDRelu) ? 128 : 8;
  if ((e & EpilogueAux) && p.desc.auxLd % multiple != 0) {
    why = "the auxiliary matrix's leading dimension is no multiple of " + std::to_string(multiple);
    return NotSupported;
  }
  // A rule of the library that its users have found (nvmath-python): the summed rows must be stored as the product
  // reads them.
  if ((e == EpilogueBiasGradientA && p.desc.transA != OpN) || (e == EpilogueBiasGradientB && p.desc.transB == OpN)) {
    why = "the gradient of a bias is of A as it is, or of B transposed";
    return NotSupported;
  }
  return Success;
}

} // namespace

int makeProblem(const Desc &desc, const Layout &a, const Layout &b, const Layout &c, const Layout &d, Problem &p,
                std::string &why) {
  p.desc = desc;
  p.a = a;
  p.b = b;
  p.c = c;
  p.d = d;
  if (p.d.order == RowMajor || p.c.order == RowMajor) { // D^T = op(B)^T op(A)^T, which Cleave does not need
    why = "row-major results are not emulated: describe the transposed product";
    return NotSupported;
  }
  normalize(p.a, p.desc.transA);
  normalize(p.b, p.desc.transB);
  for (auto [l, name] : {std::pair<const Layout *, const char *>{&p.a, "A"}, {&p.b, "B"}, {&p.c, "C"}, {&p.d, "D"}})
    if (int status = checkLayout(*l, name, why))
      return status;
  p.m = p.desc.transA == OpN ? p.a.rows : p.a.cols;
  p.k = p.desc.transA == OpN ? p.a.cols : p.a.rows;
  uint64_t kOfB = p.desc.transB == OpN ? p.b.rows : p.b.cols;
  p.n = p.desc.transB == OpN ? p.b.cols : p.b.rows;
  if (kOfB != p.k || p.d.rows != p.m || p.d.cols != p.n || p.c.rows != p.m || p.c.cols != p.n) {
    why = "the sizes do not fit: A gives " + std::to_string(p.m) + " x " + std::to_string(p.k) + ", B " +
          std::to_string(kOfB) + " x " + std::to_string(p.n) + ", D is " + std::to_string(p.d.rows) + " x " +
          std::to_string(p.d.cols);
    return InvalidValue;
  }
  if (p.a.batchCount != p.d.batchCount || p.b.batchCount != p.d.batchCount || p.c.batchCount != p.d.batchCount) {
    why = "the batch counts differ";
    return InvalidValue;
  }
  if (p.desc.transC != OpN || p.desc.pointerMode > 1) {
    why = "a transposed C and vectors of alpha are not emulated";
    return NotSupported;
  }
  if (!typesAreSupported(p.desc, p.a.type, p.b.type, p.c.type, p.d.type)) {
    why = "this combination of compute, scale and data types is not emulated";
    return NotSupported;
  }
  return checkEpilogue(p, why);
}

} // namespace cleave::emulated::blaslt
