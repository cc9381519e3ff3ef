#include "runtime/state/Checksums.h"

#include "runtime/base/Crc32c.h"
#include "runtime/state/FloatConversion.h"
#include "runtime/state/SafeTensors.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace cleave::rt {

BlockSummer::BlockSummer(std::vector<uint64_t> tensorBytes) : tensorBytes_(std::move(tensorBytes)) {
  for (uint64_t bytes : tensorBytes_)
    sums_.emplace_back(BlockChecksums::countOf(bytes, BlockChecksums::kBlockBytes));
}

void BlockSummer::add(const void *data, size_t bytes) {
  const auto *next = static_cast<const std::byte *>(data);
  while (bytes != 0) {
    for (; tensor_ < tensorBytes_.size() && done_ == tensorBytes_[tensor_]; done_ = 0)
      ++tensor_;
    if (tensor_ == tensorBytes_.size())
      return; // more bytes than announced: the writer of the file reports it
    uint64_t block = done_ / BlockChecksums::kBlockBytes;
    uint64_t end = std::min((block + 1) * BlockChecksums::kBlockBytes, tensorBytes_[tensor_]);
    size_t piece = std::min<uint64_t>(bytes, end - done_);
    uint32_t &sum = sums_[tensor_][block];
    sum = crc32c(next, piece, sum);
    next += piece;
    done_ += piece;
    bytes -= piece;
  }
}

Status verifyBytes(const TensorView &tensor, uint64_t first, uint64_t bytes) {
  if (!tensor.checksums || bytes == 0)
    return Status::ok();
  const BlockChecksums &known = *tensor.checksums;
  for (uint64_t block = first / known.blockBytes; block * known.blockBytes < first + bytes; ++block) {
    uint64_t begin = block * known.blockBytes, end = std::min(begin + known.blockBytes, uint64_t{tensor.bytes});
    if (crc32c(tensor.data + begin, end - begin) != known.sums[block])
      return dataLoss("tensor '" + tensor.name + "' in " + known.file + ": bytes " + std::to_string(begin) + " to " +
                      std::to_string(end) + " of " + std::to_string(tensor.bytes) +
                      " do not match their checksum; the file is damaged: take another copy of it");
  }
  return Status::ok();
}

Status readElements(const TensorView &tensor, uint64_t first, uint64_t count, ElementType type, std::byte *target) {
  size_t width = elementSize(tensor.type);
  CLEAVE_TRY(verifyBytes(tensor, first * width, count * width));
  convertElements(tensor.type, tensor.data + first * width, type, target, count);
  return Status::ok();
}

std::string checksumText(uint32_t sum) {
  char text[12];
  std::snprintf(text, sizeof text, "%08x", sum);
  return text;
}

bool parseChecksum(std::string_view text, uint32_t *sum) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *sum, 16);
  return text.size() == 8 && error == std::errc() && end == text.data() + text.size() && checksumText(*sum) == text;
}

} // namespace cleave::rt
