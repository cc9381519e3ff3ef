// "Did you mean": finds the name of a list that is closest to a mistyped one.
#ifndef CLEAVE_RUNTIME_SESSION_NEARESTNAME_H
#define CLEAVE_RUNTIME_SESSION_NEARESTNAME_H

#include <string>
#include <string_view>
#include <vector>

namespace cleave::rt {

// The Levenshtein distance.
size_t editDistance(std::string_view a, std::string_view b);
// Returns the name with the smallest distance of at most a third of the typed name's length, or 2 if that is more.
// Returns an empty text if there is none.
std::string nearestName(std::string_view typed, const std::vector<std::string> &names);
// "; did you mean 'steps'?", or nothing.
std::string didYouMean(std::string_view typed, const std::vector<std::string> &names);
// "a, b, c"
std::string joinNames(const std::vector<std::string> &names);

} // namespace cleave::rt

#endif
