#include "runtime/text/Tokenizer.h"

#include "runtime/base/Utf8.h"

#include <algorithm>

namespace cleave::rt {
namespace {

// The characters of Unicode's White_Space. Added tokens may include them on their left and right.
bool isSpace(uint32_t c) {
  return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

size_t spacesBefore(std::string_view text, size_t end, size_t least) {
  while (end > least) {
    size_t begin = end - 1;
    while (begin > least && isContinuation(text[begin]))
      --begin;
    if (!isSpace(characterAt(text, begin).code))
      break;
    end = begin;
  }
  return end;
}

size_t spacesAfter(std::string_view text, size_t begin) {
  while (begin < text.size()) {
    Character c = characterAt(text, begin);
    if (!isSpace(c.code))
      break;
    begin += c.bytes;
  }
  return begin;
}

} // namespace

// Splits the text into spans at added tokens. The leftmost token comes first, and of several at one position the
// longest.
std::vector<Tokenizer::Span> Tokenizer::cutAdded(const std::string &text, bool normalized) const {
  std::vector<Span> spans;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const AddedToken *longest = nullptr;
    for (const AddedToken &token : added_)
      if (token.isNormalized == normalized && text.compare(at, token.content.size(), token.content) == 0 &&
          (!longest || token.content.size() > longest->content.size()))
        longest = &token;
    if (!longest) {
      ++at;
      continue;
    }
    size_t stop = at + longest->content.size();
    size_t left = longest->takesLeft ? spacesBefore(text, at, begin) : at;
    if (left > begin)
      spans.push_back({begin, left, {}});
    begin = at = longest->takesRight ? spacesAfter(text, stop) : stop;
    spans.push_back({left, begin, longest->id});
  }
  if (begin < text.size())
    spans.push_back({begin, text.size(), {}});
  return spans;
}

Status Tokenizer::encode(const std::string &text, std::vector<uint64_t> *tokens) const {
  if (size_t wrong = firstInvalid(text); wrong < text.size())
    return invalidArgument("the text is not UTF-8: byte " + std::to_string(wrong) + " begins no character");
  tokens->assign(before_.begin(), before_.end());
  for (const Span &span : cutAdded(text, false)) {
    if (span.token)
      tokens->push_back(*span.token);
    else
      CLEAVE_TRY(encodePart(text.substr(span.begin, span.end - span.begin), span.begin == 0, tokens));
  }
  tokens->insert(tokens->end(), after_.begin(), after_.end());
  return Status::ok();
}

Status Tokenizer::encodePart(std::string text, bool isFirst, std::vector<uint64_t> *tokens) const {
  CLEAVE_TRY(normalizer_.apply(&text));
  for (const Span &span : cutAdded(text, true)) {
    if (span.token) {
      tokens->push_back(*span.token);
      continue;
    }
    Pieces pieces = {text.substr(span.begin, span.end - span.begin)};
    CLEAVE_TRY(splitting_.apply(&pieces, isFirst && span.begin == 0));
    for (const std::string &piece : pieces)
      CLEAVE_TRY(model_->encode(piece, tokens));
  }
  return Status::ok();
}

std::string Tokenizer::bytesOf(uint64_t token, bool isFirst) const {
  auto found = texts_.find(token);
  if (found == texts_.end())
    return "";
  if (isFirst && spacesOfFirst_ == SIZE_MAX) { // Metaspace: the marks of the first token are not spaces
    std::string text = found->second;
    text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
    return text;
  }
  size_t spaces = 0;
  while (isFirst && spaces < spacesOfFirst_ && spaces < found->second.size() && found->second[spaces] == ' ')
    ++spaces;
  return found->second.substr(spaces);
}

std::optional<uint64_t> Tokenizer::tokenOf(const std::string &content) const {
  auto found = names_.find(content);
  return found == names_.end() ? std::nullopt : std::optional<uint64_t>(found->second);
}

} // namespace cleave::rt
