// Everything that is wrong with a set of tensors, reported at once: a user who renames tensors one run at a time gives
// up.
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
  // A tensor of the model that the file has as it should be. Several states may take one tensor: it counts once.
  void fits(const std::string &tensor) { fitting_.add(tensor); }
  void missing(const std::string &tensor) { missing_.add(tensor); }
  void superfluous(const std::string &tensor) { superfluous_.add(tensor); }
  void mismatch(const std::string &tensor, const std::string &expected, const std::string &got) {
    mismatched_.add(tensor + " (expected " + expected + ", got " + got + ")");
  }

  // One line that counts them and names the first. Superfluous tensors alone are an error only where the caller says
  // so.
  Status status(const std::string &what, bool superfluousFails) const {
    if (missing_.list.empty() && mismatched_.list.empty() && (superfluous_.list.empty() || !superfluousFails))
      return Status::ok();
    std::string text;
    describe(&text, "missing", missing_.list);
    describe(&text, "mismatched", mismatched_.list);
    describe(&text, "not of this model", superfluous_.list);
    size_t fitting = fitting_.list.size(), expected = fitting + missing_.list.size() + mismatched_.list.size();
    return invalidArgument(what + " (fitting: " + std::to_string(fitting) + " of " + counted(expected, "tensor") + "): " +
                           text + prefixAdvice());
  }

private:
  // In the order in which they came, each once.
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

  // Where names of the two differ by what stands before them, as those of a module inside of another one do.
  std::string prefixAdvice() const {
    if (missing_.list.empty() || superfluous_.list.empty())
      return "";
    std::string wanted = missing_.list.front().substr(1); // weight' of 'weight'
    for (const std::string &quoted : superfluous_.list)
      if (std::string found = quoted.substr(1); endsWithPart(found, wanted))
        return "; names in the file begin with '" + found.substr(0, found.size() - wanted.size()) +
               "', those of the model do not: save the state_dict() of the inner module";
    std::string found = superfluous_.list.front().substr(1);
    for (const std::string &lacking : missing_.list)
      if (wanted = lacking.substr(1); endsWithPart(wanted, found))
        return "; names of the model begin with '" + wanted.substr(0, wanted.size() - found.size()) +
               "', those in the file do not: save the state_dict() of the whole module that was exported";
    return "";
  }

  static void describe(std::string *text, const char *title, const std::vector<std::string> &names) {
    if (names.empty())
      return;
    *text += (text->empty() ? "" : "; ") + std::string(title) + " (" + std::to_string(names.size()) + "): ";
    constexpr size_t kShown = 8; // another model's checkpoint differs in hundreds
    for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
      *text += (i ? ", " : "") + names[i];
    if (names.size() > kShown)
      *text += ", ...";
  }

  Names fitting_, missing_, superfluous_, mismatched_;
};

} // namespace cleave::rt

#endif
