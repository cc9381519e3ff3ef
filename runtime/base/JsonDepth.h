// Tests how deep a JSON text nests, before a library reads it.
//
// nlohmann::json writes and copies values by recursion, and llvm::json::parse reads them by recursion. A file of a
// hundred thousand brackets, smaller than a MiB, would overflow the stack. Code that does one of these with a user's
// file calls isJsonDeeper() first. (nlohmann::json reads and destroys values without recursion.)
#ifndef CLEAVE_RUNTIME_BASE_JSONDEPTH_H
#define CLEAVE_RUNTIME_BASE_JSONDEPTH_H

#include <string_view>

namespace cleave::rt {

// More levels than any file of Cleave has.
inline constexpr unsigned kJsonLevels = 64;

// True if brackets and braces nest deeper than `levels`: "[[1], {}]" has two levels. Those in strings do not count. In
// a text that is not JSON, brackets before and after the mistake count.
inline bool isJsonDeeper(std::string_view text, unsigned levels = kJsonLevels) {
  unsigned open = 0;
  bool inText = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inText && c == '\\')
      ++i;
    else if (c == '"')
      inText = !inText;
    else if (!inText && (c == '[' || c == '{') && ++open > levels)
      return true;
    else if (!inText && (c == ']' || c == '}') && open > 0)
      --open;
  }
  return false;
}

} // namespace cleave::rt

#endif
