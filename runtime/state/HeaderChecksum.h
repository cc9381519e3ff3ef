// Where a safetensors file of Cleave has its checksums; SafeTensors.h shows the form.
#ifndef CLEAVE_RUNTIME_STATE_HEADERCHECKSUM_H
#define CLEAVE_RUNTIME_STATE_HEADERCHECKSUM_H

#include "runtime/base/Crc32c.h"

#include <string>
#include <string_view>

namespace cleave::rt {

// Keys of __metadata__.
inline const std::string kHeaderSum = "crc32c", kBlockBytes = "crc32c.block", kTensorSum = "crc32c:";

// The header's own checksum comes first, so that its digits have one place in the file.
constexpr std::string_view kHeaderBegin = R"({"__metadata__":{"crc32c":")";
constexpr size_t kHeaderSumOffset = sizeof(uint64_t) + kHeaderBegin.size(), kHeaderSumDigits = 8;

// Of the size and the text of a header of at least kHeaderSumOffset + kHeaderSumDigits bytes, whatever its digits are.
inline uint32_t headerChecksum(std::string_view image) {
  uint32_t sum = crc32c(image.data(), kHeaderSumOffset);
  sum = crc32c("00000000", kHeaderSumDigits, sum);
  image.remove_prefix(kHeaderSumOffset + kHeaderSumDigits);
  return crc32c(image.data(), image.size(), sum);
}

} // namespace cleave::rt

#endif
