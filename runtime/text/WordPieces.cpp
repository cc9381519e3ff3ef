#include "runtime/text/WordPieces.h"

#include "runtime/base/Utf8.h"

#include <algorithm>

namespace cleave::rt {

bool WordPieces::setUnknown(const std::string &text) {
  auto found = tokens_.find(text);
  if (found == tokens_.end())
    return false;
  unknown_ = found->second;
  return true;
}

Status WordPieces::encode(std::string_view piece, std::vector<uint64_t> *tokens) const {
  size_t characters = piece.size() - static_cast<size_t>(std::count_if(piece.begin(), piece.end(), isContinuation));
  std::vector<uint64_t> found;
  bool isKnown = characters <= longestWord_;
  for (size_t begin = 0; isKnown && begin < piece.size();) {
    std::string text = (begin == 0 ? "" : prefix_) + std::string(piece.substr(begin));
    size_t shortest = text.size() - (piece.size() - begin);
    auto token = tokens_.find(text);
    while (token == tokens_.end() && text.size() > shortest) {
      while (text.size() > shortest + 1 && isContinuation(text.back()))
        text.pop_back();
      text.pop_back();
      token = text.size() > shortest ? tokens_.find(text) : tokens_.end();
    }
    isKnown = token != tokens_.end();
    begin += text.size() - shortest;
    if (isKnown)
      found.push_back(token->second);
  }
  if (!isKnown)
    found = {unknown_};
  tokens->insert(tokens->end(), found.begin(), found.end());
  return Status::ok();
}

} // namespace cleave::rt
