// `cleave calibrate`: a short measurement of this machine, as a machine of the cost model
// (compiler/CostModel/TargetMachine.h). It times what programs run: the runtime's products and convolutions on a grid of
// sizes, streams of bytes from the nearest cache to memory, and messages between the ranks of a process.
#ifndef CLEAVE_COMPILER_CALIBRATION_CALIBRATE_H
#define CLEAVE_COMPILER_CALIBRATION_CALIBRATE_H

#include "compiler/CostModel/TargetMachine.h"

#include <functional>
#include <string>

namespace cleave::calibration {

// The processor as its makers and the system call it: "AMD EPYC 9654, family 25, model 17". The same text for all
// machines whose kernels take the same time, as far as the system can tell them apart.
std::string processorName();
unsigned usableCores();

struct Request {
  unsigned threads = 1; // compute threads of a rank
};

// `tell` gets a line before each part of the work.
rt::Status calibrate(const Request &request, const std::function<void(const std::string &)> &tell,
                     TargetMachine *machine);

} // namespace cleave::calibration

#endif
