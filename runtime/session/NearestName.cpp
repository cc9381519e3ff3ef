#include "runtime/session/NearestName.h"

#include <algorithm>
#include <numeric>

namespace cleave::rt {

size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

std::string nearestName(std::string_view typed, const std::vector<std::string> &names) {
  // The distance must be less than the typed name's length: otherwise a name of one letter would be near to every other
  // one.
  size_t best = std::min(std::max<size_t>(2, typed.size() / 3) + 1, typed.size());
  std::string nearest;
  for (const std::string &name : names)
    if (size_t distance = editDistance(typed, name); distance < best) {
      best = distance;
      nearest = name;
    }
  return nearest;
}

std::string didYouMean(std::string_view typed, const std::vector<std::string> &names) {
  std::string near = nearestName(typed, names);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

std::string joinNames(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

} // namespace cleave::rt
