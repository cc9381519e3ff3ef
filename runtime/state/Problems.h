// Collects everything that is wrong with a set of tensors and reports it at once. A user who had to rename tensors one
// run at a time would give up.
#ifndef CLEAVE_RUNTIME_STATE_PROBLEMS_H
#define CLEAVE_RUNTIME_STATE_PROBLEMS_H

#include "runtime/base/Counted.h"
#include "runtime/base/Status.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace cleave::rt {

class Problems {
public:
  // `isStateDict`: the tensors are from a file of weights, which PyTorch may have written; false for a checkpoint.
  explicit Problems(bool isStateDict) : isStateDict_(isStateDict) {}

  // A tensor of the model that is right in the file. Several states may use one tensor: it is counted once.
  void fits(const std::string &tensor) { fitting_.add(tensor); }
  void missing(const std::string &tensor) { missing_.add(tensor); }
  void superfluous(const std::string &tensor) { superfluous_.add(tensor); }
  void mismatch(const std::string &tensor, const std::string &expected, const std::string &got) {
    mismatched_.add(tensor + " (expected " + expected + ", got " + got + ")");
  }

  // Returns one line that counts the problems and names the first ones. If there are only superfluous tensors, it is an
  // error only if `superfluousFails`.
  Status status(const std::string &what, bool superfluousFails) const {
    if (missing_.list.empty() && mismatched_.list.empty() && (superfluous_.list.empty() || !superfluousFails))
      return Status::ok();
    // The checkpoint of another model differs in hundreds of tensors. The first ones show what the reason is.
    constexpr size_t kShown = 8;
    size_t kinds = !missing_.list.empty() + !mismatched_.list.empty() + !superfluous_.list.empty();
    std::string text;
    describe(&text, "missing", missing_.list, kShown / (kinds * kinds));
    describe(&text, "mismatched", mismatched_.list, kShown / (kinds * kinds));
    describe(&text, "not of this model", superfluous_.list, kShown / (kinds * kinds));
    size_t fitting = fitting_.list.size(), expected = fitting + missing_.list.size() + mismatched_.list.size();
    return invalidArgument(what + " (fitting: " + std::to_string(fitting) + " of " + counted(expected, "tensor") +
                           "): " + text + prefixAdvice());
  }

  // "2 tensors are not of this model, and are left out: 'a', 'b'", or an empty text. The counter of PyTorch's batch norm
  // is in each state_dict(), and no model reads it.
  std::string leftOut() const {
    std::vector<std::string> names;
    for (const std::string &name : superfluous_.list)
      if (!endsWithPart(name, "num_batches_tracked'"))
        names.push_back(name);
    if (names.empty())
      return "";
    constexpr size_t kNamed = 3;
    // The last name takes no more space than the dots.
    size_t shown = names.size() <= kNamed + 1 ? names.size() : kNamed;
    std::string text =
        counted(names.size(), "tensor") + (names.size() == 1 ? " is" : " are") + " not of this model, and left out: ";
    for (size_t i = 0; i < shown; ++i)
      text += (i ? ", " : "") + names[i];
    return text + (names.size() > shown ? ", ..." : "");
  }

private:
  // Names in the order in which they were added, each once.
  struct Names {
    std::vector<std::string> list;
    std::set<std::string> known;

    void add(const std::string &name) {
      if (known.insert(name).second)
        list.push_back(name);
    }
  };

  static bool endsWithPart(const std::string &name, const std::string &part) {
    return name.size() > part.size() && name[name.size() - part.size() - 1] == '.' &&
           name.compare(name.size() - part.size(), part.size(), part) == 0;
  }

  // The text that precedes every name of `shorter` in `longer`, as it happens if one module is inside of another. Empty
  // if there is no such text.
  static std::string prefixOf(const Names &longer, const Names &shorter) {
    if (longer.list.empty() || shorter.list.empty())
      return "";
    std::string first = shorter.list.front().substr(1), prefix; // the rest of 'weight' after its quote: weight'
    for (const std::string &quoted : longer.list)
      if (std::string name = quoted.substr(1); prefix.empty() && endsWithPart(name, first))
        prefix = name.substr(0, name.size() - first.size());
    bool isOfAll = std::all_of(shorter.list.begin(), shorter.list.end(), [&](const std::string &quoted) {
      return longer.known.count("'" + prefix + quoted.substr(1)) != 0;
    });
    return isOfAll ? prefix : "";
  }

  std::string prefixAdvice() const {
    if (std::string prefix = prefixOf(superfluous_, missing_); !prefix.empty())
      return "; names in the file begin with '" + prefix + "', those of the model do not" +
             (isStateDict_ ? ": save the state_dict() of the inner module" : "");
    if (std::string prefix = prefixOf(missing_, superfluous_); !prefix.empty())
      return "; names of the model begin with '" + prefix + "', those in the file do not" +
             (isStateDict_ ? ": save the state_dict() of the whole module that was exported" : "");
    return "";
  }

  static void describe(std::string *text, const char *title, const std::vector<std::string> &names, size_t most) {
    if (names.empty())
      return;
    *text += (text->empty() ? "" : "; ") + std::string(title) + " (" + std::to_string(names.size()) + "): ";
    most = std::max<size_t>(most, 1);
    for (size_t i = 0; i < std::min(names.size(), most); ++i)
      *text += (i ? ", " : "") + names[i];
    if (names.size() > most)
      *text += ", ...";
  }

  bool isStateDict_;
  Names fitting_, missing_, superfluous_, mismatched_;
};

} // namespace cleave::rt

#endif
