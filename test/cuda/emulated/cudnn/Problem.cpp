#include "test/cuda/emulated/cudnn/Problem.h"
#include <algorithm>

namespace cleave::emulated::cudnn {

unsigned bytesOf(int type) { return type == Float ? 4 : type == Half || type == BFloat16 ? 2 : 0; }

uint64_t Tensor::count() const {
  uint64_t product = 1;
  for (int size : sizes)
    product *= uint64_t(size);
  return product;
}

// The first algorithms are those that a caller must not take: without a fixed order of addition, or with an enormous
// workspace.
const std::vector<Algorithm> &algorithmsOf(Pass pass) {
  constexpr uint64_t kHuge = uint64_t(1) << 40;
  static const std::vector<Algorithm> forward = {{ForwardFft, Deterministic, kHuge, 5},
                                                 {ForwardWinograd, Deterministic, 96 << 10, 3},
                                                 {ForwardPrecomputedGemm, Deterministic, 4 << 10, 2},
                                                 {ForwardImplicitGemm, Deterministic, 0, 1}};
  static const std::vector<Algorithm> inputGrad = {{InputGrad0, NonDeterministic, 0, 1},
                                                   {InputGradFft, Deterministic, kHuge, 5},
                                                   {InputGradWinograd, Deterministic, 96 << 10, 3},
                                                   {InputGrad1, Deterministic, 4 << 10, 2}};
  static const std::vector<Algorithm> weightGrad = {{WeightGrad0, NonDeterministic, 0, 1},
                                                    {WeightGrad3, NonDeterministic, 4 << 10, 1},
                                                    {WeightGradFft, Deterministic, 96 << 10, 3},
                                                    {WeightGrad1, Deterministic, 4 << 10, 2}};
  return pass == Pass::Forward ? forward : pass == Pass::InputGrad ? inputGrad : weightGrad;
}

static bool isPacked(const Tensor &t) {
  int64_t stride = 1;
  for (size_t i = t.sizes.size(); i-- > 0; stride *= t.sizes[i])
    if (!t.strides.empty() && t.strides[i] != stride)
      return false;
  return true;
}

static int checkShapes(const Tensor &x, const Tensor &y, const Tensor &w, const ConvolutionDesc &desc,
                       std::string &why) {
  size_t dims = x.sizes.size();
  if (dims < 4 || dims > 5 || y.sizes.size() != dims || w.sizes.size() != dims || desc.pad.size() + 2 != dims) {
    why = "the tensors, the filter and the convolution have not all the same number of dimensions, 4 or 5";
    return BadParam;
  }
  if (x.type != y.type || x.type != w.type || !bytesOf(x.type) || desc.computeType != Float) {
    why = "this combination of types is not emulated";
    return NotSupported;
  }
  if (!isPacked(x) || !isPacked(y) || desc.mode != CrossCorrelation) {
    why = "gaps between elements and flipped filters are not emulated";
    return NotSupported;
  }
  if (x.sizes[0] != y.sizes[0] || desc.groups < 1 || x.sizes[1] % desc.groups || w.sizes[0] % desc.groups ||
      w.sizes[1] != x.sizes[1] / desc.groups || w.sizes[0] != y.sizes[1]) {
    why = "samples, channels and groups do not fit";
    return ShapeMismatch;
  }
  for (size_t d = 0; d + 2 < dims; d++) {
    int span = (w.sizes[d + 2] - 1) * desc.dilation[d] + 1, room = x.sizes[d + 2] + 2 * desc.pad[d] - span;
    if (room < 0 || y.sizes[d + 2] != room / desc.stride[d] + 1) {
      why = "dimension " + std::to_string(d + 2) + " of the result has " + std::to_string(y.sizes[d + 2]) +
            " elements, and the convolution gives " + std::to_string(room < 0 ? 0 : room / desc.stride[d] + 1);
      return ShapeMismatch;
    }
  }
  return Success;
}

int makeProblem(Pass pass, const Tensor &x, const Tensor &y, const Tensor &w, const ConvolutionDesc &desc, Problem &p,
                std::string &why) {
  if (int status = checkShapes(x, y, w, desc, why))
    return status;
  p = {pass, x.type, desc.math, desc.groups, x.sizes[0], x.sizes[1], y.sizes[1], {}, {}, {}, {}, {}, {}};
  size_t first = 5 - x.sizes.size();
  for (size_t d = 0; d < 3; d++) {
    bool there = d >= first;
    size_t at = d - first;
    p.in[d] = there ? x.sizes[2 + at] : 1;
    p.out[d] = there ? y.sizes[2 + at] : 1;
    p.kernel[d] = there ? w.sizes[2 + at] : 1;
    p.pad[d] = there ? desc.pad[at] : 0;
    p.stride[d] = there ? desc.stride[at] : 1;
    p.dilation[d] = there ? desc.dilation[at] : 1;
  }
  return Success;
}

} // namespace cleave::emulated::cudnn
