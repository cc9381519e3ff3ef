// Changes that a tokenizer makes to text before it is split: small letters, accents, spaces written as "▁".
#ifndef CLEAVE_RUNTIME_TEXT_NORMALIZER_H
#define CLEAVE_RUNTIME_TEXT_NORMALIZER_H

#include "runtime/base/Status.h"

#include <functional>
#include <string>
#include <vector>

namespace cleave::rt {

// Rules that are applied one after the other. Text stays UTF-8.
class Normalizer {
public:
  using Rule = std::function<Status(std::string *)>;

  void add(Rule rule) { rules_.push_back(std::move(rule)); }
  Status apply(std::string *text) const {
    for (const Rule &rule : rules_)
      CLEAVE_TRY(rule(text));
    return Status::ok();
  }

private:
  std::vector<Rule> rules_;
};

} // namespace cleave::rt

#endif
