// The parts of an opcode after its name, taken away one by one by the handler of the instruction. What is left when the
// handler is done is a modifier that nobody understood, and the translation fails: nothing is ignored silently.
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
  // The first of `parts` that is there, or an empty string.
  std::string takeAny(std::initializer_list<const char *> parts) {
    for (const char *part : parts)
      if (take(part))
        return part;
    return {};
  }
  // The last part that names a type (of cvt: first the source's, then the result's), or an empty string.
  std::string takeType() {
    for (size_t i = rest.size(); i--;)
      if (ptx::bitsOfType(rest[i])) {
        std::string type = rest[i];
        rest.erase(rest.begin() + long(i));
        return type;
      }
    return {};
  }
  // A part that starts with `prefix`, such as L2::128B.
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
