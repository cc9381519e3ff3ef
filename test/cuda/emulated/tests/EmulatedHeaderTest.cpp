// Compares the constants of the emulated libraries with the toolkit's own headers. It is built if the toolkit is found.
// Most comparisons are made by the compiler.
#include "test/cuda/emulated/blaslt/Problem.h"
#include "test/cuda/emulated/driver/Codes.h"
#include <cublasLt.h>
#include <cuda.h>
#include <gtest/gtest.h>

namespace cleave::emulated::test {
namespace {

using namespace blaslt;

#define SAME(ours, theirs) static_assert(int64_t(ours) == int64_t(theirs), #ours)

SAME(code::Success, CUDA_SUCCESS);
SAME(code::InvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME(code::OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(code::NotInitialized, CUDA_ERROR_NOT_INITIALIZED);
SAME(code::Deinitialized, CUDA_ERROR_DEINITIALIZED);
SAME(code::NoDevice, CUDA_ERROR_NO_DEVICE);
SAME(code::InvalidDevice, CUDA_ERROR_INVALID_DEVICE);
SAME(code::InvalidImage, CUDA_ERROR_INVALID_IMAGE);
SAME(code::InvalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME(code::NoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(code::InvalidPtx, CUDA_ERROR_INVALID_PTX);
SAME(code::UnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME(code::InvalidHandle, CUDA_ERROR_INVALID_HANDLE);
SAME(code::IllegalState, CUDA_ERROR_ILLEGAL_STATE);
SAME(code::NotFound, CUDA_ERROR_NOT_FOUND);
SAME(code::NotReady, CUDA_ERROR_NOT_READY);
SAME(code::IllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(code::LaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
SAME(code::LaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME(code::ContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
SAME(code::Assert, CUDA_ERROR_ASSERT);
SAME(code::IllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
SAME(code::MisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
SAME(code::LaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
SAME(code::NotPermitted, CUDA_ERROR_NOT_PERMITTED);
SAME(code::NotSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME(code::CaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME(code::CaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
SAME(code::CaptureMerge, CUDA_ERROR_STREAM_CAPTURE_MERGE);
SAME(code::CaptureUnmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
SAME(code::CaptureUnjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
SAME(code::CaptureIsolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
SAME(code::CaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
SAME(code::CapturedEvent, CUDA_ERROR_CAPTURED_EVENT);
SAME(code::CaptureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
SAME(code::Unknown, CUDA_ERROR_UNKNOWN);

SAME(Success, CUBLAS_STATUS_SUCCESS);
SAME(NotInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
SAME(InvalidValue, CUBLAS_STATUS_INVALID_VALUE);
SAME(ArchMismatch, CUBLAS_STATUS_ARCH_MISMATCH);
SAME(ExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
SAME(InternalError, CUBLAS_STATUS_INTERNAL_ERROR);
SAME(NotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(R_32F, CUDA_R_32F);
SAME(R_64F, CUDA_R_64F);
SAME(R_16F, CUDA_R_16F);
SAME(R_16BF, CUDA_R_16BF);
SAME(Compute32F, CUBLAS_COMPUTE_32F);
SAME(Compute32FPedantic, CUBLAS_COMPUTE_32F_PEDANTIC);
SAME(Compute64F, CUBLAS_COMPUTE_64F);
SAME(Compute32FastTF32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(OpT, CUBLAS_OP_T);
SAME(OpC, CUBLAS_OP_C);
SAME(ColumnMajor, CUBLASLT_ORDER_COL);
SAME(RowMajor, CUBLASLT_ORDER_ROW);
SAME(DescScaleType, CUBLASLT_MATMUL_DESC_SCALE_TYPE);
SAME(DescPointerMode, CUBLASLT_MATMUL_DESC_POINTER_MODE);
SAME(DescTransA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(DescTransB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(DescEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(DescBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(DescBiasBatchStride, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
SAME(DescAuxPointer, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
SAME(DescAuxLd, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
SAME(DescAuxBatchStride, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE);
SAME(DescAuxDataType, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE);
SAME(DescBiasDataType, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
SAME(EpilogueRelu | EpilogueAux | EpilogueBias, CUBLASLT_EPILOGUE_RELU_AUX_BIAS);
SAME(EpilogueDRelu | EpilogueAux | EpilogueBiasGradient, CUBLASLT_EPILOGUE_DRELU_BGRAD);
SAME(EpilogueGelu | EpilogueAux | EpilogueBias, CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
SAME(EpilogueDGelu | EpilogueAux | EpilogueBiasGradient, CUBLASLT_EPILOGUE_DGELU_BGRAD);
SAME(EpilogueBiasGradientA, CUBLASLT_EPILOGUE_BGRADA);
SAME(EpilogueBiasGradientB, CUBLASLT_EPILOGUE_BGRADB);
SAME(LayoutOrder, CUBLASLT_MATRIX_LAYOUT_ORDER);
SAME(LayoutLd, CUBLASLT_MATRIX_LAYOUT_LD);
SAME(LayoutBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(LayoutBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(PreferenceWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(PreferenceAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(PreferenceAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(sizeof(Algorithm), sizeof(cublasLtMatmulAlgo_t));
SAME(sizeof(HeuristicResult), sizeof(cublasLtMatmulHeuristicResult_t));

// The comparisons above are the test; this program calls nothing of CUDA.
TEST(HeaderTest, ToolkitVersion) { EXPECT_GE(CUDA_VERSION, 12000); }

} // namespace
} // namespace cleave::emulated::test
