// Everything that is wrong with a set of tensors, reported at once: a user who renames tensors one run at a time gives
// up.
#ifndef CLEAVE_RUNTIME_STATE_PROBLEMS_H
#define CLEAVE_RUNTIME_STATE_PROBLEMS_H

#include "runtime/base/Status.h"

#include <algorithm>
#include <string>
#include <vector>

namespace cleave::rt {

class Problems {
public:
  void missing(std::string tensor) { missing_.push_back(std::move(tensor)); }
  void superfluous(std::string tensor) { superfluous_.push_back(std::move(tensor)); }
  void mismatch(const std::string &tensor, const std::string &expected, const std::string &got) {
    mismatched_.push_back(tensor + " (expected " + expected + ", got " + got + ")");
  }

  // One line that counts them and names the first. Superfluous tensors alone are an error only where the caller says
  // so.
  Status status(const std::string &what, bool superfluousFails) const {
    if (missing_.empty() && mismatched_.empty() && (superfluous_.empty() || !superfluousFails))
      return Status::ok();
    std::string text;
    add(&text, "missing", missing_);
    add(&text, "mismatched", mismatched_);
    add(&text, "not of this model", superfluous_);
    return invalidArgument(what + ": " + text);
  }

private:
  static void add(std::string *text, const char *title, const std::vector<std::string> &names) {
    if (names.empty())
      return;
    *text += (text->empty() ? "" : "; ") + std::string(title) + " (" + std::to_string(names.size()) + "): ";
    constexpr size_t kShown = 8; // another model's checkpoint differs in hundreds
    for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
      *text += (i ? ", " : "") + names[i];
    if (names.size() > kShown)
      *text += ", ...";
  }

  std::vector<std::string> missing_, superfluous_, mismatched_;
};

} // namespace cleave::rt

#endif
