#include "runtime/plan/DrawnWeights.h"

#include "runtime/plan/PlanReader.h"

#include <charconv>
#include <cmath>

namespace cleave::rt {
namespace {

// The shortest text that reads as the same number. It does not depend on the locale.
std::string numberText(double value) {
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

bool take(std::string_view &text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix)
    return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool takeNumber(std::string_view &text, double *value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error != std::errc() || !std::isfinite(*value))
    return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

} // namespace

std::string Draw::text() const {
  return std::string(kind == Kind::Normal ? "normal(" : "uniform(") + numberText(value) + ", " + numberText(scale) +
         "):" + name;
}

std::optional<Draw> parseDraw(std::string_view text) {
  Draw draw;
  if (take(text, "uniform("))
    draw.kind = Draw::Kind::Uniform;
  else if (!take(text, "normal("))
    return std::nullopt;
  if (!takeNumber(text, &draw.value) || !take(text, ", ") || !takeNumber(text, &draw.scale) || !take(text, "):"))
    return std::nullopt;
  draw.name = text;
  return draw;
}

std::optional<Draw> drawOf(const fb::Segment &segment) {
  return segment.init() == fb::InitKind::weights ? parseDraw(textOf(segment.source())) : std::nullopt;
}

std::string sourceOf(const fb::Segment &segment) {
  if (std::optional<Draw> draw = drawOf(segment))
    return draw->name;
  return std::string(textOf(textOf(segment.source()).empty() ? segment.name() : segment.source()));
}

} // namespace cleave::rt
