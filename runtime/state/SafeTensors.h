// The safetensors format: an 8-byte little-endian header size, a JSON header
//   {"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {...}}
// and the bytes of the tensors. Files come from anywhere, so nothing in the header is believed: sizes, bounds,
// gaps, overlaps and duplicate names are checked before a byte of data is touched. As the format says, tensors lie end to
// end up to the end of the file.
//
// Files that Cleave writes carry checksums (Checksums.h) in the one place that the format leaves to writers:
//
//   "__metadata__": {"crc32c": "9d3ab2f0",                  of the header's size and text, taken with eight zeros here
//                    "crc32c.block": "1048576",             bytes
//                    "crc32c:w": "0a71c3e8 77f0be12", ...}  of the blocks of tensor w
//
// A file with some but not all of that is damaged; one that has nothing of it, as those of other programs, is read as it
// is.
#ifndef CLEAVE_RUNTIME_STATE_SAFETENSORS_H
#define CLEAVE_RUNTIME_STATE_SAFETENSORS_H

#include "runtime/base/AtomicFile.h"
#include "runtime/base/FileMapping.h"
#include "runtime/base/Status.h"
#include "runtime/state/Checksums.h"
#include "runtime/state/ElementType.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cleave::rt {

// A tensor whose bytes someone else owns. They may lie unaligned.
struct TensorView {
  std::string name;
  ElementType type = ElementType::f32;
  Shape shape;
  const std::byte *data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<const BlockChecksums> checksums; // null: there are none, or somebody has compared with them
};

// After so many bytes read from a mapping its pages are dropped, so that reading a file does not count as memory.
constexpr size_t kDropBytes = 4u << 20;

class SafeTensors {
public:
  // The largest header that is read, as in the reference implementation.
  static constexpr uint64_t kMaxHeaderBytes = 100u << 20;

  // Maps a file; the views live as long as this object or a copy of it.
  static Status open(const std::string &path, SafeTensors *result);
  // Reads an image in memory, which must outlive the views. `origin` names it in messages.
  static Status parse(const void *image, size_t size, const std::string &origin, SafeTensors *result);

  // In the order of the data.
  const std::vector<TensorView> &tensors() const { return tensors_; }
  const TensorView *find(std::string_view name) const;
  const std::string &origin() const { return origin_; }
  // That of the header; nothing where the file carries no checksums.
  std::optional<uint32_t> headerChecksum() const { return headerChecksum_; }
  // As FileMapping::dropPages(), for files and for images inside the program; other memory is left alone.
  void dropPages() const;

private:
  std::string origin_;
  std::optional<uint32_t> headerChecksum_;
  std::shared_ptr<const FileMapping> file_;
  std::vector<TensorView> tensors_;
  std::map<std::string, size_t, std::less<>> byName_;
};

using Metadata = std::map<std::string, std::string>;

// A new file whose tensors come one after the other, in pieces; it appears whole, by commit(), or not at all.
//
//   SafeTensorsFile file;
//   CLEAVE_TRY(file.create("w.safetensors", tensors));        // their names, types, shapes and sizes; no data
//   for (each tensor, in that order) CLEAVE_TRY(file.append(piece, bytes));
//   CLEAVE_TRY(file.commit());
class SafeTensorsFile {
public:
  Status create(const std::string &path, const std::vector<TensorView> &tensors, const Metadata &metadata = {});
  Status append(const void *data, size_t bytes);
  Status commit();
  // That of the header which commit() writes; all tensors must have been appended.
  Status headerChecksum(uint32_t *sum) const;

private:
  Status writeHeader(std::string *image) const;

  AtomicFile file_;
  std::vector<TensorView> tensors_; // without data
  Metadata metadata_;
  std::optional<BlockSummer> summer_;
};

// Writes tensors that are in memory.
Status writeSafeTensors(const std::string &path, const std::vector<TensorView> &tensors, const Metadata &metadata = {});

} // namespace cleave::rt

#endif
