// Tokens for single bytes in a vocabulary of text, as in Llama's tokenizers: "<0x0A>" is the byte 10.
#ifndef CLEAVE_RUNTIME_TEXT_BYTETOKENS_H
#define CLEAVE_RUNTIME_TEXT_BYTETOKENS_H

#include <cstdio>
#include <optional>
#include <string>

namespace cleave::rt {

inline std::string nameOfByte(unsigned char byte) {
  char text[8];
  std::snprintf(text, sizeof text, "<0x%02X>", byte);
  return text;
}

// Returns the byte for a name such as "<0x0A>", or nothing for other texts.
inline std::optional<char> byteOfName(const std::string &name) {
  unsigned byte = 0;
  if (name.size() != 6 || std::sscanf(name.c_str(), "<0x%02X>", &byte) != 1 ||
      nameOfByte(static_cast<unsigned char>(byte)) != name)
    return std::nullopt;
  return static_cast<char>(byte);
}

} // namespace cleave::rt

#endif
