// CRC-32C (Castagnoli): the checksum of stored tensors.
//
// It certainly finds every change of one, two or three bits, and every burst of up to 32 bits, in less than 2^31 bits.
// Errors of disks, memory and links have these forms. Other damage is missed with probability 2^-32. Processors compute
// it (SSE4.2: about 8 GB/s, faster than disks). Rejected: XXH3, which is as fast, but guarantees nothing about single
// bits, and would be one more library; zlib's CRC-32, whose guarantee for three bits ends at 11 KiB. A checksum does
// not protect against somebody who changes a file on purpose.
#ifndef CLEAVE_RUNTIME_BASE_CRC32C_H
#define CLEAVE_RUNTIME_BASE_CRC32C_H

#include <cstddef>
#include <cstdint>

namespace cleave::rt {

// Returns the checksum of the bytes. `before` is the checksum of the bytes before them. crc32c("123456789", 9) ==
// 0xe3069283.
uint32_t crc32c(const void *data, size_t bytes, uint32_t before = 0);
// The same without the processor's instruction: for other processors, and as the reference of tests.
uint32_t crc32cPortable(const void *data, size_t bytes, uint32_t before = 0);

} // namespace cleave::rt

#endif
