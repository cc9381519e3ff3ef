#include "runtime/text/Unigram.h"

#include "runtime/text/ByteTokens.h"
#include "runtime/text/Characters.h"

#include <algorithm>

namespace cleave::rt {

void Unigram::addToken(const std::string &text, uint64_t token, double score) {
  entries_[text] = {token, score};
  lowest_ = std::min(lowest_, score);
  longest_ = std::max(longest_, text.size());
}

void Unigram::useBytes() {
  for (unsigned byte = 0; byte < 256; ++byte)
    if (auto found = entries_.find(nameOfByte(static_cast<unsigned char>(byte))); found != entries_.end())
      bytes_[byte] = found->second.token;
}

Status Unigram::addUnknown(std::string_view text, std::vector<uint64_t> *tokens) const {
  if (auto found = entries_.find(std::string(text)); found != entries_.end()) {
    tokens->push_back(found->second.token);
    return Status::ok();
  }
  auto hasToken = [&](char byte) { return bytes_[static_cast<unsigned char>(byte)].has_value(); };
  if (std::all_of(text.begin(), text.end(), hasToken)) {
    for (char byte : text)
      tokens->push_back(*bytes_[static_cast<unsigned char>(byte)]);
    return Status::ok();
  }
  if (!unknown_)
    return invalidArgument("the tokenizer has no token for '" + std::string(text) + "'");
  tokens->push_back(*unknown_);
  return Status::ok();
}

Status Unigram::encode(std::string_view piece, std::vector<uint64_t> *tokens) const {
  constexpr double kUnknownPenalty = 10;
  std::vector<Node> nodes(piece.size() + 1); // by position; those inside of characters are not reached
  nodes[0] = {0, 0, {}, true};
  auto offer = [&](size_t begin, size_t end, double score, std::optional<uint64_t> token) {
    score += nodes[begin].score;
    if (!nodes[end].isReached || score > nodes[end].score)
      nodes[end] = {score, begin, token, true};
  };
  for (size_t begin = 0; begin < piece.size();) {
    size_t character = std::min(bytesAt(piece, begin), piece.size() - begin);
    bool hasCharacter = false;
    for (size_t end = begin + character; end <= piece.size() && end - begin <= longest_;
         end += end < piece.size() ? bytesAt(piece, end) : 1)
      if (auto found = entries_.find(std::string(piece.substr(begin, end - begin))); found != entries_.end()) {
        bool isUnknown = unknown_ && found->second.token == *unknown_; // its text is unknown text like any other
        offer(begin, end, found->second.score, isUnknown ? std::nullopt : std::optional(found->second.token));
        hasCharacter |= end == begin + character;
      }
    if (!hasCharacter)
      offer(begin, begin + character, lowest_ - kUnknownPenalty, std::nullopt);
    begin += character;
  }
  // Collects the tokens from the end, then appends them in order. Unknown neighbours are one text.
  std::vector<Node> way; // `isReached` is no longer used
  std::vector<size_t> ends;
  for (size_t end = piece.size(); end > 0; end = nodes[end].begin) {
    if (!nodes[end].token && !way.empty() && !way.back().token)
      way.back().begin = nodes[end].begin;
    else {
      way.push_back(nodes[end]);
      ends.push_back(end);
    }
  }
  for (size_t i = way.size(); i-- > 0;) {
    if (way[i].token)
      tokens->push_back(*way[i].token);
    else
      CLEAVE_TRY(addUnknown(piece.substr(way[i].begin, ends[i] - way[i].begin), tokens));
  }
  return Status::ok();
}

} // namespace cleave::rt
