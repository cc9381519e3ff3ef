// A regular expression over UTF-8 text, with Unicode's classes: \p{L}, \s, (?i:...), (?!...).
//
// It uses PCRE2, which is in every Debian 12 system (libselinux needs it). The library is opened when the first
// expression is compiled, so programs that split no text do not need it.
#ifndef CLEAVE_RUNTIME_TEXT_REGEX_H
#define CLEAVE_RUNTIME_TEXT_REGEX_H

#include "runtime/base/Status.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace cleave::rt {

class Regex {
public:
  static Status compile(const std::string &pattern, Regex *result);

  // Calls `visit` for each match from left to right, except empty ones. `text` must be valid UTF-8.
  Status forEachMatch(std::string_view text, const std::function<void(size_t begin, size_t end)> &visit) const;

private:
  std::shared_ptr<void> code_;
};

} // namespace cleave::rt

#endif
