// The values of cuBLASLt's public API that the emulated library knows, under short names.
#pragma once
#include <cstdint>

namespace cleave::emulated::blaslt {

enum Status : int {
  Success = 0,
  NotInitialized = 1,
  AllocFailed = 3,
  InvalidValue = 7,
  ArchMismatch = 8,
  ExecutionFailed = 13,
  InternalError = 14,
  NotSupported = 15
};

enum DataType : int { R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14 };
enum ComputeType : int { Compute32F = 68, Compute32FPedantic = 69, Compute64F = 70, Compute32FastTF32 = 77 };
enum Operation : int { OpN = 0, OpT = 1, OpC = 2 };
enum Order : int { ColumnMajor = 0, RowMajor = 1 };

enum DescAttribute : int {
  DescComputeType = 0,
  DescScaleType = 1,
  DescPointerMode = 2,
  DescTransA = 3,
  DescTransB = 4,
  DescTransC = 5,
  DescEpilogue = 7,
  DescBiasPointer = 8,
  DescBiasBatchStride = 10,
  DescAuxPointer = 11,
  DescAuxLd = 12,
  DescAuxBatchStride = 13,
  DescSmCountTarget = 15,
  DescAuxDataType = 22,
  DescBiasDataType = 26
};

// An epilogue is a set of these bits.
enum Epilogue : uint32_t {
  EpilogueDefault = 1,
  EpilogueRelu = 2,
  EpilogueBias = 4,
  EpilogueDRelu = 8,
  EpilogueBiasGradient = 16,
  EpilogueGelu = 32,
  EpilogueDGelu = 64,
  EpilogueAux = 128,
  EpilogueBiasGradientA = 256,
  EpilogueBiasGradientB = 512
};

enum LayoutAttribute : int {
  LayoutType = 0,
  LayoutOrder = 1,
  LayoutRows = 2,
  LayoutCols = 3,
  LayoutLd = 4,
  LayoutBatchCount = 5,
  LayoutBatchStride = 6
};

// How the partial sums of a split sum are added. A preference has the set of the schemes that it allows.
enum ReductionScheme : uint32_t {
  ReductionNone = 0,
  ReductionInPlace = 1, // in the result
  ReductionComputeType = 2,
  ReductionOutputType = 4,
  ReductionAll = 7
};

enum PreferenceAttribute : int {
  PreferenceSearchMode = 0,
  PreferenceWorkspace = 1,
  PreferenceReduction = 3,
  PreferenceAlignmentA = 5,
  PreferenceAlignmentB = 6,
  PreferenceAlignmentC = 7,
  PreferenceAlignmentD = 8,
  PreferenceWaves = 9
};

} // namespace cleave::emulated::blaslt
