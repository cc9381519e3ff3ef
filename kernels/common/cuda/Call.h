// The one parameter of every hand-written CUDA kernel. The host fills it (runtime/device/cuda/CudaLaunch.cpp), and the
// kernel reads it (Device.cuh). Each family gives `params` its own meaning.
#ifndef CLEAVE_KERNELS_COMMON_CUDA_CALL_H
#define CLEAVE_KERNELS_COMMON_CUDA_CALL_H

namespace cleave::rt {

struct CudaCall {
  static constexpr int kBuffers = 16, kParams = 32;
  static constexpr int kBlockSize = 256; // threads of every block
  void *buffers[kBuffers];               // in the order of Kernels.def
  long long params[kParams];
  // Two numbers on the device: the launch that was the first to find an index out of range (0: none), and this index.
  long long *error;
  long long launch; // the number of this launch, from 1
};

// How families divide their work, and what they are limited to. The host counts blocks and checks calls by these
// numbers, and the kernels compute with them.

struct PutAddWork {
  static constexpr int kSliceBytes = 64; // a slice of a row is added by one block
};

struct ColumnSumsWork {
  static constexpr int kColumns = 32; // of a block
};

struct PoolWork {
  static constexpr int kMost = 1 << 29; // positions of a plane, so that 32 bits hold sums of a few positions
};

struct AttentionWork {
  static constexpr int kMostSize = 128, kSmallSize = 64; // of a head, for the larger and the smaller kernels of 16 bits
  static constexpr int kTile = 32, kGradTile = 16; // rows of a block in f32; rows or columns of a gradient's block
  static constexpr int kMmaLines = 128;            // lines of a block of matrix instructions: 8 warps of 16
  // Indices in params (AttentionCall.cuh).
  static constexpr int kMaskKind = 9, kMaskSizes = 10, kRate = 14;
  enum MaskKind { kNone, kAdded, kKept };
};

} // namespace cleave::rt

#endif
