// WordPiece, as in BERT: takes the longest piece of the rest of a word, from left to right.
//
//   "unaffable"   vocabulary un, ##aff, ##able, [UNK]   ->   "un" "##aff" "##able"
//
// A piece that does not begin the word has the prefix. A word that cannot be split to its end is one unknown token.
#ifndef CLEAVE_RUNTIME_TEXT_WORDPIECES_H
#define CLEAVE_RUNTIME_TEXT_WORDPIECES_H

#include "runtime/text/PieceModel.h"

#include <string>
#include <unordered_map>

namespace cleave::rt {

class WordPieces : public PieceModel {
public:
  WordPieces(std::string prefix, size_t longestWord) : prefix_(std::move(prefix)), longestWord_(longestWord) {}

  void addToken(const std::string &text, uint64_t token) { tokens_[text] = token; }
  // Returns false if the text is not in the vocabulary.
  bool setUnknown(const std::string &text);

  Status encode(std::string_view piece, std::vector<uint64_t> *tokens) const override;

private:
  std::unordered_map<std::string, uint64_t> tokens_;
  std::string prefix_;
  size_t longestWord_; // in characters; a longer word is unknown
  uint64_t unknown_ = 0;
};

} // namespace cleave::rt

#endif
