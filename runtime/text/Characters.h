// Forms of Unicode's characters, which tokenizers normalize text to.
#ifndef CLEAVE_RUNTIME_TEXT_CHARACTERS_H
#define CLEAVE_RUNTIME_TEXT_CHARACTERS_H

#include <string>

namespace cleave::rt {

// "Été" -> "été". Each character for itself: of a sigma at the end of a word nothing is known.
void makeSmall(std::string *text);
// "Été" -> "Ete": the canonical decomposition (NFD), of which marks that take no room (\p{Mn}) are left out. The marks
// that are characters of the text themselves stay.
void decomposeWithoutMarks(std::string *text);

} // namespace cleave::rt

#endif
