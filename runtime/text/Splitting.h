// How a tokenizer splits text into pieces, such as words, for its model.
#ifndef CLEAVE_RUNTIME_TEXT_SPLITTING_H
#define CLEAVE_RUNTIME_TEXT_SPLITTING_H

#include "runtime/base/Status.h"
#include "runtime/text/Regex.h"

#include <functional>
#include <string>
#include <vector>

namespace cleave::rt {

using Pieces = std::vector<std::string>;

// Rules that are applied one after the other. Each splits a piece into pieces, which are not empty.
class Splitting {
public:
  // `isFirst` is true if the piece begins the text.
  using Rule = std::function<Status(const std::string &piece, bool isFirst, Pieces *pieces)>;

  void add(Rule rule) { rules_.push_back(std::move(rule)); }
  bool isEmpty() const { return rules_.empty(); }
  Status apply(Pieces *pieces, bool isFirst) const;

private:
  std::vector<Rule> rules_;
};

// What happens to the matches of a pattern. Of matches that are neighbours, only one is merged.
enum class Matches { Isolated, Removed, MergedWithPrevious, MergedWithNext };
// With `inverts`, the texts between matches count as the matches.
Splitting::Rule splitByPattern(Regex pattern, Matches matches, bool inverts = false);
// Adds a space before a piece that does not begin with one.
Splitting::Rule withSpaceBefore();

// Splits into words as SentencePiece does: spaces are written as `mark`, and a word begins with the mark before it.
struct Marking {
  enum class Prepend { Always, First, Never };
  std::string mark = "\u2581";       // "▁"
  Prepend prepend = Prepend::Always; // which pieces get a mark if they do not begin with one
  bool splits = true;
};
Splitting::Rule markSpaces(Marking marking);

} // namespace cleave::rt

#endif
