// Which of the machine's GPUs a rank uses: the GPU whose number is the rank's number among the processes of its machine
// (modulo the number of GPUs), or the GPU that CLEAVE_CUDA_DEVICE names.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_CHOSENDEVICE_H
#define CLEAVE_RUNTIME_DEVICE_CUDA_CHOSENDEVICE_H

#include "runtime/device/cuda/Driver.h"

#include <string>

namespace cleave::rt::cuda {

// `target` is the plan's target, for messages.
Status chooseDevice(const Driver &driver, const std::string &target, int rank, int *device);

} // namespace cleave::rt::cuda

#endif
