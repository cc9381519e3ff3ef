// Checksums of stored tensors: one CRC-32C (base/Crc32c.h) for each block of 1 MiB of a tensor's bytes.
//
// There is a checksum for each block, because a rank maps a file and reads its part of a tensor. It verifies the blocks
// that its part touches, and reads at most two blocks more than it needs. With a checksum for each tensor, each of n
// ranks would read all of it.
//
// The checksums form a chain that covers every byte of a checkpoint (SafeTensors.h and CheckpointIndex.h have the
// formats):
//
//   checkpoint.json     its last line is the checksum of the text above, which has the checksum of each part's header
//   header of a part    has its own checksum, which covers its size and padding, and the checksums of all blocks
//   blocks              follow each other up to the end of the file: there is no byte between or after them
//
// If a part was replaced by the part of another checkpoint, all its own checksums match, but the checksum of its header
// differs from that in checkpoint.json. A header also verifies itself, so a part alone (`--weights FILE.safetensors`)
// is verified too.
//
// All code that reads tensors uses readElements(), so nobody reads bytes that were not verified.
#ifndef CLEAVE_RUNTIME_STATE_CHECKSUMS_H
#define CLEAVE_RUNTIME_STATE_CHECKSUMS_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::rt {

struct TensorView;
enum class ElementType : uint8_t;

// The checksums of one tensor.
struct BlockChecksums {
  static constexpr uint64_t kBlockBytes = 1u << 20; // for files that are written

  std::string file; // name of the file, for messages
  uint64_t blockBytes = kBlockBytes;
  std::vector<uint32_t> sums;

  static uint64_t countOf(uint64_t bytes, uint64_t blockBytes) {
    return bytes / blockBytes + (bytes % blockBytes != 0);
  }
};

// Computes the checksums of tensors. Their bytes are added in pieces of any size, one tensor after the other.
class BlockSummer {
public:
  explicit BlockSummer(std::vector<uint64_t> tensorBytes);
  void add(const void *data, size_t bytes);
  // By tensor. The checksums of tensors that were not added are zero.
  const std::vector<std::vector<uint32_t>> &sums() const { return sums_; }

private:
  std::vector<uint64_t> tensorBytes_;
  std::vector<std::vector<uint32_t>> sums_;
  size_t tensor_ = 0;
  uint64_t done_ = 0; // bytes of tensor_ that were added
};

// Compares the blocks that contain some of the bytes [first, first + bytes) with their checksums. Succeeds if the
// tensor has none.
Status verifyBytes(const TensorView &tensor, uint64_t first, uint64_t bytes);
// Reads elements [first, first + count) of a tensor, verifies them, and converts them to `type`.
Status readElements(const TensorView &tensor, uint64_t first, uint64_t count, ElementType type, std::byte *target);

// "e3069283", and back. Returns false if the text is not such a number.
std::string checksumText(uint32_t sum);
bool parseChecksum(std::string_view text, uint32_t *sum);

} // namespace cleave::rt

#endif
