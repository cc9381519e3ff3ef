// The parts of calibrate(), each in a file of its own.
#ifndef CLEAVE_COMPILER_CALIBRATION_PROBES_H
#define CLEAVE_COMPILER_CALIBRATION_PROBES_H

#include "compiler/CostModel/TargetMachine.h"

namespace cleave::calibration {

// KernelProbe.cpp: tables of products and convolutions. `type` is one of dialect's names: "f32", "bf16".
rt::Status measureProducts(const std::string &type, unsigned threads, std::vector<RateTable> *tables);
rt::Status measureConvolutions(const std::string &type, unsigned threads, std::vector<RateTable> *tables);
rt::Status measurePools(const std::string &type, unsigned threads, std::vector<RateTable> *tables);
// FLOP/s of the attention kernel, forward.
rt::Status measureAttention(const std::string &type, unsigned threads, double *rate);
// Whether the processor computes products of the type itself.
bool computesNatively(const std::string &type);

// StreamProbe.cpp
std::vector<TrafficPoint> measureTraffic(unsigned threads);
// Multiply-adds on values in registers, two operations each, as compilers make them of a polynomial.
double measureVectorRate(unsigned threads, bool isDouble);
// From one small kernel to the next; with several threads, with the team's start and end.
double measureLaunch(unsigned threads);

// LinkProbe.cpp: two ranks as threads of this process.
rt::Status measureLink(Link *link);

} // namespace cleave::calibration

#endif
