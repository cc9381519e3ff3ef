// Compares what Cleave and the emulated cuDNN know about cuDNN with its own header: the types of entry points, and the
// values of constants. It is built if the header is found, and calls nothing.
#include "test/cuda/emulated/cudnn/Constants.h"
#include <cstddef>
#include <cudnn.h>
#include <gtest/gtest.h>
#include <string>

namespace cleave::emulated::test {
namespace {

using namespace cudnn;

#define SAME(ours, theirs) static_assert(int64_t(ours) == int64_t(theirs), #ours)

SAME(Success, CUDNN_STATUS_SUCCESS);
SAME(NotInitialized, CUDNN_STATUS_NOT_INITIALIZED);
SAME(BadParam, CUDNN_STATUS_BAD_PARAM);
SAME(MisalignedPointer, CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
SAME(SizeInsufficient, CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
SAME(ShapeMismatch, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
SAME(NotSupported, CUDNN_STATUS_NOT_SUPPORTED);
SAME(ExecutionFailed, CUDNN_STATUS_EXECUTION_FAILED);
SAME(Float, CUDNN_DATA_FLOAT);
SAME(Double, CUDNN_DATA_DOUBLE);
SAME(Half, CUDNN_DATA_HALF);
SAME(BFloat16, CUDNN_DATA_BFLOAT16);
SAME(DefaultMath, CUDNN_DEFAULT_MATH);
SAME(TensorOpMath, CUDNN_TENSOR_OP_MATH);
SAME(TensorOpMathAllowConversion, CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION);
SAME(FmaMath, CUDNN_FMA_MATH);
SAME(NonDeterministic, CUDNN_NON_DETERMINISTIC);
SAME(Deterministic, CUDNN_DETERMINISTIC);
SAME(ChannelsFirst, CUDNN_TENSOR_NCHW);
SAME(ChannelsLast, CUDNN_TENSOR_NHWC);
SAME(Convolution, CUDNN_CONVOLUTION);
SAME(CrossCorrelation, CUDNN_CROSS_CORRELATION);
SAME(ForwardImplicitGemm, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM);
SAME(ForwardPrecomputedGemm, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM);
SAME(ForwardFft, CUDNN_CONVOLUTION_FWD_ALGO_FFT);
SAME(ForwardWinograd, CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD);
SAME(InputGrad0, CUDNN_CONVOLUTION_BWD_DATA_ALGO_0);
SAME(InputGrad1, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1);
SAME(InputGradFft, CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT);
SAME(InputGradWinograd, CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD);
SAME(WeightGrad0, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0);
SAME(WeightGrad1, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1);
SAME(WeightGradFft, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT);
SAME(WeightGrad3, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3);

template <class Theirs> constexpr bool hasOurLayout() {
  return sizeof(Theirs) == sizeof(Performance) && offsetof(Theirs, status) == offsetof(Performance, status) &&
         offsetof(Theirs, memory) == offsetof(Performance, memory) &&
         offsetof(Theirs, determinism) == offsetof(Performance, determinism) &&
         offsetof(Theirs, mathType) == offsetof(Performance, math);
}
static_assert(hasOurLayout<cudnnConvolutionFwdAlgoPerf_t>() && hasOurLayout<cudnnConvolutionBwdDataAlgoPerf_t>() &&
              hasOurLayout<cudnnConvolutionBwdFilterAlgoPerf_t>());

// Each of our parameters has the size of theirs, and is a pointer if theirs is one.
template <class T> constexpr char kindOf() { return std::is_pointer_v<T> ? 'p' : sizeof(T) == 4 ? 'i' : 'l'; }
template <class R, class... A> std::string kindsOf(R (*)(A...)) { return {kindOf<R>(), kindOf<A>()...}; }

using Result = int;
using Handle = void *;

TEST(DnnHeaderTest, EntryPoints) {
#define CLEAVE_DNN_ENTRY(member, symbol, parameters)                                                                   \
  EXPECT_EQ(kindsOf(static_cast<Result(*) parameters>(nullptr)), kindsOf(&symbol)) << #symbol;
#include "runtime/device/cuda/Dnn.def"
  EXPECT_EQ(kindsOf(&cudnnGetVersion), "l");
  EXPECT_EQ(kindsOf(&cudnnGetErrorString), "pi");
  EXPECT_EQ(CUDNN_MAJOR, 9);
}

} // namespace
} // namespace cleave::emulated::test
