// The values of cuDNN's public API that the emulated library knows.
#pragma once
#include <cstddef>
#include <cstdint>

namespace cleave::emulated::cudnn {

enum Status : int {
  Success = 0,
  NotInitialized = 1001,
  BadParam = 2000,
  MisalignedPointer = 2003,
  SizeInsufficient = 2006,
  ShapeMismatch = 2008,
  NotSupported = 3000,
  ExecutionFailed = 5000
};

enum DataType : int { Float = 0, Double = 1, Half = 2, BFloat16 = 9 };
enum MathType : int { DefaultMath = 0, TensorOpMath = 1, TensorOpMathAllowConversion = 2, FmaMath = 3 };
enum Determinism : int { NonDeterministic = 0, Deterministic = 1 };
enum TensorFormat : int { ChannelsFirst = 0, ChannelsLast = 1 };
enum ConvolutionMode : int { Convolution = 0, CrossCorrelation = 1 };

// Algorithms of the three passes. Only these are emulated.
enum ForwardAlgorithm : int {
  ForwardImplicitGemm = 0,
  ForwardPrecomputedGemm = 1,
  ForwardFft = 4,
  ForwardWinograd = 6
};
enum InputGradAlgorithm : int { InputGrad0 = 0, InputGrad1 = 1, InputGradFft = 2, InputGradWinograd = 4 };
enum WeightGradAlgorithm : int { WeightGrad0 = 0, WeightGrad1 = 1, WeightGradFft = 2, WeightGrad3 = 3 };

// cudnnConvolutionFwdAlgoPerf_t, cudnnConvolutionBwdDataAlgoPerf_t and cudnnConvolutionBwdFilterAlgoPerf_t.
struct Performance {
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, math;
  int reserved[3];
};

} // namespace cleave::emulated::cudnn
