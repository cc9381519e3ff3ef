// What a tokenizer does to text before it is split: small letters, accents, spaces written as "▁".
#ifndef CLEAVE_RUNTIME_TEXT_NORMALIZER_H
#define CLEAVE_RUNTIME_TEXT_NORMALIZER_H

#include "runtime/base/Status.h"

#include <functional>
#include <string>
#include <vector>

namespace cleave::rt {

// Steps, one after the other. Text stays UTF-8.
class Normalizer {
public:
  using Step = std::function<Status(std::string *)>;

  void add(Step step) { steps_.push_back(std::move(step)); }
  Status apply(std::string *text) const {
    for (const Step &step : steps_)
      CLEAVE_TRY(step(text));
    return Status::ok();
  }

private:
  std::vector<Step> steps_;
};

} // namespace cleave::rt

#endif
