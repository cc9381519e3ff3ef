// Characters of UTF-8 text.
#ifndef CLEAVE_RUNTIME_BASE_UTF8_H
#define CLEAVE_RUNTIME_BASE_UTF8_H

#include <cstdint>
#include <string>
#include <string_view>

namespace cleave::rt {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0; // 0: no character begins here
};

inline bool isContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Accepts only the shortest form of a character, and no surrogates.
inline Character characterAt(std::string_view text, size_t at) {
  unsigned char first = static_cast<unsigned char>(text[at]);
  size_t bytes = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (bytes == 0 || bytes > text.size() - at)
    return {};
  uint32_t code = bytes == 1 ? first : first & (0x7Fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if (!isContinuation(text[at + i]))
      return {};
    code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3Fu);
  }
  bool isShortest = bytes < 3 || code >= (bytes == 3 ? 0x800u : 0x10000u);
  return !isShortest || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF) ? Character{} : Character{code, bytes};
}

// The position of the first byte that belongs to no character, or the size of the text if there is none.
inline size_t firstInvalid(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    size_t bytes = characterAt(text, at).bytes;
    if (bytes == 0)
      return at;
    at += bytes;
  }
  return at;
}

inline void appendCharacter(uint32_t code, std::string *text) {
  if (code < 0x80) {
    *text += char(code);
  } else if (code < 0x800) {
    *text += char(0xC0 | code >> 6);
    *text += char(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    *text += char(0xE0 | code >> 12);
    *text += char(0x80 | (code >> 6 & 0x3F));
    *text += char(0x80 | (code & 0x3F));
  } else {
    *text += char(0xF0 | code >> 18);
    *text += char(0x80 | (code >> 12 & 0x3F));
    *text += char(0x80 | (code >> 6 & 0x3F));
    *text += char(0x80 | (code & 0x3F));
  }
}

} // namespace cleave::rt

#endif
