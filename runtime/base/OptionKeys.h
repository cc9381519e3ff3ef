// Collects the keys in the text of an option, KEY=VALUE[,KEY=VALUE...], to find repeated ones.
//
// Each key may be given once, because nobody can say which of two values was meant. A key with two spellings is always
// added under one of them, so that both count as the same key.
#ifndef CLEAVE_RUNTIME_BASE_OPTIONKEYS_H
#define CLEAVE_RUNTIME_BASE_OPTIONKEYS_H

#include <set>
#include <string>
#include <string_view>

namespace cleave::rt {

class OptionKeys {
public:
  // Returns false if the key was given before.
  bool add(std::string_view key) { return given_.emplace(key).second; }

private:
  std::set<std::string> given_;
};

} // namespace cleave::rt

#endif
