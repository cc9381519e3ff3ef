// How a tokenizer splits text into the pieces that its model sees, as words.
#ifndef CLEAVE_RUNTIME_TEXT_SPLITTING_H
#define CLEAVE_RUNTIME_TEXT_SPLITTING_H

#include "runtime/base/Status.h"
#include "runtime/text/Regex.h"

#include <functional>
#include <string>
#include <vector>

namespace cleave::rt {

using Pieces = std::vector<std::string>;

// Rules, one after the other: each makes pieces of a piece. Pieces are not empty.
class Splitting {
public:
  // `isFirst`: the piece begins the text.
  using Rule = std::function<Status(const std::string &piece, bool isFirst, Pieces *pieces)>;

  void add(Rule rule) { rules_.push_back(std::move(rule)); }
  bool isEmpty() const { return rules_.empty(); }
  Status apply(Pieces *pieces, bool isFirst) const;

private:
  std::vector<Rule> rules_;
};

// What becomes of the matches of a pattern. Of neighbours that match, one alone is merged.
enum class Matches { Isolated, Removed, MergedWithPrevious, MergedWithNext };
// With `inverts` the texts between matches are taken for the matches.
Splitting::Rule splitByPattern(Regex pattern, Matches matches, bool inverts = false);
// A space before a piece that does not begin with one.
Splitting::Rule withSpaceBefore();

// SentencePiece's words: spaces are written as `mark`, and a word begins with the one before it.
struct Marking {
  enum class Prepend { Always, First, Never };
  std::string mark = "\u2581";       // "▁"
  Prepend prepend = Prepend::Always; // where pieces without a mark at their beginning get one
  bool splits = true;
};
Splitting::Rule markSpaces(Marking marking);

} // namespace cleave::rt

#endif
