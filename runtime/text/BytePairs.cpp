#include "runtime/text/BytePairs.h"

#include "runtime/text/ByteTokens.h"
#include "runtime/text/Characters.h"

#include <algorithm>
#include <queue>

namespace cleave::rt {

void BytePairs::addToken(const std::string &bytes, Token token) {
  tokens_[bytes] = token;
  if (bytes.size() == 1)
    bytes_[static_cast<unsigned char>(bytes[0])] = token;
}

bool BytePairs::addMerge(const std::string &left, const std::string &right) {
  auto first = tokens_.find(left), second = tokens_.find(right), both = tokens_.find(left + right);
  if (first == tokens_.end() || second == tokens_.end() || both == tokens_.end())
    return false;
  merges_[pairOf(first->second, second->second)] = {nextRank_++, both->second}; // of equal pairs, the last counts
  return true;
}

uint32_t BytePairs::rankOf(Token left, Token right) const {
  auto found = merges_.find(pairOf(left, right));
  return found == merges_.end() ? UINT32_MAX : found->second.rank;
}

void BytePairs::useCharacters(Unknown unknown) {
  unknown_ = unknown;
  bytes_ = noTokens();
  for (unsigned byte = 0; unknown.hasBytes && byte < 256; ++byte)
    if (auto found = tokens_.find(nameOfByte(static_cast<unsigned char>(byte))); found != tokens_.end())
      bytes_[byte] = found->second;
}

Status BytePairs::splitBytes(std::string_view piece, std::vector<Token> *symbols) const {
  for (char byte : piece) {
    symbols->push_back(bytes_[static_cast<unsigned char>(byte)]);
    if (symbols->back() == kNone)
      return invalidArgument("the tokenizer has no token for the byte " +
                             std::to_string(static_cast<unsigned char>(byte)) + " of the text");
  }
  return Status::ok();
}

// As in tokenizers, an unknown token is appended only when the next character with a token comes. So tokens of bytes
// between them are appended before it.
void BytePairs::splitCharacters(std::string_view piece, std::vector<Token> *symbols) const {
  bool isPending = false;
  auto putDown = [&] {
    if (isPending)
      symbols->push_back(unknown_->token);
    isPending = false;
  };
  for (size_t at = 0; at < piece.size();) {
    std::string_view character = piece.substr(at, bytesAt(piece, at));
    at += character.size();
    auto tokenOf = [&](char byte) { return bytes_[static_cast<unsigned char>(byte)]; };
    if (auto found = tokens_.find(std::string(character)); found != tokens_.end()) {
      putDown();
      symbols->push_back(found->second);
    } else if (std::none_of(character.begin(), character.end(), [&](char byte) { return tokenOf(byte) == kNone; })) {
      for (char byte : character)
        symbols->push_back(tokenOf(byte));
    } else if (unknown_->token != kNone) {
      if (!unknown_->fuses)
        putDown();
      isPending = true;
    }
  }
  putDown();
}

Status BytePairs::encode(std::string_view piece, std::vector<uint64_t> *tokens) const {
  if (wholePieces_)
    if (auto found = tokens_.find(std::string(piece)); found != tokens_.end()) {
      tokens->push_back(found->second);
      return Status::ok();
    }
  std::vector<Token> first;
  if (unknown_)
    splitCharacters(piece, &first);
  else
    CLEAVE_TRY(splitBytes(piece, &first));
  // The piece's tokens as a linked list. A merged pair stays at the position of its left token.
  struct Symbol {
    Token token;
    size_t before, after;
  };
  size_t end = first.size();
  std::vector<Symbol> symbols(end);
  for (size_t i = 0; i < end; ++i)
    symbols[i] = {first[i], i == 0 ? end : i - 1, i + 1};
  // Candidates for merging, by rank and then by position. A candidate is stale if the tokens at its position no longer
  // have a merge of that rank.
  using Candidate = std::pair<uint32_t, size_t>;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<Candidate>> candidates;
  auto offer = [&](size_t left) {
    if (left >= end || symbols[left].after >= end)
      return;
    if (uint32_t rank = rankOf(symbols[left].token, symbols[symbols[left].after].token); rank != UINT32_MAX)
      candidates.push({rank, left});
  };
  for (size_t i = 0; i + 1 < end; ++i)
    offer(i);
  while (!candidates.empty()) {
    auto [rank, left] = candidates.top();
    candidates.pop();
    if (symbols[left].token == kNone || symbols[left].after >= end)
      continue;
    size_t right = symbols[left].after;
    auto found = merges_.find(pairOf(symbols[left].token, symbols[right].token));
    if (found == merges_.end() || found->second.rank != rank)
      continue;
    symbols[left].token = found->second.result;
    symbols[left].after = symbols[right].after;
    if (symbols[left].after < end)
      symbols[symbols[left].after].before = left;
    symbols[right].token = kNone;
    offer(symbols[left].before);
    offer(left);
  }
  for (const Symbol &symbol : symbols)
    if (symbol.token != kNone)
      tokens->push_back(symbol.token);
  return Status::ok();
}

} // namespace cleave::rt
