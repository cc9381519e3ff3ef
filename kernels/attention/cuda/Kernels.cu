#include "kernels/attention/cuda/AttentionWgmma.cuh"
#include "kernels/attention/cuda/Entries.cuh"

using namespace cleave::rt;

CLEAVE_ATTENTION_ENTRIES(attention, false)

// These replace attention_f16_64 and its siblings in text for sm_90a (compiler/Codegen/CUDA/Ptxas.h).
#define WGMMA(label, type, size)                                                                                       \
  ENTRY(attention_##label##_##size##_sm_90a, size == 64 ? 2 : 1, attentionWgmma<type, size>)
WGMMA(f16, __half, 64)
WGMMA(f16, __half, 128)
WGMMA(bf16, __nv_bfloat16, 64)
WGMMA(bf16, __nv_bfloat16, 128)
