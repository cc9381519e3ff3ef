// Where the time of a measured step goes, as numbers for a page (Page.h): the most expensive kernels and nodes.
#ifndef CLEAVE_COMPILER_INSPECT_PAGEPROFILE_H
#define CLEAVE_COMPILER_INSPECT_PAGEPROFILE_H

#include "compiler/Inspect/Profile.h"

#include <nlohmann/json.hpp>

namespace cleave::view {

// Returns null if the parts have no profile. Times are in microseconds.
nlohmann::json profileJson(const rt::fb::Plan &plan, const PageParts &parts);

} // namespace cleave::view

#endif
