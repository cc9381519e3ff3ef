// How each parameter of the model is stored: its type, over which axes it and its gradient and optimizer states are
// split, whether there is a wider master copy, in which memory, and on which stages.
#ifndef CLEAVE_COMPILER_INSPECT_PARAMETERS_H
#define CLEAVE_COMPILER_INSPECT_PARAMETERS_H

#include "runtime/plan/Plan_generated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cleave::view {

struct ParameterRow {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<std::string> aliases; // names of tied parameters
  uint64_t bytes = 0;               // of the whole tensor, without padding
  std::string state;                // the state that contains it: a bucket or itself
  size_t way = 0;                   // how it is stored: an index in Parameters::ways
};

struct Parameters {
  std::vector<ParameterRow> rows; // the largest first
  // "parameter f32, split over fsdp; gradient f32, split over fsdp, ...; on stage0"
  std::vector<std::vector<std::string>> ways;
};

Parameters parametersOf(const rt::fb::Plan &plan);
std::string parametersText(const rt::fb::Plan &plan);

// "f32, split over fsdp, each rank of dp its own sum, in host memory"
std::string storageOf(const rt::fb::Plan &kind, const rt::fb::State &state);

} // namespace cleave::view

#endif
