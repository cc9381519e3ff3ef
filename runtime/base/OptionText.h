// Reads the numbers and lists in options, and writes numbers for messages.
#ifndef CLEAVE_RUNTIME_BASE_OPTIONTEXT_H
#define CLEAVE_RUNTIME_BASE_OPTIONTEXT_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::rt {

// Return false unless the whole text is a number.
bool parseUnsigned(std::string_view text, uint64_t *value);
bool parseReal(std::string_view text, double *value);
// The shortest text that reads as this number: "-1", "0.001".
std::string realText(double value);
std::vector<std::string> splitText(std::string_view text, char separator);
bool endsWith(std::string_view text, std::string_view ending);

} // namespace cleave::rt

#endif
