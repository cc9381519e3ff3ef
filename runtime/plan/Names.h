// Splitting the name lists of the .def files.
#ifndef CLEAVE_RUNTIME_PLAN_NAMES_H
#define CLEAVE_RUNTIME_PLAN_NAMES_H

#include <algorithm>
#include <string_view>
#include <vector>

namespace cleave::rt {

// "target source" -> {"target", "source"}. The views point into `text`.
inline std::vector<std::string_view> splitNames(std::string_view text) {
  std::vector<std::string_view> names;
  while (true) {
    size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos)
      return names;
    text.remove_prefix(begin);
    size_t end = std::min(text.find(' '), text.size());
    names.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

// Removes a trailing "...". Returns whether there was one.
inline bool consumeEllipsis(std::string_view &name) {
  if (name.size() <= 3 || name.substr(name.size() - 3) != "...")
    return false;
  name.remove_suffix(3);
  return true;
}

} // namespace cleave::rt

#endif
