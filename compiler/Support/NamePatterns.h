// Patterns of original names, for --freeze, --param-group, --buffers, --init, --fsdp-units and --stage-split.
//
// They are shell globs: `*` matches any characters (dots too), `?` matches one, `[ab]` matches one of these, and `\`
// makes the next character a plain one. A name that has such characters matches itself, too: `w[0]` is the name, and `w0`.
//
// A tensor may have several names: tied parameters are one tensor, and a file may have an Identity of it. A pattern matches
// the tensor if it matches any of its names, so all of them are looked up at once.
//
//   NamePatterns patterns = parse(...{"*.bias", "h.0.*"});
//   patterns.match({"h.0.fc.weight"}) 1: the index of the first pattern that matches
//   patterns.checkUsed(names)         an error if a pattern has matched nothing; it shows some of the names, or the
//                                     pattern that has matched its names before
#ifndef CLEAVE_COMPILER_SUPPORT_NAMEPATTERNS_H
#define CLEAVE_COMPILER_SUPPORT_NAMEPATTERNS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace cleave {

// True if `pattern` is the name, or a glob that matches it. False if it is not a valid glob.
bool matchesNamePattern(llvm::StringRef pattern, llvm::StringRef name);

class NamePatterns {
public:
  // `option` is the option that errors name, such as "--freeze".
  static llvm::Expected<NamePatterns> parse(llvm::StringRef option, llvm::ArrayRef<std::string> patterns);

  // The index of the first pattern that matches one of a tensor's names. The pattern then counts as used.
  std::optional<size_t> match(llvm::ArrayRef<std::string> names);
  // Matches the leading components of a tensor's dotted names: for "h.*", it returns "h.0" of "h.0.fc.weight". The first
  // pattern that matches any of them counts. Empty if none matches.
  llvm::StringRef matchPrefix(llvm::ArrayRef<std::string> names);
  // Fails if a pattern was not used. `what` says what the names are, such as "parameters".
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

// Returns the first of some names for messages, as "a, b, c, ...".
std::string firstNames(llvm::ArrayRef<std::string> names);

} // namespace cleave

#endif
