// The parts of calibrate(), each in a file of its own.
#ifndef CLEAVE_COMPILER_CALIBRATION_PROBES_H
#define CLEAVE_COMPILER_CALIBRATION_PROBES_H

#include "compiler/CostModel/MachineModel.h"

namespace cleave::calibration {

// KernelProbe.cpp: tables of products and convolutions. `type` is a name as in the dialect: "f32", "bf16".
rt::Status measureProducts(const std::string &type, unsigned threads, std::vector<RateTable> *tables);
rt::Status measureConvolutions(const std::string &type, unsigned threads, std::vector<RateTable> *tables);
rt::Status measurePools(const std::string &type, unsigned threads, std::vector<RateTable> *tables);
// Measures FLOP/s of the forward attention kernel.
rt::Status measureAttention(const std::string &type, unsigned threads, double *rate);
// True if the processor computes products in this type.
bool computesNatively(const std::string &type);

// StreamProbe.cpp
std::vector<TrafficPoint> measureTraffic(unsigned threads);
// Measures multiply-adds on values in registers, each counted as two operations, as compilers make them for a
// polynomial.
double measureVectorRate(unsigned threads, bool isDouble);
// Measures the time from one small kernel to the next. With several threads, it includes the team's start and end.
double measureLaunch(unsigned threads);

// LinkProbe.cpp: measures messages between two ranks, which are threads of this process.
rt::Status measureLink(Link *link);

} // namespace cleave::calibration

#endif
