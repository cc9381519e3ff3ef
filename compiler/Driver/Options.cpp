#include "compiler/Driver/Options.h"

namespace cleave {

namespace {
struct PhaseRow {
  const char *name;
  const char *description;
};
constexpr PhaseRow phases[] = {
#define CLEAVE_PHASE(Name, name, description) {name, description},
#include "compiler/Driver/Phases.def"
};
} // namespace

const char *phaseName(Phase phase) { return phases[static_cast<int>(phase)].name; }
const char *phaseDescription(Phase phase) { return phases[static_cast<int>(phase)].description; }

std::optional<Phase> parsePhase(const std::string &name) {
  for (size_t i = 0; i < std::size(phases); ++i)
    if (name == phases[i].name)
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
