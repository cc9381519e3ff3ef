#include "compiler/Inspect/Human.h"

#include "runtime/base/HumanUnits.h"
#include "runtime/base/Printable.h"
#include "runtime/plan/PlanPrinter.h"

#include <cstdio>
#include <iterator>

namespace cleave::view {

std::string bytesText(uint64_t bytes) { return rt::bytesText(bytes); }

std::string flopsText(uint64_t flops) { return rt::flopsText(flops); }

std::string rateText(double perSecond, const std::string &unit) {
  const char *prefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t at = 0;
  for (; perSecond >= 1000 && at + 1 < std::size(prefixes); ++at)
    perSecond /= 1000;
  char text[40];
  std::snprintf(text, sizeof text, "%.4g %s", perSecond, prefixes[at]);
  return text + unit;
}

std::string secondsText(double seconds) {
  const char *units[] = {"s", "ms", "us", "ns"};
  size_t at = 0;
  for (; seconds < 1 && seconds > 0 && at + 1 < std::size(units); ++at)
    seconds *= 1000;
  char text[40];
  std::snprintf(text, sizeof text, seconds >= 100 ? "%.1f %s" : "%.2f %s", seconds, units[at]);
  return text;
}

std::string countText(uint64_t count) {
  std::string text = std::to_string(count);
  for (size_t at = text.size(); at > 3; at -= 3)
    text.insert(at - 3, ",");
  return text;
}

std::string countOf(uint64_t count, const std::string &noun) {
  return countText(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string padRight(std::string text, size_t width) {
  if (text.size() < width)
    text.append(width - text.size(), ' ');
  return text;
}

std::string padLeft(std::string text, size_t width) {
  if (text.size() < width)
    text.insert(0, width - text.size(), ' ');
  return text;
}

// True if a cut before `at` leaves UTF-8 characters whole.
static bool isCharacterStart(const std::string &text, size_t at) {
  return at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
}

std::string shortName(std::string_view name, size_t width) {
  bool isPlain = rt::printable(name) == name;
  std::string text = isPlain ? std::string(name) : rt::printName(name);
  if (text.size() <= width || width < 8)
    return text;
  size_t head = (width - 2) / 2, tail = text.size() - (width - 2 - head);
  while (!isCharacterStart(text, head))
    --head;
  while (!isCharacterStart(text, tail))
    ++tail;
  return text.substr(0, head) + ".." + text.substr(tail);
}

std::vector<std::string> wrapped(const std::string &text, size_t width) {
  std::vector<std::string> lines;
  size_t begin = 0;
  while (text.size() - begin > width) {
    size_t space = text.rfind(' ', begin + width);
    if (space == std::string::npos || space <= begin)
      space = text.find(' ', begin);
    if (space == std::string::npos)
      break;
    lines.push_back(text.substr(begin, space - begin));
    begin = space + 1;
  }
  lines.push_back(text.substr(begin));
  return lines;
}

std::string join(const std::vector<std::string> &parts, const char *separator) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : separator) + part;
  return text;
}

} // namespace cleave::view
