// The places of checksums in a safetensors file of Cleave. SafeTensors.h shows the format.
#ifndef CLEAVE_RUNTIME_STATE_HEADERCHECKSUM_H
#define CLEAVE_RUNTIME_STATE_HEADERCHECKSUM_H

#include "runtime/base/Crc32c.h"

#include <string>
#include <string_view>

namespace cleave::rt {

// Keys of __metadata__.
inline const std::string kHeaderSum = "crc32c", kBlockBytes = "crc32c.block", kTensorSum = "crc32c:";

// The header's own checksum comes first, so that its digits are always at the same place of the file.
constexpr std::string_view kHeaderBegin = R"({"__metadata__":{"crc32c":")";
constexpr size_t kHeaderSumOffset = sizeof(uint64_t) + kHeaderBegin.size(), kHeaderSumDigits = 8;

// The checksum of the size and the text of a header. It does not depend on the eight digits of the header's own
// checksum. The header must have at least kHeaderSumOffset + kHeaderSumDigits bytes.
inline uint32_t headerChecksum(std::string_view image) {
  uint32_t sum = crc32c(image.data(), kHeaderSumOffset);
  sum = crc32c("00000000", kHeaderSumDigits, sum);
  image.remove_prefix(kHeaderSumOffset + kHeaderSumDigits);
  return crc32c(image.data(), image.size(), sum);
}

} // namespace cleave::rt

#endif
