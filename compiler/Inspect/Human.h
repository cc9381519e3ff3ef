// Writes numbers and names as people read them.
#ifndef CLEAVE_COMPILER_INSPECT_HUMAN_H
#define CLEAVE_COMPILER_INSPECT_HUMAN_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::view {

std::string bytesText(uint64_t bytes); // "512 B", "23.8 MiB"
std::string flopsText(uint64_t flops); // "6.01 GFLOP"
std::string rateText(double perSecond, const std::string &unit); // "989.5 TFLOP/s" for the unit FLOP/s
std::string secondsText(double seconds);                         // "23.46 ms"
std::string countText(uint64_t count); // "834,304"

// "1 rank", "8 ranks"
std::string countOf(uint64_t count, const std::string &noun);

// Pad to at least `width` characters: padRight for texts, padLeft for numbers.
std::string padRight(std::string text, size_t width);
std::string padLeft(std::string text, size_t width);
// Returns a name of the model, safe for a terminal (PlanPrinter.h) and of at most `width` characters. A longer name
// loses its middle, because names of tensors differ at both ends.
std::string shortName(std::string_view name, size_t width);

// Breaks a text at spaces, into lines of at most `width` characters.
std::vector<std::string> wrapped(const std::string &text, size_t width);

std::string join(const std::vector<std::string> &parts, const char *separator);

} // namespace cleave::view

#endif
