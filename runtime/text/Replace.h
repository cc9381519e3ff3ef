// Replaces all occurrences of one text in another, from left to right.
#ifndef CLEAVE_RUNTIME_TEXT_REPLACE_H
#define CLEAVE_RUNTIME_TEXT_REPLACE_H

#include <string>

namespace cleave::rt {

// The length of the text after replaceAll(), without making it: texts of files and of users may be hostile.
inline size_t replacedLength(const std::string &from, const std::string &to, const std::string &text) {
  size_t length = text.size();
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + from.size()))
    length += to.size() - from.size(); // modulo 2^64 while `to` is the shorter one
  return length;
}

// `from` must not be empty.
inline void replaceAll(const std::string &from, const std::string &to, std::string *text) {
  std::string result;
  size_t done = 0;
  for (size_t at = text->find(from); at != std::string::npos; at = text->find(from, done)) {
    result += text->substr(done, at - done) + to;
    done = at + from.size();
  }
  *text = result + text->substr(done);
}

} // namespace cleave::rt

#endif
