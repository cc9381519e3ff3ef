// Unigram, as T5 and XLM-RoBERTa have it: each token has a logarithm of its probability, and a piece becomes
// the tokens whose sum is the largest.
//
//   "abc"   a -1, b -1, c -1, ab -1.5, bc -3   ->   "ab" "c"   (-2.5; "a" "b" "c" has -3, and "a" "bc" -4)
//
// The best sum up to each position is found from the best ones before it. A character that is no token counts as one
// that is less likely than all others.
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
  // What stands for characters that are no token. Several in a row are one token.
  void setUnknown(uint64_t token) { unknown_ = token; }
  // Unknown characters become tokens <0x00> to <0xFF>, one for each byte. Takes effect where all that a text needs
  // exist.
  void useBytes();

  Status encode(std::string_view piece, std::vector<uint64_t> *tokens) const override;

private:
  struct Entry {
    uint64_t token;
    double score;
  };
  struct Node { // the best way to come to a position
    double score = -std::numeric_limits<double>::infinity();
    size_t begin = 0;              // of the last token
    std::optional<uint64_t> token; // none: unknown
    bool isReached = false;
  };
  Status addUnknown(std::string_view text, std::vector<uint64_t> *tokens) const;

  std::unordered_map<std::string, Entry> entries_;
  std::array<std::optional<uint64_t>, 256> bytes_;
  std::optional<uint64_t> unknown_;
  double lowest_ = std::numeric_limits<double>::infinity();
  size_t longest_ = 0; // bytes of a token
};

} // namespace cleave::rt

#endif
