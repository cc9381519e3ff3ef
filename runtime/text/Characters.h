// Forms of Unicode's characters that tokenizers normalize text to.
#ifndef CLEAVE_RUNTIME_TEXT_CHARACTERS_H
#define CLEAVE_RUNTIME_TEXT_CHARACTERS_H

#include "runtime/base/Utf8.h"

#include <algorithm>
#include <string>

namespace cleave::rt {

// The bytes of the character that begins at `at`. If none begins there, because the text is not UTF-8, it is 1, so that
// loops end.
inline size_t bytesAt(std::string_view text, size_t at) { return std::max<size_t>(1, characterAt(text, at).bytes); }

// "Été" -> "été". Each character is changed on its own, so a sigma at the end of a word gets no special form.
void makeSmall(std::string *text);
// "Été" -> "Ete": the canonical decomposition (NFD), without the marks that need no space (\p{Mn}). Marks that are
// characters of the text itself stay.
void decomposeWithoutMarks(std::string *text);

} // namespace cleave::rt

#endif
