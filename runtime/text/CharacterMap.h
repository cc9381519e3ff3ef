// The `Precompiled` normalizer of SentencePiece's tokenizers: a table of texts and their replacements.
//
// The table is a double-array trie (Darts-clone) over bytes. After it come the replacements, each ended by a NUL. A
// unit of the trie has 32 bits: its label, the offset of its children, and whether one of them is a leaf. The value of
// a leaf is the position of a replacement.
#ifndef CLEAVE_RUNTIME_TEXT_CHARACTERMAP_H
#define CLEAVE_RUNTIME_TEXT_CHARACTERMAP_H

#include "runtime/text/Regex.h"

#include <optional>
#include <vector>

namespace cleave::rt {

class CharacterMap {
public:
  // `base64` is the member `precompiled_charsmap` of a tokenizer.json.
  static Status open(const std::string &base64, CharacterMap *result);

  Status apply(std::string *text) const;

private:
  // Returns the replacement of the shortest prefix of the text that has one, as tokenizers does.
  std::optional<std::string_view> find(std::string_view text) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
  Regex clusters_; // sequences that a reader sees as one character, such as a letter with its accents
};

} // namespace cleave::rt

#endif
