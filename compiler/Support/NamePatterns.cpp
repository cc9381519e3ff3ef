#include "compiler/Support/NamePatterns.h"

#include "compiler/Support/Usage.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"

using namespace cleave;

// A GlobPattern refers to its text, so it is made for each use.
bool cleave::matchesNamePattern(llvm::StringRef pattern, llvm::StringRef name) {
  auto glob = llvm::GlobPattern::create(pattern);
  if (glob)
    return pattern == name || glob->match(name);
  llvm::consumeError(glob.takeError());
  return false;
}

llvm::Expected<NamePatterns> NamePatterns::parse(llvm::StringRef option, llvm::ArrayRef<std::string> patterns) {
  NamePatterns result;
  result.option_ = option.str();
  for (const std::string &text : patterns) {
    auto glob = llvm::GlobPattern::create(text);
    if (!glob)
      return usageError(option, "pattern '" + text + "': " + llvm::toString(glob.takeError()));
    result.patterns_.push_back({text});
  }
  return result;
}

std::optional<size_t> NamePatterns::match(llvm::ArrayRef<std::string> names) {
  for (Pattern &pattern : patterns_)
    if (llvm::any_of(names, [&](const std::string &name) { return matchesNamePattern(pattern.text, name); })) {
      pattern.used = true;
      return &pattern - patterns_.data();
    }
  return std::nullopt;
}

llvm::StringRef NamePatterns::matchPrefix(llvm::ArrayRef<std::string> names) {
  for (Pattern &pattern : patterns_)
    for (llvm::StringRef name : names)
      for (size_t end = 0; end != llvm::StringRef::npos;) {
        end = name.find('.', end + 1);
        if (!matchesNamePattern(pattern.text, name.take_front(end)))
          continue;
        pattern.used = true;
        return name.take_front(end);
      }
  return {};
}

const NamePatterns::Pattern *NamePatterns::firstOf(llvm::StringRef name) const {
  auto first = llvm::find_if(patterns_, [&](const Pattern &p) { return matchesNamePattern(p.text, name); });
  return first == patterns_.end() ? nullptr : &*first;
}

std::string cleave::firstNames(llvm::ArrayRef<std::string> names) {
  constexpr size_t kShown = 3;
  if (names.size() <= kShown + 1) // the last name takes no more space than the dots
    return llvm::join(names, ", ");
  return llvm::join(names.take_front(kShown), ", ") + ", ...";
}

llvm::Error NamePatterns::checkUsed(llvm::ArrayRef<std::string> names, llvm::StringRef what) const {
  for (const Pattern &pattern : patterns_) {
    if (pattern.used)
      continue;
    for (const std::string &name : names)
      if (const Pattern *first = firstOf(name); first && matchesNamePattern(pattern.text, name))
        return usageError(option_, "pattern '" + pattern.text +
                                       "' has no effect: the first that matches counts, and '" + first->text +
                                       "' before it matches " + name + "; give '" + pattern.text + "' before it");
    return usageError(option_, "pattern '" + pattern.text + "' matches none of " + std::to_string(names.size()) + " " +
                                   what.str() + (names.empty() ? "" : ": ") + firstNames(names));
  }
  return llvm::Error::success();
}
