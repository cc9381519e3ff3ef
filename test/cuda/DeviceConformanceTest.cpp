// The GPU as a device, on the emulated one: with graphs, without, and with no memory for them, on all ranks or on all
// but one; with ranks that communicate by NCCL, and with ranks that share a GPU and communicate through the host. With
// CLEAVE_TEST_GPU in the environment, on a real GPU.
#include "test/runtime/device/DeviceConformance.h"

#include <cstdlib>

using namespace cleave::rt::test;

INSTANTIATE_TEST_SUITE_P(
    Cuda, DeviceConforms,
    testing::Values(DeviceKind{"graphs", "cuda:sm_80"},
                    DeviceKind{"noGraphs", "cuda:sm_80", {{"CLEAVE_CUDA_GRAPHS", "0"}}},
                    DeviceKind{"graphsDoNotFit", "cuda:sm_80", {{"CLEAVE_EMULATED_GRAPHS_FIT", "0"}}},
                    DeviceKind{"graphsFitOnOne", "cuda:sm_80", {{"CLEAVE_EMULATED_GRAPHS_FIT", "10"}}},
                    DeviceKind{"shared", "cuda:sm_80", {{"CLEAVE_CUDA_DEVICE", "0"}}},
                    DeviceKind{"throughTheHost", "cuda:sm_80", {{"CLEAVE_CUDA_COMM", "host"}}}),
    nameOf);

int main(int argc, char **argv) {
  if (!std::getenv("CLEAVE_TEST_GPU")) {
    ::setenv("CLEAVE_LIBCUDA", CLEAVE_EMULATED_LIBRARY, 1);
    ::setenv("CLEAVE_LIBNCCL", CLEAVE_EMULATED_NCCL, 1);
    ::setenv("CLEAVE_EMULATED_DEVICES", "4", 1);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
