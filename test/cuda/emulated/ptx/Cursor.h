// Reads PTX text character by character: white space, comments, names, numbers. Knows nothing of statements.
#pragma once
#include <cstdint>
#include <string>

namespace cleave::emulated::ptx {

class Cursor {
public:
  explicit Cursor(std::string text) : text(std::move(text)) {}

  bool atEnd(); // after white space and comments
  char peek();  // next character after white space; 0 at the end
  // Takes `c` if it is next.
  bool take(char c);
  // Takes the word if it is next and no longer name starts with it.
  bool takeWord(const std::string &word);
  // A name: letters, digits, `_`, `$`, `%`; a name that starts with `%` may end in .x, .y, .z (special registers).
  std::string name();
  // An opcode with its parts: letters, digits, `_`, `.`, `:`. A single `:` ends it (a label).
  std::string opcode();
  // A number as PTX writes it. Returns false if none is next. `isDecimal`: it has a point or an exponent.
  bool number(uint64_t &bits, double &decimal, bool &isDecimal);
  // Everything up to and including `stop`, without white space handling.
  std::string skipPast(char stop);
  // Whether a name directly followed by one colon comes next.
  bool atLabel();

  int line() const { return lineNumber; }
  size_t position() const { return at; }

private:
  void skipSpace();
  bool isNameCharacter(char c) const;
  std::string text;
  size_t at = 0;
  int lineNumber = 1;
};

} // namespace cleave::emulated::ptx
