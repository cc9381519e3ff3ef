// The parts of an opcode after its name. The handler of the instruction takes them one by one. If one is left when the
// handler is done, nobody has understood it, and the translation fails. So nothing is ignored silently.
#pragma once
#include "test/cuda/emulated/ptx/Syntax.h"
#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

namespace cleave::emulated {

class Modifiers {
public:
  explicit Modifiers(const ptx::Instruction &i) : rest(i.opcode.begin() + 1, i.opcode.end()) {}

  bool take(const std::string &part) {
    auto found = std::find(rest.begin(), rest.end(), part);
    if (found == rest.end())
      return false;
    rest.erase(found);
    return true;
  }
  // Takes the first of `parts` that exists, and returns it. Empty if there is none.
  std::string takeAny(std::initializer_list<const char *> parts) {
    for (const char *part : parts)
      if (take(part))
        return part;
    return {};
  }
  // Takes the last part that names a type, and returns it (of cvt: first the source's type, then the result's type).
  // Empty if there is none.
  std::string takeType() {
    for (size_t i = rest.size(); i--;)
      if (ptx::bitsOfType(rest[i])) {
        std::string type = rest[i];
        rest.erase(rest.begin() + long(i));
        return type;
      }
    return {};
  }
  // Takes the first part that starts with `prefix`, such as L2::128B.
  std::string takePrefix(const std::string &prefix) {
    for (size_t i = 0; i < rest.size(); i++)
      if (rest[i].compare(0, prefix.size(), prefix) == 0) {
        std::string part = rest[i];
        rest.erase(rest.begin() + long(i));
        return part;
      }
    return {};
  }
  const std::vector<std::string> &left() const { return rest; }

private:
  std::vector<std::string> rest;
};

} // namespace cleave::emulated
