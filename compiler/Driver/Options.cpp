#include "compiler/Driver/Options.h"

namespace cleave {

static constexpr const char *phaseNames[] = {
#define CLEAVE_PHASE(Name, name, description) name,
#include "compiler/Driver/Phases.def"
};

const char *phaseName(Phase phase) { return phaseNames[static_cast<int>(phase)]; }

std::optional<Phase> parsePhase(const std::string &name) {
  for (size_t i = 0; i < std::size(phaseNames); ++i)
    if (name == phaseNames[i])
      return static_cast<Phase>(i);
  return std::nullopt;
}

int64_t CompileOptions::ranks() const {
  int64_t product = 1;
  for (const auto &[name, size] : mesh)
    product *= size;
  return product;
}

int64_t CompileOptions::axisSize(const std::string &axis) const {
  for (const auto &[name, size] : mesh)
    if (name == axis)
      return size;
  return 1;
}

int64_t CompileOptions::dataRanks() const { return axisSize("dp") * axisSize("fsdp"); }

} // namespace cleave
