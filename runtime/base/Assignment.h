// Options of the form NAME=VALUE, where NAME is a name of the model, which may hold every character. A backslash takes
// its meaning from the character after it:
//
//   splitAssignment("a\\=b=y.npy", &name, &value)   name "a=b", value "y.npy"
#ifndef CLEAVE_RUNTIME_BASE_ASSIGNMENT_H
#define CLEAVE_RUNTIME_BASE_ASSIGNMENT_H

#include <string>
#include <string_view>

namespace cleave::rt {

// The index of the first such character that no backslash precedes, or npos.
inline size_t findPlain(std::string_view text, char wanted, size_t begin = 0) {
  for (size_t i = begin; i < text.size(); ++i)
    if (text[i] == '\\')
      ++i;
    else if (text[i] == wanted)
      return i;
  return std::string_view::npos;
}

// Removes the backslashes: "a\,b" becomes "a,b".
inline std::string withoutEscapes(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i)
    result += text[i] == '\\' && i + 1 < text.size() ? text[++i] : text[i];
  return result;
}

// Splits at the first plain `=`. False if there is none. The value keeps its backslashes: it may be the path of a file.
inline bool splitAssignment(std::string_view text, std::string *name, std::string *value) {
  size_t equals = findPlain(text, '=');
  if (equals == std::string_view::npos)
    return false;
  *name = withoutEscapes(text.substr(0, equals));
  value->assign(text.substr(equals + 1));
  return true;
}

} // namespace cleave::rt

#endif
