#include "runtime/text/Characters.h"

#include "runtime/base/Utf8.h"

#include <algorithm>
#include <iterator>

namespace cleave::rt {
namespace {

struct Run { // see tools/dev/character_tables.py
  uint32_t first, last, step, target, follows;
};
struct Long {
  uint32_t code;
  const char *text;
};

#include "runtime/text/CharacterTables.def"

// Returns the mapped character, or the character itself if it is in no run.
template <size_t Count> uint32_t lookUp(const Run (&runs)[Count], uint32_t code) {
  const Run *after = std::upper_bound(std::begin(runs), std::end(runs), code,
                                      [](uint32_t wanted, const Run &run) { return wanted < run.first; });
  // Runs of every second character may overlap. So the run with this character is one of the last two that begin before
  // it.
  for (const Run *run = after; run != std::begin(runs) && after - run < 2;) {
    --run;
    if (code <= run->last && (code - run->first) % run->step == 0)
      return run->follows ? run->target + (code - run->first) : run->target;
  }
  return code;
}

template <typename Append> void replaceCharacters(std::string *text, Append append) {
  std::string result;
  for (size_t at = 0; at < text->size();) {
    Character c = characterAt(*text, at);
    if (c.bytes == 0) { // not UTF-8: stays as it is
      result += (*text)[at++];
      continue;
    }
    append(c.code, &result);
    at += c.bytes;
  }
  *text = std::move(result);
}

// A syllable of Hangul is two or three letters, by a formula (Unicode, section 3.12).
void appendSyllable(uint32_t index, std::string *text) {
  appendCharacter(0x1100 + index / 588, text);
  appendCharacter(0x1161 + index % 588 / 28, text);
  if (index % 28 != 0)
    appendCharacter(0x11A7 + index % 28, text);
}

} // namespace

void makeSmall(std::string *text) {
  replaceCharacters(text, [](uint32_t code, std::string *result) {
    if (code >= 'A' && code <= 'Z')
      code += 'a' - 'A';
    if (code == 0x130) // the only capital letter whose small form has two characters
      *result += "i\xCC\x87";
    else
      appendCharacter(code < 0x80 ? code : lookUp(kSmall, code), result);
  });
}

void decomposeWithoutMarks(std::string *text) {
  replaceCharacters(text, [](uint32_t code, std::string *result) {
    auto found = std::lower_bound(std::begin(kLong), std::end(kLong), code,
                                  [](const Long &row, uint32_t wanted) { return row.code < wanted; });
    if (found != std::end(kLong) && found->code == code)
      *result += found->text;
    else if (code >= 0xAC00 && code < 0xD7A4)
      appendSyllable(code - 0xAC00, result);
    else
      appendCharacter(code < 0x80 ? code : lookUp(kWithoutMarks, code), result);
  });
}

} // namespace cleave::rt
