// Reads PTX text character by character: white space, comments, names, numbers. It does not know statements.
#pragma once
#include <cstdint>
#include <string>

namespace cleave::emulated::ptx {

class Cursor {
public:
  explicit Cursor(std::string text) : text(std::move(text)) {}

  bool atEnd(); // skips white space and comments
  char peek();  // the next character after white space; 0 at the end
  // Takes `c` if it is next.
  bool take(char c);
  // Takes the word if it is next and is not the beginning of a longer name.
  bool takeWord(const std::string &word);
  // A name: letters, digits, `_`, `$`, `%`; a name that starts with `%` may end in .x, .y, .z (special registers).
  std::string name();
  // An opcode with its parts: letters, digits, `_`, `.`, `:`. A single `:` ends it (a label).
  std::string opcode();
  // Reads a number as PTX writes it. Returns false if none is next. `isDecimal`: it has a point or an exponent.
  bool number(uint64_t &bits, double &decimal, bool &isDecimal);
  // Returns everything up to and including `stop`, with its white space.
  std::string skipPast(char stop);
  // True if a name comes next that is directly followed by one colon.
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
