// Changes that a tokenizer makes to text before it is split: small letters, accents, spaces written as "▁".
#ifndef CLEAVE_RUNTIME_TEXT_NORMALIZER_H
#define CLEAVE_RUNTIME_TEXT_NORMALIZER_H

#include "runtime/base/Status.h"

#include <functional>
#include <string>
#include <vector>

namespace cleave::rt {

// A rule may make text longer, and each rule works on what the one before has made: 40 rules that double a letter would
// fill all memory. No prompt of a model is so long.
inline constexpr size_t kMostNormalizedBytes = 16u << 20;

inline Status checkNormalizedLength(size_t bytes) {
  if (bytes <= kMostNormalizedBytes)
    return Status::ok();
  return invalidArgument(
      "the tokenizer's rules make the text longer than 16 MiB; give a shorter text, or a tokenizer.json "
      "whose rules do not multiply it");
}

// Rules that are applied one after the other. Text stays UTF-8.
class Normalizer {
public:
  using Rule = std::function<Status(std::string *)>;

  void add(Rule rule) { rules_.push_back(std::move(rule)); }
  Status apply(std::string *text) const {
    for (const Rule &rule : rules_) {
      CLEAVE_TRY(rule(text));
      CLEAVE_TRY(checkNormalizedLength(text->size()));
    }
    return Status::ok();
  }

private:
  std::vector<Rule> rules_;
};

} // namespace cleave::rt

#endif
