// Parses sizes in bytes, as users write them.
#ifndef CLEAVE_COMPILER_SUPPORT_BYTES_H
#define CLEAVE_COMPILER_SUPPORT_BYTES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace cleave {

// Accepts "25MiB", "256KiB", "1.5GiB" and "4096"; "1MB" is a million bytes.
inline llvm::Expected<int64_t> parseByteSize(llvm::StringRef text) {
  llvm::StringRef digits = text.take_while([](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  llvm::StringRef unit = text.drop_front(digits.size());
  double scale = unit.empty() || unit == "B" ? 1
                 : unit == "KiB"             ? 1024.0
                 : unit == "MiB"             ? 1048576.0
                 : unit == "GiB"             ? 1073741824.0
                 : unit.equals_insensitive("kB") ? 1e3
                 : unit == "MB"                  ? 1e6
                 : unit == "GB"                  ? 1e9
                                                 : 0;
  double number = 0;
  if (digits.getAsDouble(number) || scale == 0)
    return llvm::createStringError(
        "expected a size such as 4096, 256KiB, 25MiB or 8GiB (1MB is 1000000 bytes, 1MiB 1048576); got: " + text);
  if (!(number * scale >= 1))
    return llvm::createStringError("expected a size of at least one byte; got: " + text);
  if (number * scale > 9e18)
    return llvm::createStringError("expected a size below 2^63 bytes; got: " + text);
  return static_cast<int64_t>(number * scale);
}

} // namespace cleave

#endif
