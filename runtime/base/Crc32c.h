// CRC-32C (Castagnoli): the checksum of stored tensors.
//
// It finds every change of one, two or three bits and every burst of up to 32 bits in less than 2^31 bits, for certain
// rather than probably, which is what flipped bits of disks, memory and links look like; other damage passes with
// probability 2^-32. Processors compute it (SSE4.2: about 8 GB/s, more than a disk delivers). Rejected: XXH3, which is
// as fast but promises nothing about single bits and would be one more library; zlib's CRC-32, whose three-bit promise
// ends at 11 KiB. It is no protection against somebody who changes a file on purpose.
#ifndef CLEAVE_RUNTIME_BASE_CRC32C_H
#define CLEAVE_RUNTIME_BASE_CRC32C_H

#include <cstddef>
#include <cstdint>

namespace cleave::rt {

// The checksum of bytes; `before` is that of the bytes in front of them. crc32c("123456789", 9) == 0xe3069283.
uint32_t crc32c(const void *data, size_t bytes, uint32_t before = 0);
// The same without the processor's instruction: for other processors, and what the tests compare with.
uint32_t crc32cPortable(const void *data, size_t bytes, uint32_t before = 0);

} // namespace cleave::rt

#endif
