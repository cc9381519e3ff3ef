// Byte-pair encoding: computes the tokens of a piece of text.
//
//   pieces "h" "u" "g"    merges  1. u g    2. h ug        ->  "h" "ug"  ->  "hug"
//
// At first, each byte, or each character, is a token. Then one pair of neighbours becomes one token: the pair whose
// merge comes first in the list, and of equal pairs the leftmost. This is repeated until no pair is in the list.
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

  // Adds a token, whose text is a byte string. All tokens must be added before the merges.
  void addToken(const std::string &bytes, Token token);
  // Adds the next merge of the list. Returns false if one of the three tokens is not known.
  bool addMerge(const std::string &left, const std::string &right);
  // If true, a piece that is itself a token stays whole, whatever the merges say.
  void setWholePieces(bool whole) { wholePieces_ = whole; }

  // What happens to characters that are no token: `token` replaces them (kNone: they are left out); `fuses` says
  // whether it replaces several in a row; `hasBytes` says whether the tokens <0x00> to <0xFF> of their bytes are tried
  // first.
  struct Unknown {
    Token token = kNone;
    bool fuses = false;
    bool hasBytes = false;
  };
  // From now on the first tokens are characters, not bytes.
  void useCharacters(Unknown unknown);

  // Appends the tokens of a piece. Fails if a byte has no token.
  Status encode(std::string_view piece, std::vector<uint64_t> *tokens) const override;

private:
  Status splitBytes(std::string_view piece, std::vector<Token> *symbols) const;
  void splitCharacters(std::string_view piece, std::vector<Token> *symbols) const;
  struct Merge {
    uint32_t rank;
    Token result;
  };
  static uint64_t pairOf(Token left, Token right) { return uint64_t(left) << 32 | right; }
  // The rank of the pair's merge, or UINT32_MAX if there is none.
  uint32_t rankOf(Token left, Token right) const;

  std::unordered_map<std::string, Token> tokens_;
  std::unordered_map<uint64_t, Merge> merges_;
  std::array<Token, 256> bytes_ = noTokens(); // of single bytes: by their texts, or by their names <0x00> to <0xFF>
  std::optional<Unknown> unknown_;            // set if the first tokens are characters
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
