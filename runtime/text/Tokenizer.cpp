#include "runtime/text/Tokenizer.h"

#include "runtime/base/Utf8.h"

#include <algorithm>

namespace cleave::rt {
namespace {

// The characters of Unicode's White_Space, which added tokens take to their left and right.
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

// Cuts the added tokens out of the spans that are text: the leftmost first, and of several at one place the longest.
void Tokenizer::cutAdded(const std::string &text, bool normalized, std::vector<Span> *spans) const {
  std::vector<Span> result;
  for (const Span &span : *spans) {
    size_t begin = span.begin;
    for (size_t at = span.begin; !span.token && at < span.end;) {
      const AddedToken *longest = nullptr;
      for (const AddedToken &token : added_)
        if (token.isNormalized == normalized && token.content.size() <= span.end - at &&
            text.compare(at, token.content.size(), token.content) == 0 &&
            (!longest || token.content.size() > longest->content.size()))
          longest = &token;
      if (!longest) {
        ++at;
        continue;
      }
      std::string_view part(text.data(), span.end);
      size_t stop = at + longest->content.size();
      size_t left = longest->takesLeft ? spacesBefore(part, at, begin) : at;
      if (left > begin)
        result.push_back({begin, left, {}});
      begin = at = longest->takesRight ? spacesAfter(part, stop) : stop;
      result.push_back({left, begin, longest->id});
    }
    if (begin < span.end)
      result.push_back({begin, span.end, span.token});
  }
  *spans = std::move(result);
}

Status Tokenizer::encode(const std::string &text, std::vector<uint64_t> *tokens) const {
  if (size_t wrong = firstInvalid(text); wrong < text.size())
    return invalidArgument("the text is not UTF-8: byte " + std::to_string(wrong) + " begins no character");
  tokens->assign(before_.begin(), before_.end());
  std::vector<Span> spans = {{0, text.size(), {}}};
  cutAdded(text, false, &spans);
  cutAdded(text, true, &spans);
  for (const Span &span : spans) {
    if (span.token)
      tokens->push_back(*span.token);
    else
      CLEAVE_TRY(encodePart(std::string_view(text).substr(span.begin, span.end - span.begin), tokens));
  }
  tokens->insert(tokens->end(), after_.begin(), after_.end());
  return Status::ok();
}

Status Tokenizer::encodePart(std::string_view text, std::vector<uint64_t> *tokens) const {
  if (normalizes_) {
    bool changes = false;
    CLEAVE_TRY(unnormalized_.forEachMatch(text, [&](size_t, size_t) { changes = true; }));
    if (changes)
      return invalidArgument("the tokenizer normalizes text (NFC), and Cleave does not normalize the combining "
                             "characters of this one; make the tokens elsewhere, and give --prompt-ids");
  }
  std::string spaced = addsSpace_ && !text.empty() && text[0] != ' ' ? " " + std::string(text) : std::string(text);
  std::vector<std::string_view> pieces = {spaced};
  for (const Splitter &splitter : splitters_) {
    std::vector<std::string_view> next;
    for (std::string_view piece : pieces) {
      size_t done = 0;
      auto add = [&](size_t begin, size_t end) {
        if (begin < end)
          next.push_back(piece.substr(begin, end - begin));
      };
      CLEAVE_TRY(splitter.pattern.forEachMatch(piece, [&](size_t begin, size_t end) {
        if (!splitter.onlyMatches)
          add(done, begin);
        add(begin, end);
        done = end;
      }));
      if (!splitter.onlyMatches)
        add(done, piece.size());
    }
    pieces = std::move(next);
  }
  for (std::string_view piece : pieces)
    CLEAVE_TRY(pairs_.encode(piece, tokens));
  return Status::ok();
}

const std::string &Tokenizer::bytesOf(uint64_t token) const {
  static const std::string none;
  auto found = texts_.find(token);
  return found == texts_.end() ? none : found->second;
}

std::optional<uint64_t> Tokenizer::tokenOf(const std::string &content) const {
  for (const AddedToken &token : added_)
    if (token.content == content)
      return token.id;
  return std::nullopt;
}

} // namespace cleave::rt
