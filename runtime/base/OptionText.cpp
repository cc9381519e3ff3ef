#include "runtime/base/OptionText.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace cleave::rt {

bool parseUnsigned(std::string_view text, uint64_t *value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && *value <= uint64_t(INT64_MAX);
}

bool parseReal(std::string_view text, double *value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-')
    text.remove_prefix(1); // from_chars() takes no plus
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(*value);
}

std::string realText(double value) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::vector<std::string> splitText(std::string_view text, char separator) {
  std::vector<std::string> items;
  for (size_t begin = 0;;) {
    size_t end = std::min(text.find(separator, begin), text.size());
    items.emplace_back(text.substr(begin, end - begin));
    if (end == text.size())
      return items;
    begin = end + 1;
  }
}

bool endsWith(std::string_view text, std::string_view ending) {
  return text.size() >= ending.size() && text.substr(text.size() - ending.size()) == ending;
}

} // namespace cleave::rt
