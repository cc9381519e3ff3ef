// Forms of Unicode's characters, which tokenizers normalize text to.
#ifndef CLEAVE_RUNTIME_TEXT_CHARACTERS_H
#define CLEAVE_RUNTIME_TEXT_CHARACTERS_H

#include "runtime/base/Utf8.h"

#include <algorithm>
#include <string>

namespace cleave::rt {

// The bytes of the character that begins there. Text is UTF-8; where it is not, one, so that a loop goes on.
inline size_t bytesAt(std::string_view text, size_t at) { return std::max<size_t>(1, characterAt(text, at).bytes); }

// "Été" -> "été". Each character for itself: of a sigma at the end of a word nothing is known.
void makeSmall(std::string *text);
// "Été" -> "Ete": the canonical decomposition (NFD), of which marks that take no room (\p{Mn}) are left out. The marks
// that are characters of the text themselves stay.
void decomposeWithoutMarks(std::string *text);

} // namespace cleave::rt

#endif
