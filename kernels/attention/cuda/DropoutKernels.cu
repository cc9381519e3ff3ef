#include "kernels/attention/cuda/Entries.cuh"

using namespace cleave::rt;

CLEAVE_ATTENTION_ENTRIES(attention_dropout, true)
