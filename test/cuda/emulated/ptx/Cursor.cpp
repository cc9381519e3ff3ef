#include "test/cuda/emulated/ptx/Cursor.h"
#include <cctype>
#include <cstdlib>

namespace cleave::emulated::ptx {

void Cursor::skipSpace() {
  while (at < text.size()) {
    char c = text[at];
    if (c == '\n')
      lineNumber++;
    if (isspace((unsigned char)c) || c == 0) {
      at++;
    } else if (c == '/' && at + 1 < text.size() && text[at + 1] == '/') {
      while (at < text.size() && text[at] != '\n')
        at++;
    } else if (c == '/' && at + 1 < text.size() && text[at + 1] == '*') {
      for (at += 2; at < text.size() && !(text[at - 1] == '*' && text[at] == '/'); at++)
        lineNumber += text[at] == '\n';
      at++;
    } else {
      return;
    }
  }
}

bool Cursor::atEnd() {
  skipSpace();
  return at >= text.size();
}

char Cursor::peek() { return atEnd() ? 0 : text[at]; }

bool Cursor::take(char c) {
  if (peek() != c)
    return false;
  at++;
  return true;
}

bool Cursor::isNameCharacter(char c) const { return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%'; }

bool Cursor::takeWord(const std::string &word) {
  if (atEnd() || text.compare(at, word.size(), word) != 0)
    return false;
  size_t end = at + word.size();
  if (end < text.size() && isNameCharacter(text[end]) && isNameCharacter(word.back()))
    return false;
  at = end;
  return true;
}

std::string Cursor::name() {
  skipSpace();
  size_t start = at;
  while (at < text.size() && isNameCharacter(text[at]))
    at++;
  if (at > start && text[start] == '%' && at + 1 < text.size() && text[at] == '.' && text[at + 1] >= 'w' &&
      text[at + 1] <= 'z' && (at + 2 >= text.size() || !isNameCharacter(text[at + 2])))
    at += 2;
  return text.substr(start, at - start);
}

std::string Cursor::opcode() {
  skipSpace();
  size_t start = at;
  while (at < text.size()) {
    bool doubleColon = text[at] == ':' && at + 1 < text.size() && text[at + 1] == ':';
    if (doubleColon)
      at += 2;
    else if (isalnum((unsigned char)text[at]) || text[at] == '_' || text[at] == '.')
      at++;
    else
      break;
  }
  return text.substr(start, at - start);
}

bool Cursor::number(uint64_t &bits, double &decimal, bool &isDecimal) {
  skipSpace();
  size_t p = at;
  bool negative = p < text.size() && text[p] == '-';
  p += negative;
  if (p >= text.size() || !isdigit((unsigned char)text[p]))
    return false;
  isDecimal = false;
  char kind = p + 1 < text.size() && text[p] == '0' ? (char)tolower(text[p + 1]) : 0;
  if (kind == 'f' || kind == 'd') {
    size_t digits = kind == 'f' ? 8 : 16;
    bits = strtoull(text.substr(p + 2, digits).c_str(), nullptr, 16);
    at = p + 2 + digits;
    return true;
  }
  if (kind == 'b') {
    bits = 0;
    for (p += 2; p < text.size() && (text[p] == '0' || text[p] == '1'); p++)
      bits = bits << 1 | uint64_t(text[p] - '0');
    at = p + (p < text.size() && text[p] == 'U');
    return true;
  }
  size_t end = p;
  while (end < text.size() && isdigit((unsigned char)text[end]))
    end++;
  bool point = end + 1 < text.size() && text[end] == '.' && isdigit((unsigned char)text[end + 1]);
  bool exponent = end < text.size() && kind != 'x' && (text[end] == 'e' || text[end] == 'E');
  const char *begin = text.c_str() + p;
  char *stop = nullptr;
  if (point || exponent) {
    isDecimal = true;
    decimal = strtod(begin, &stop);
    if (negative)
      decimal = -decimal;
  } else {
    bits = strtoull(begin, &stop, 0);
    if (negative)
      bits = 0 - bits;
  }
  at = size_t(stop - text.c_str());
  if (at < text.size() && text[at] == 'U')
    at++;
  return true;
}

std::string Cursor::skipPast(char stop) {
  size_t start = at;
  while (at < text.size() && text[at] != stop) {
    lineNumber += text[at] == '\n';
    at++;
  }
  std::string skipped = text.substr(start, at - start);
  lineNumber += at < text.size() && text[at] == '\n';
  at++;
  return skipped;
}

bool Cursor::atLabel() {
  skipSpace();
  size_t p = at;
  while (p < text.size() && isNameCharacter(text[p]))
    p++;
  if (p == at)
    return false;
  while (p < text.size() && (text[p] == ' ' || text[p] == '\t'))
    p++;
  return p < text.size() && text[p] == ':' && (p + 1 >= text.size() || text[p + 1] != ':');
}

} // namespace cleave::emulated::ptx
