// The `Precompiled` normalizer of SentencePiece's tokenizers: a table of texts and of what stands for each.
//
// The table is a double-array trie (Darts-clone) over bytes, followed by the replacements, each ended by a NUL. A unit
// of the trie is 32 bits: label, where its children are, and whether one of these is a leaf, whose value is the place
// of a replacement.
#ifndef CLEAVE_RUNTIME_TEXT_CHARACTERMAP_H
#define CLEAVE_RUNTIME_TEXT_CHARACTERMAP_H

#include "runtime/text/Regex.h"

#include <optional>
#include <vector>

namespace cleave::rt {

class CharacterMap {
public:
  // `base64` is `precompiled_charsmap` of a tokenizer.json.
  static Status open(const std::string &base64, CharacterMap *result);

  Status apply(std::string *text) const;

private:
  // The replacement of the shortest beginning of the text that has one, as tokenizers does it.
  std::optional<std::string_view> find(std::string_view text) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
  Regex clusters_; // what a reader takes for one character, as a letter with its accents
};

} // namespace cleave::rt

#endif
