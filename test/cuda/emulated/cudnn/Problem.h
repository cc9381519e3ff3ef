// A convolution as cuDNN describes it, and its three passes: y from x and w, dx from w and dy, dw from x and dy.
#pragma once
#include "test/cuda/emulated/cudnn/Constants.h"
#include "test/cuda/emulated/driver/Control.h"
#include <string>
#include <vector>

namespace cleave::emulated::cudnn {

struct Tensor { // or a filter
  int type = -1;
  std::vector<int> sizes, strides;
  uint64_t count() const;
};

struct ConvolutionDesc {
  std::vector<int> pad, stride, dilation;
  int mode = CrossCorrelation, computeType = -1, groups = 1, math = DefaultMath;
};

enum class Pass { Forward, InputGrad, WeightGrad };

// An algorithm of a pass. It splits the sum over channels (over samples for the gradient of the weights) into `parts`
// partial sums, so each number of parts is another order of addition. An algorithm that is not deterministic takes
// another number of parts in each call.
struct Algorithm {
  int number;
  Determinism determinism;
  uint64_t workspace; // bytes
  int parts;
};
const std::vector<Algorithm> &algorithmsOf(Pass pass); // the heuristics return the first one first

// It always has three spatial dimensions.
struct Problem {
  Pass pass;
  int type, math, groups;
  int64_t n, ic, oc, in[3], out[3], kernel[3], pad[3], stride[3], dilation[3];
  uint64_t xCount() const { return uint64_t(n * ic * in[0] * in[1] * in[2]); }
  uint64_t yCount() const { return uint64_t(n * oc * out[0] * out[1] * out[2]); }
  uint64_t wCount() const { return uint64_t(oc * (ic / groups) * kernel[0] * kernel[1] * kernel[2]); }
};

// Fills `p` and checks that the descriptors match. Returns a status. If it is not Success, `why` says the reason.
int makeProblem(Pass pass, const Tensor &x, const Tensor &y, const Tensor &w, const ConvolutionDesc &desc, Problem &p,
                std::string &why);

struct Operands {
  uint64_t a = 0, b = 0, c = 0, workspace = 0; // a and b are the pass's operands, in their order
  float alpha = 1, beta = 0;
};

// Runs a pass on a stream's thread.
void compute(const Problem &p, const Operands &o, const Algorithm &algorithm, const cleave_emulated_memory &memory);

unsigned bytesOf(int type);

} // namespace cleave::emulated::cudnn
