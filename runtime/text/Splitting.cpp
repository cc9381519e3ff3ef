#include "runtime/text/Splitting.h"

#include "runtime/text/Normalizer.h"
#include "runtime/text/Replace.h"

#include <algorithm>

namespace cleave::rt {

Status Splitting::apply(Pieces *pieces, bool isFirst) const {
  for (const Rule &rule : rules_) {
    Pieces next;
    for (size_t i = 0; i < pieces->size(); ++i)
      CLEAVE_TRY(rule((*pieces)[i], isFirst && i == 0, &next));
    *pieces = std::move(next);
  }
  return Status::ok();
}

namespace {

struct Part {
  size_t begin, end;
  bool isMatch;
};

// Joins each match to its neighbour on one side, unless that neighbour is a match too.
std::vector<Part> mergeMatches(std::vector<Part> parts, bool withNext) {
  if (withNext)
    std::reverse(parts.begin(), parts.end());
  std::vector<Part> merged;
  bool afterMatch = false;
  for (const Part &part : parts) {
    if (part.isMatch && !afterMatch && !merged.empty())
      (withNext ? merged.back().begin : merged.back().end) = withNext ? part.begin : part.end;
    else
      merged.push_back(part);
    afterMatch = part.isMatch;
  }
  if (withNext)
    std::reverse(merged.begin(), merged.end());
  return merged;
}

} // namespace

Splitting::Rule splitByPattern(Regex pattern, Matches matches, bool inverts) {
  return [=](const std::string &piece, bool, Pieces *pieces) {
    std::vector<Part> parts;
    auto add = [&](size_t begin, size_t end, bool isMatch) {
      if (begin < end)
        parts.push_back({begin, end, isMatch != inverts});
    };
    size_t done = 0;
    CLEAVE_TRY(pattern.forEachMatch(piece, [&](size_t begin, size_t end) {
      add(done, begin, false);
      add(begin, end, true);
      done = end;
    }));
    add(done, piece.size(), false);
    if (matches == Matches::MergedWithPrevious || matches == Matches::MergedWithNext)
      parts = mergeMatches(std::move(parts), matches == Matches::MergedWithNext);
    for (const Part &part : parts)
      if (!part.isMatch || matches != Matches::Removed)
        pieces->push_back(piece.substr(part.begin, part.end - part.begin));
    return Status::ok();
  };
}

Splitting::Rule withSpaceBefore() {
  return [](const std::string &piece, bool, Pieces *pieces) {
    pieces->push_back(piece[0] == ' ' ? piece : " " + piece);
    return Status::ok();
  };
}

Splitting::Rule markSpaces(Marking marking) {
  return [=](const std::string &piece, bool isFirst, Pieces *pieces) {
    const std::string &mark = marking.mark;
    std::string text = piece;
    CLEAVE_TRY(checkNormalizedLength(replacedLength(" ", mark, text)));
    replaceAll(" ", mark, &text);
    bool prepends =
        marking.prepend == Marking::Prepend::Always || (marking.prepend == Marking::Prepend::First && isFirst);
    bool isMarked = text.compare(0, mark.size(), mark) == 0;
    if (prepends && !isMarked)
      text = mark + text;
    size_t begin = 0, after = isMarked || prepends ? mark.size() : 0; // end of the mark that begins the first word
    for (size_t at = marking.splits ? text.find(mark, after) : std::string::npos; at != std::string::npos;
         at = text.find(mark, at + mark.size())) {
      pieces->push_back(text.substr(begin, at - begin));
      begin = at;
    }
    pieces->push_back(text.substr(begin));
    return Status::ok();
  };
}

} // namespace cleave::rt
