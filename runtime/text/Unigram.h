// Unigram, as in T5 and XLM-RoBERTa: each token has the logarithm of its probability. A piece becomes the sequence of
// tokens with the largest sum.
//
//   "abc"   a -1, b -1, c -1, ab -1.5, bc -3   ->   "ab" "c"   (-2.5; "a" "b" "c" has -3, and "a" "bc" -4)
//
// The best sum up to each position is computed from the best sums before it. A character that is no token counts as a
// token that is less likely than all others.
#ifndef CLEAVE_RUNTIME_TEXT_UNIGRAM_H
#define CLEAVE_RUNTIME_TEXT_UNIGRAM_H

#include "runtime/text/PieceModel.h"

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>

namespace cleave::rt {

class Unigram : public PieceModel {
public:
  void addToken(const std::string &text, uint64_t token, double score);
  // Sets the token for characters that are no token. Several in a row become one token.
  void setUnknown(uint64_t token) { unknown_ = token; }
  // Unknown text becomes tokens <0x00> to <0xFF>, one for each byte. This is used only if all bytes of the text have a
  // token.
  void useBytes();

  Status encode(std::string_view piece, std::vector<uint64_t> *tokens) const override;

private:
  struct Entry {
    uint64_t token;
    double score;
  };
  struct Node { // the best sequence of tokens up to a position
    double score = -std::numeric_limits<double>::infinity();
    size_t begin = 0;              // where the last token begins
    std::optional<uint64_t> token; // nothing: unknown text
    bool isReached = false;
  };
  Status addUnknown(std::string_view text, std::vector<uint64_t> *tokens) const;

  std::unordered_map<std::string, Entry> entries_;
  std::array<std::optional<uint64_t>, 256> bytes_;
  std::optional<uint64_t> unknown_;
  double lowest_ = std::numeric_limits<double>::infinity();
  size_t longest_ = 0; // bytes of the longest token
};

} // namespace cleave::rt

#endif
