// `cleave calibrate`: measures this machine in a short time, and makes a machine of the cost model
// (compiler/CostModel/MachineModel.h). It times work of real programs: the runtime's products and convolutions on a
// grid of sizes, streams of bytes from the nearest cache to memory, and messages between the ranks of a process.
#ifndef CLEAVE_COMPILER_CALIBRATION_CALIBRATE_H
#define CLEAVE_COMPILER_CALIBRATION_CALIBRATE_H

#include "compiler/CostModel/MachineModel.h"

#include <functional>
#include <string>

namespace cleave::calibration {

// The processor's name with the numbers that the system gives, as "AMD EPYC 9654, family 25, model 17". Machines whose
// kernels take the same time have the same text, as far as the system can distinguish them.
std::string processorName();
unsigned usableCores();

struct Request {
  unsigned threads = 1; // compute threads of a rank
};

// Calls `tell` with a line before each part of the work.
rt::Status calibrate(const Request &request, const std::function<void(const std::string &)> &tell,
                     MachineModel *machine);

} // namespace cleave::calibration

#endif
