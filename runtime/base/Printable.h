// Makes text from a file or a command line safe to print in a message.
//
// A name in a model, a line of a schedule, or a path may contain characters that a terminal obeys: an escape sequence
// that clears the screen, a carriage return that overwrites the message, a mark that reverses the order of letters.
// Such text enters messages in hundreds of places, but messages are printed in a few places. Only those call
// printable().
#ifndef CLEAVE_RUNTIME_BASE_PRINTABLE_H
#define CLEAVE_RUNTIME_BASE_PRINTABLE_H

#include "runtime/base/Utf8.h"

#include <string>
#include <string_view>

namespace cleave::rt {

// True for the control characters of C0 and C1, and for characters that change lines or the direction of text.
inline bool isControl(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

// Returns the text on one line. Each byte of a control character, and each byte that is not UTF-8, becomes an escape
// such as "\x1b". Other characters stay.
inline std::string printable(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string result;
  for (size_t at = 0; at < text.size();) {
    Character character = characterAt(text, at);
    size_t bytes = character.bytes == 0 ? 1 : character.bytes;
    if (character.bytes != 0 && !isControl(character.code))
      result.append(text.substr(at, bytes));
    else
      for (char byte : text.substr(at, bytes))
        result.append("\\x").append({kDigits[(byte >> 4) & 15], kDigits[byte & 15]});
    at += bytes;
  }
  return result;
}

} // namespace cleave::rt

#endif
