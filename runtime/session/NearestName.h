// "did you mean": the name of a list that is closest to what was typed.
#ifndef CLEAVE_RUNTIME_SESSION_NEARESTNAME_H
#define CLEAVE_RUNTIME_SESSION_NEARESTNAME_H

#include <string>
#include <string_view>
#include <vector>

namespace cleave::rt {

// The Levenshtein distance.
size_t editDistance(std::string_view a, std::string_view b);
// The nearest name within a third of the typed one's length (at least 2); empty when none is near.
std::string nearestName(std::string_view typed, const std::vector<std::string> &names);
// "; did you mean 'steps'?", or nothing.
std::string didYouMean(std::string_view typed, const std::vector<std::string> &names);
// "a, b, c"
std::string joinNames(const std::vector<std::string> &names);

} // namespace cleave::rt

#endif
