// Checksums of stored tensors: one CRC-32C (base/Crc32c.h) for each block of 1 MiB of a tensor's bytes.
//
// Blocks, because a rank maps a file and reads its part of a tensor: it verifies the blocks that its part touches and
// reads at most two blocks more than it needs. A sum per tensor would make each of n ranks read all of it.
//
// The chain that leaves no byte of a checkpoint unchecked (SafeTensors.h, CheckpointIndex.h have the forms):
//
//   checkpoint.json     its last line is the checksum of the text above; it holds that of each part's header
//   header of a part    holds its own checksum, which includes its size and padding, and those of all blocks
//   blocks              lie end to end up to the end of the file: there is no byte between or after them
//
// A part that stands in the place of another checkpoint's part is whole in itself, and found by its header. A header
// verifies itself too, so that a part alone (`--weights FILE.safetensors`) is verified as far as it goes.
//
// Everything that reads tensors goes through readElements(), so that nobody reads what nobody has verified.
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

// Of one tensor.
struct BlockChecksums {
  static constexpr uint64_t kBlockBytes = 1u << 20; // of what is written; files say their own

  std::string file; // for messages
  uint64_t blockBytes = kBlockBytes;
  std::vector<uint32_t> sums;

  static uint64_t countOf(uint64_t bytes, uint64_t blockBytes) {
    return bytes / blockBytes + (bytes % blockBytes != 0);
  }
};

// Computes the sums of tensors whose bytes come in pieces of any size, one tensor after the other.
class BlockSummer {
public:
  explicit BlockSummer(std::vector<uint64_t> tensorBytes);
  void add(const void *data, size_t bytes);
  // By tensor; those of tensors that have not come are zero.
  const std::vector<std::vector<uint32_t>> &sums() const { return sums_; }

private:
  std::vector<uint64_t> tensorBytes_;
  std::vector<std::vector<uint32_t>> sums_;
  size_t tensor_ = 0;
  uint64_t done_ = 0; // bytes of it
};

// Compares the blocks that hold some of the bytes [first, first + bytes) with their checksums; passes what has none.
Status verifyBytes(const TensorView &tensor, uint64_t first, uint64_t bytes);
// Elements [first, first + count) of a tensor, verified, as elements of `type`.
Status readElements(const TensorView &tensor, uint64_t first, uint64_t count, ElementType type, std::byte *target);

// "e3069283", and back; false where the text is no such number.
std::string checksumText(uint32_t sum);
bool parseChecksum(std::string_view text, uint32_t *sum);

} // namespace cleave::rt

#endif
