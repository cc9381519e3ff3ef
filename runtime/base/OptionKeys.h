// The keys that the text of an option has given: KEY=VALUE[,KEY=VALUE...].
//
// Each may be given once, since nobody can say which of two values was meant. A key that has two spellings is added
// under one of them, so that they count as the same.
#ifndef CLEAVE_RUNTIME_BASE_OPTIONKEYS_H
#define CLEAVE_RUNTIME_BASE_OPTIONKEYS_H

#include <set>
#include <string>
#include <string_view>

namespace cleave::rt {

class OptionKeys {
public:
  // False where the key was given before.
  bool add(std::string_view key) { return given_.emplace(key).second; }

private:
  std::set<std::string> given_;
};

} // namespace cleave::rt

#endif
