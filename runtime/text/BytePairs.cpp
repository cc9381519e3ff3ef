#include "runtime/text/BytePairs.h"

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
  merges_[pairOf(first->second, second->second)] = {nextRank_++, both->second}; // of a pair twice, the last counts
  return true;
}

uint32_t BytePairs::rankOf(Token left, Token right) const {
  auto found = merges_.find(pairOf(left, right));
  return found == merges_.end() ? UINT32_MAX : found->second.rank;
}

Status BytePairs::encode(std::string_view piece, std::vector<uint64_t> *tokens) const {
  if (wholePieces_)
    if (auto found = tokens_.find(std::string(piece)); found != tokens_.end()) {
      tokens->push_back(found->second);
      return Status::ok();
    }
  // A list of the piece's tokens by position of their first byte. A merged pair stays at its left position.
  struct Symbol {
    Token token;
    size_t before, after;
  };
  size_t end = piece.size();
  std::vector<Symbol> symbols(end);
  for (size_t i = 0; i < end; ++i) {
    symbols[i] = {bytes_[static_cast<unsigned char>(piece[i])], i == 0 ? end : i - 1, i + 1};
    if (symbols[i].token == kNone)
      return invalidArgument("the tokenizer has no token for the byte " +
                             std::to_string(static_cast<unsigned char>(piece[i])) + " of the text");
  }
  // Candidates by rank, then by position. One that has become stale has other tokens than its rank says.
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
