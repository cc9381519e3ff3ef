// The emulated cuDNN: its values compared with plain loops in f64, and the mistakes that it must find or refuse.
#include "test/cuda/emulated/block/ReducedTypes.h"
#include "test/cuda/emulated/cudnn/Constants.h"
#include "test/cuda/emulated/tests/DriverLibrary.h"
#include <cmath>
#include <random>

namespace cleave::emulated::test {
namespace {

using namespace cudnn;

enum class Which { Forward, InputGrad, WeightGrad };
constexpr Which kPasses[] = {Which::Forward, Which::InputGrad, Which::WeightGrad};

struct Names {
  const char *choice, *workspace, *run;
};
Names namesOf(Which pass) {
  switch (pass) {
  case Which::Forward:
    return {"cudnnGetConvolutionForwardAlgorithm_v7", "cudnnGetConvolutionForwardWorkspaceSize",
            "cudnnConvolutionForward"};
  case Which::InputGrad:
    return {"cudnnGetConvolutionBackwardDataAlgorithm_v7", "cudnnGetConvolutionBackwardDataWorkspaceSize",
            "cudnnConvolutionBackwardData"};
  default:
    return {"cudnnGetConvolutionBackwardFilterAlgorithm_v7", "cudnnGetConvolutionBackwardFilterWorkspaceSize",
            "cudnnConvolutionBackwardFilter"};
  }
}

class DnnTest : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    const char *path = getenv("CLEAVE_LIBCUDNN");
    library = dlopen(path ? path : CLEAVE_EMULATED_CUDNN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    ASSERT_EQ(call("cudnnCreate", &handle), Success);
  }
  void TearDown() override {
    call("cudnnDestroy", handle);
    clearFindings();
    DriverTest::TearDown();
  }

public:
  template <class... A> int call(const char *name, A... arguments) const {
    auto *f = reinterpret_cast<int (*)(A...)>(dlsym(library, name));
    EXPECT_NE(f, nullptr) << name;
    return f ? f(arguments...) : -1;
  }

protected:
  void *library = nullptr;
  Handle handle = nullptr;
};

// A convolution in two dimensions, with its tensors on the device: 3 samples, `ic` input channels, `oc` output
// channels, planes of 6 x 5.
class Case {
public:
  Case(const DnnTest &test, Handle handle, int type, int groups, int pad = 1)
      : test(test), handle(handle), type(type), groups(groups), pad(pad) {
    const int dims[3][4] = {{3, ic, in[0], in[1]}, {3, oc, out(0), out(1)}, {oc, ic / groups, kernel[0], kernel[1]}};
    for (int i = 0; i < 3; i++) {
      const int *s = dims[i];
      count[i] = size_t(s[0]) * size_t(s[1]) * size_t(s[2]) * size_t(s[3]);
      fill(i);
    }
    for (int i = 0; i < 2; i++) {
      const int *s = dims[i], strides[] = {s[1] * s[2] * s[3], s[2] * s[3], s[3], 1};
      EXPECT_EQ(test.call("cudnnCreateTensorDescriptor", &desc[i]), Success);
      EXPECT_EQ(test.call("cudnnSetTensorNdDescriptor", desc[i], type, 4, s, static_cast<const int *>(strides)),
                Success);
    }
    EXPECT_EQ(test.call("cudnnCreateFilterDescriptor", &desc[2]), Success);
    EXPECT_EQ(test.call("cudnnSetFilterNdDescriptor", desc[2], type, int(ChannelsFirst), 4,
                        static_cast<const int *>(dims[2])),
              Success);
    const int pads[] = {pad, pad};
    EXPECT_EQ(test.call("cudnnCreateConvolutionDescriptor", &convolution), Success);
    EXPECT_EQ(test.call("cudnnSetConvolutionNdDescriptor", convolution, 2, static_cast<const int *>(pads),
                        static_cast<const int *>(stride), static_cast<const int *>(dilation), int(CrossCorrelation),
                        int(Float)),
              Success);
    EXPECT_EQ(test.call("cudnnSetConvolutionGroupCount", convolution, groups), Success);
    setMath(type == Float ? FmaMath : TensorOpMath);
  }
  ~Case() {
    test.call("cudnnDestroyTensorDescriptor", desc[0]);
    test.call("cudnnDestroyTensorDescriptor", desc[1]);
    test.call("cudnnDestroyFilterDescriptor", desc[2]);
    test.call("cudnnDestroyConvolutionDescriptor", convolution);
    for (uint64_t a : address)
      Driver::get().call("cuMemFree_v2", a);
  }
  void setMath(int math) { EXPECT_EQ(test.call("cudnnSetConvolutionMathType", convolution, math), Success); }

  std::vector<Performance> choices(Which pass) const {
    std::vector<Performance> results(16);
    int found = 0;
    EXPECT_EQ(test.call(namesOf(pass).choice, handle, desc[a(pass)], desc[b(pass)], convolution, desc[c(pass)], 16,
                        &found, static_cast<void *>(results.data())),
              Success);
    results.resize(size_t(found));
    return results;
  }
  int run(Which pass, int algorithm, uint64_t workspace, size_t bytes) const {
    const float one = 1, zero = 0;
    auto at = [&](int i) { return reinterpret_cast<void *>(address[i]); };
    return test.call(namesOf(pass).run, handle, static_cast<const void *>(&one), desc[a(pass)],
                     static_cast<const void *>(at(a(pass))), desc[b(pass)], static_cast<const void *>(at(b(pass))),
                     convolution, algorithm, reinterpret_cast<void *>(workspace), bytes,
                     static_cast<const void *>(&zero), desc[c(pass)], at(c(pass)));
  }
  std::vector<double> result(Which pass) const { return download(c(pass)); }

  // The result in f64, computed from the operands that are on the device.
  std::vector<double> exact(Which pass) const {
    std::vector<double> sum(count[c(pass)]);
    int groupIn = ic / groups, groupOut = oc / groups;
    for (int n = 0; n < 3; n++)
      for (int o = 0; o < oc; o++)
        for (int ch = 0; ch < groupIn; ch++)
          for (int oh = 0; oh < out(0); oh++)
            for (int ow = 0; ow < out(1); ow++)
              for (int kh = 0; kh < kernel[0]; kh++)
                for (int kw = 0; kw < kernel[1]; kw++) {
                  int ih = oh * stride[0] - pad + kh * dilation[0], iw = ow * stride[1] - pad + kw * dilation[1];
                  if (ih < 0 || ih >= in[0] || iw < 0 || iw >= in[1])
                    continue;
                  size_t x = size_t(((n * ic + o / groupOut * groupIn + ch) * in[0] + ih) * in[1] + iw);
                  size_t y = size_t(((n * oc + o) * out(0) + oh) * out(1) + ow);
                  size_t w = size_t(((o * groupIn + ch) * kernel[0] + kh) * kernel[1] + kw);
                  if (pass == Which::Forward)
                    sum[y] += values[0][x] * values[2][w];
                  else if (pass == Which::InputGrad)
                    sum[x] += values[1][y] * values[2][w];
                  else
                    sum[w] += values[0][x] * values[1][y];
                }
    return sum;
  }
  // The largest difference, divided by the largest result.
  double apart(Which pass) const {
    std::vector<double> got = result(pass), expected = exact(pass);
    double worst = 0, largest = 0;
    for (size_t i = 0; i < got.size(); i++) {
      worst = std::max(worst, std::fabs(got[i] - expected[i]));
      largest = std::max(largest, std::fabs(expected[i]));
    }
    return worst / largest;
  }

  uint64_t address[3] = {}; // of x, y, w

private:
  static int a(Which pass) { return pass == Which::InputGrad ? 2 : 0; }
  static int b(Which pass) { return pass == Which::Forward ? 2 : 1; }
  static int c(Which pass) { return pass == Which::Forward ? 1 : pass == Which::InputGrad ? 0 : 2; }
  int out(int d) const { return (in[d] + 2 * pad - (kernel[d] - 1) * dilation[d] - 1) / stride[d] + 1; }
  void fill(int i) {
    std::mt19937 generator(static_cast<unsigned>(i));
    std::uniform_real_distribution<float> uniform(-1, 1);
    size_t size = type == Float ? 4 : 2;
    std::vector<char> raw(count[i] * size);
    for (size_t at = 0; at < count[i]; at++) {
      float v = uniform(generator);
      if (type == Float)
        reinterpret_cast<float *>(raw.data())[at] = v;
      else
        reinterpret_cast<uint16_t *>(raw.data())[at] = type == Half ? floatToF16(v) : floatToBf16(v);
    }
    EXPECT_EQ(Driver::get().call("cuMemAlloc_v2", &address[i], raw.size()), 0);
    EXPECT_EQ(Driver::get().call("cuMemcpyHtoD_v2", address[i], static_cast<const void *>(raw.data()), raw.size()), 0);
    values[i] = download(i);
  }
  std::vector<double> download(int i) const {
    size_t size = type == Float ? 4 : 2;
    std::vector<char> raw(count[i] * size);
    EXPECT_EQ(Driver::get().call("cuMemcpyDtoH_v2", static_cast<void *>(raw.data()), address[i], raw.size()), 0)
        << firstFinding();
    std::vector<double> v(count[i]);
    for (size_t at = 0; at < v.size(); at++)
      v[at] = type == Float  ? double(reinterpret_cast<float *>(raw.data())[at])
              : type == Half ? double(f16ToFloat(reinterpret_cast<uint16_t *>(raw.data())[at]))
                             : double(bf16ToFloat(reinterpret_cast<uint16_t *>(raw.data())[at]));
    return v;
  }

  const DnnTest &test;
  Handle handle, desc[3] = {}, convolution = nullptr; // of x, y, w
  int type, groups, pad;
  static constexpr int ic = 4, oc = 6, in[2] = {6, 5}, kernel[2] = {3, 2}, stride[2] = {2, 1}, dilation[2] = {1, 2};
  size_t count[3] = {};
  std::vector<double> values[3];
};

TEST_F(DnnTest, Values) {
  Buffer<char> workspace(1 << 20);
  for (int type : {int(Float), int(Half), int(BFloat16)})
    for (int groups : {1, 2})
      for (Which pass : kPasses) {
        Case c(*this, handle, type, groups);
        int done = 0;
        std::vector<Performance> choices = c.choices(pass);
        for (const Performance &one : choices)
          if (one.status == Success && one.memory <= 1 << 20) {
            Case again(*this, handle, type, groups); // each run overwrites one of its operands
            ASSERT_EQ(again.run(pass, one.algorithm, workspace.address, 1 << 20), Success);
            double bound = type == Float ? 1e-6 : type == Half ? 1.0 / 1024 : 1.0 / 128;
            EXPECT_LE(again.apart(pass), bound) << type << " " << groups << " " << one.algorithm;
            done++;
          }
        EXPECT_GE(done, 2);
      }
}

// f32 is rounded to TF32 unless the descriptor forbids it. A caller that forgets this gets less accurate numbers.
TEST_F(DnnTest, ReducedPrecision) {
  if (!d.isEmulated)
    GTEST_SKIP();
  Buffer<char> workspace(1 << 20);
  for (Which pass : kPasses)
    for (int math : {int(DefaultMath), int(TensorOpMath), int(FmaMath)}) {
      Case c(*this, handle, Float, 1);
      c.setMath(math);
      ASSERT_EQ(c.run(pass, 1, workspace.address, 1 << 20), Success);
      EXPECT_EQ(c.apart(pass) > 2e-5, math != FmaMath) << c.apart(pass);
    }
}

// A caller must not take the first algorithm of the heuristics: it has no fixed order of addition, or needs a terabyte.
TEST_F(DnnTest, AlgorithmsAndBits) {
  if (!d.isEmulated)
    GTEST_SKIP();
  Buffer<char> workspace(1 << 20);
  for (Which pass : kPasses) {
    std::vector<Performance> choices = Case(*this, handle, Float, 1).choices(pass);
    EXPECT_TRUE(choices[0].determinism == NonDeterministic || choices[0].memory > size_t(1) << 30);
    for (const Performance &one : choices) {
      if (one.memory > 1 << 20)
        continue;
      std::vector<double> first;
      bool isEqual = true;
      for (int i = 0; i < 4; i++) {
        Case c(*this, handle, Float, 1);
        ASSERT_EQ(c.run(pass, one.algorithm, workspace.address, 1 << 20), Success);
        first = i == 0 ? c.result(pass) : first;
        isEqual &= first == c.result(pass);
      }
      EXPECT_EQ(isEqual, one.determinism == Deterministic) << int(pass) << " " << one.algorithm;
    }
  }
}

TEST_F(DnnTest, WhatIsRefused) {
  if (!d.isEmulated)
    GTEST_SKIP();
  Case c(*this, handle, Float, 1);
  Buffer<char> workspace(1 << 20);
  size_t needed = 4 << 10;
  EXPECT_EQ(c.run(Which::Forward, ForwardPrecomputedGemm, workspace.address, needed - 1), SizeInsufficient);
  EXPECT_EQ(c.run(Which::Forward, ForwardPrecomputedGemm, workspace.address + 64, needed), MisalignedPointer);
  EXPECT_EQ(c.run(Which::Forward, 77, workspace.address, needed), NotSupported);
  EXPECT_EQ(c.run(Which::Forward, ForwardPrecomputedGemm, workspace.address, needed), Success);
  // If the caller states a larger workspace than it has, the run finds the mistake.
  Buffer<char> small(1 << 10);
  EXPECT_EQ(c.run(Which::Forward, ForwardPrecomputedGemm, small.address, needed), Success);
  EXPECT_EQ(synchronize(), code::IllegalAddress);
  EXPECT_NE(firstFinding().find("cudnnConvolutionForward writes"), std::string::npos) << firstFinding();
  clearFindings();
}

// Convolutions are ordered by the stream of their handle, and their operands must have been written.
TEST_F(DnnTest, StreamsAndMemory) {
  if (!d.isEmulated)
    GTEST_SKIP();
  Module m(readText("planted.ptx"));
  for (bool wait : {true, false}) {
    Case c(*this, handle, Float, 1);
    Buffer<float> x(std::vector<float>(64, 1));
    Stream a, b;
    Event e;
    ASSERT_EQ(call("cudnnSetStream", handle, b.handle), Success);
    ASSERT_EQ(launch(m.function("add_one"), {2, 32}, a.handle, x.address, c.address[0], 64), code::Success);
    ASSERT_EQ(e.record(a), code::Success);
    if (wait) {
      ASSERT_EQ(e.wait(b), code::Success);
    }
    ASSERT_EQ(c.run(Which::Forward, ForwardImplicitGemm, 0, 0), Success);
    synchronize();
    EXPECT_EQ(firstFinding().find("race between streams") != std::string::npos, !wait) << firstFinding();
    clearFindings();
    ASSERT_EQ(call("cudnnSetStream", handle, static_cast<Handle>(nullptr)), Success);
  }
  Case c(*this, handle, Float, 1);
  Buffer<float> fresh(4096);
  std::swap(c.address[0], fresh.address);
  ASSERT_EQ(c.run(Which::Forward, ForwardImplicitGemm, 0, 0), Success);
  EXPECT_EQ(synchronize(), code::LaunchFailed);
  EXPECT_NE(firstFinding().find("which nothing wrote"), std::string::npos) << firstFinding();
  clearFindings();
  std::swap(c.address[0], fresh.address);
}

} // namespace
} // namespace cleave::emulated::test
