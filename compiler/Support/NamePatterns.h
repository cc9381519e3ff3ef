// Patterns of original names: the one grammar of --freeze, --param-group, --buffers and --fsdp-units.
//
// Shell globs: `*` is any characters (dots too), `?` one, `[ab]` one of these, `\` takes the next one as it is.
//
//   NamePatterns patterns = parse(...{"*.bias", "h.0.*"});
//   patterns.match("h.0.fc.weight")   1: the first pattern that matches
//   patterns.checkUsed(names)         an error for one that has matched nothing, with some of the names there are, or with
//                                     the pattern that has taken its names
#ifndef CLEAVE_COMPILER_SUPPORT_NAMEPATTERNS_H
#define CLEAVE_COMPILER_SUPPORT_NAMEPATTERNS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace cleave {

// False for a pattern that is none.
bool matchesNamePattern(llvm::StringRef pattern, llvm::StringRef name);

class NamePatterns {
public:
  // Errors are of `option`: "--freeze".
  static llvm::Expected<NamePatterns> parse(llvm::StringRef option, llvm::ArrayRef<std::string> patterns);

  // The first pattern that matches, which counts as used.
  std::optional<size_t> match(llvm::StringRef name);
  // The leading components of a dotted name that the first pattern matches which matches any: "h.0" of "h.0.fc.weight"
  // for "h.*". Empty: none.
  llvm::StringRef matchPrefix(llvm::StringRef name);
  // `what` says what the names are of: "parameters".
  llvm::Error checkUsed(llvm::ArrayRef<std::string> names, llvm::StringRef what) const;

private:
  struct Pattern {
    std::string text;
    bool used = false;
  };
  const Pattern *firstOf(llvm::StringRef name) const;

  std::string option_;
  std::vector<Pattern> patterns_;
};

// "a, b, c, ...": the first of some names, for messages.
std::string firstNames(llvm::ArrayRef<std::string> names);

} // namespace cleave

#endif
