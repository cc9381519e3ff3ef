// Numbers in a form for people. The reports, pages and messages of the compiler and of its programs use these forms.
#ifndef CLEAVE_RUNTIME_BASE_HUMANUNITS_H
#define CLEAVE_RUNTIME_BASE_HUMANUNITS_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace cleave::rt {

// Scales to the largest unit in which at least 1 is printed: 1048575 bytes are "1.0 MiB", not "1024.0 KiB". The first
// unit has no digits after the point.
template <size_t Count>
std::string scaledText(double value, double step, const char *const (&units)[Count], int digits) {
  size_t unit = 0;
  double half = 0.5; // half of the last digit that is printed
  for (; value >= step - half && unit + 1 < Count; ++unit) {
    value /= step;
    half = 0.5 * std::pow(10.0, -digits);
  }
  char text[40];
  std::snprintf(text, sizeof text, "%.*f %s", unit == 0 ? 0 : digits, value, units[unit]);
  return text;
}

// "512 B", "23.8 MiB". With two digits "23.84 MiB", for sizes that are compared.
inline std::string bytesText(uint64_t bytes, int digits = 1) {
  return scaledText(static_cast<double>(bytes), 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"}, digits);
}

// "512 bytes", "23.8 MiB (24956108 bytes)": for places where the exact number matters.
inline std::string exactBytesText(uint64_t bytes) {
  std::string exact = std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  return bytes < 1024 ? exact : bytesText(bytes) + " (" + exact + ")";
}

// "6.01 GFLOP"
inline std::string flopsText(uint64_t flops) {
  return scaledText(static_cast<double>(flops), 1000, {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"}, 2);
}

} // namespace cleave::rt

#endif
