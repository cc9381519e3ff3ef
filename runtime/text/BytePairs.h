// Byte-pair encoding: the tokens of a piece of text.
//
//   pieces "h" "u" "g"    merges  1. u g    2. h ug        ->  "h" "ug"  ->  "hug"
//
// Each byte, or each character, begins as a token of its own. Then the pair of neighbours whose merge comes first in
// the list becomes one token, the leftmost such pair first, until no pair is in the list.
#ifndef CLEAVE_RUNTIME_TEXT_BYTEPAIRS_H
#define CLEAVE_RUNTIME_TEXT_BYTEPAIRS_H

#include "runtime/text/PieceModel.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cleave::rt {

class BytePairs : public PieceModel {
public:
  using Token = uint32_t;
  static constexpr Token kNone = UINT32_MAX;

  // Tokens are byte strings. All of them before the merges.
  void addToken(const std::string &bytes, Token token);
  // The next merge of the list. False where one of the three tokens is not known.
  bool addMerge(const std::string &left, const std::string &right);
  // Takes a piece that is a token as it is, without looking at merges.
  void setWholePieces(bool whole) { wholePieces_ = whole; }

  // Of characters that are no token: what stands for one (kNone: nothing, they are left out), whether it stands for
  // several in a row, and whether the tokens <0x00> to <0xFF> of its bytes come first.
  struct Unknown {
    Token token = kNone;
    bool fuses = false;
    bool hasBytes = false;
  };
  // Characters, and not bytes, are the tokens to begin with.
  void useCharacters(Unknown unknown);

  // Appends the tokens of a piece. Fails where a byte has no token.
  Status encode(std::string_view piece, std::vector<uint64_t> *tokens) const override;

private:
  Status splitBytes(std::string_view piece, std::vector<Token> *symbols) const;
  void splitCharacters(std::string_view piece, std::vector<Token> *symbols) const;
  struct Merge {
    uint32_t rank;
    Token result;
  };
  static uint64_t pairOf(Token left, Token right) { return uint64_t(left) << 32 | right; }
  // Its rank, or UINT32_MAX.
  uint32_t rankOf(Token left, Token right) const;

  std::unordered_map<std::string, Token> tokens_;
  std::unordered_map<uint64_t, Merge> merges_;
  std::array<Token, 256> bytes_ = noTokens(); // of single bytes: their texts, or their names <0x00> to <0xFF>
  std::optional<Unknown> unknown_;            // of characters
  uint32_t nextRank_ = 0;
  bool wholePieces_ = false;

  static std::array<Token, 256> noTokens() {
    std::array<Token, 256> none;
    none.fill(kNone);
    return none;
  }
};

} // namespace cleave::rt

#endif
