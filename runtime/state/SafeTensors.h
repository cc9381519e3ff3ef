// The safetensors format: an 8-byte little-endian header size, a JSON header
//   {"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {...}}
// and the bytes of the tensors. Files may come from anywhere, so nothing in the header is trusted: sizes, bounds, gaps,
// overlaps and duplicate names are checked before any data is read. As the format requires, tensors follow each other
// without a gap up to the end of the file.
//
// Files that Cleave writes have checksums (Checksums.h) at the only place that the format leaves to writers:
//
//   "__metadata__": {"crc32c": "9d3ab2f0",                  of the header's size and text, with eight zeros here
//                    "crc32c.block": "1048576",             bytes of a block
//                    "crc32c:w": "0a71c3e8 77f0be12", ...}  of the blocks of tensor w
//
// A file that has only some of these entries is damaged. A file that has none of them, as those of other programs, is
// read without this check.
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
#include <string_view>
#include <vector>

namespace cleave::rt {

// A tensor whose bytes somebody else owns. They may be unaligned.
struct TensorView {
  std::string name;
  ElementType type = ElementType::f32;
  Shape shape;
  const std::byte *data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<const BlockChecksums> checksums = {}; // null: there are none, or the bytes were already verified
};

// After this many bytes of a mapping were read, its pages are dropped. So reading a file does not count as memory.
constexpr size_t kDropBytes = 4u << 20;

class SafeTensors {
public:
  // The largest header that is read. It is the limit of the reference implementation.
  static constexpr uint64_t kMaxHeaderBytes = 100u << 20;

  // Maps a file. The views are valid as long as this object or a copy of it.
  static Status open(const std::string &path, SafeTensors *result);
  // Reads an image in memory, which must outlive the views. `origin` names it in messages.
  static Status parse(const void *image, size_t size, const std::string &origin, SafeTensors *result);

  // In the order of the data.
  const std::vector<TensorView> &tensors() const { return tensors_; }
  const TensorView *find(std::string_view name) const;
  // Tensors of a type that is not read (F8_E4M3 among others) are not in tensors(): other programs may need them. This
  // maps their names to their types.
  using Unread = std::map<std::string, std::string, std::less<>>;
  const Unread &unread() const { return unread_; }
  // An error for the tensor of this name, or for any if the name is empty, if it is in unread().
  Status checkType(std::string_view name = {}) const;
  const std::string &origin() const { return origin_; }
  // The checksum of the header; empty if the file has no checksums.
  std::optional<uint32_t> headerChecksum() const { return headerChecksum_; }
  // As FileMapping::dropPages(), for files and for images inside of the program. Other memory is left alone.
  void dropPages() const;

private:
  std::string origin_;
  std::optional<uint32_t> headerChecksum_;
  std::shared_ptr<const FileMapping> file_;
  std::vector<TensorView> tensors_;
  std::map<std::string, size_t, std::less<>> byName_;
  Unread unread_;
};

// The one entry of a header that is no tensor.
constexpr std::string_view kMetadataKey = "__metadata__";
using Metadata = std::map<std::string, std::string>;

// Writes a new file, one tensor after the other, in pieces. commit() makes it appear as a whole; without it, no file
// appears.
//
//   SafeTensorsFile file;
//   CLEAVE_TRY(file.create("w.safetensors", tensors));        // their names, types, shapes and sizes; no data
//   for (each tensor, in that order) CLEAVE_TRY(file.append(piece, bytes));
//   CLEAVE_TRY(file.commit());
class SafeTensorsFile {
public:
  Status create(const std::string &path, const std::vector<TensorView> &tensors, const Metadata &metadata = {});
  Status append(const void *data, size_t bytes);
  // Puts the whole file on the disk, so that commit() has only to rename it. All tensors must have been appended.
  Status flush();
  Status commit();
  // The checksum of the header that commit() writes. All tensors must have been appended.
  Status headerChecksum(uint32_t *sum) const;

private:
  Status writeHeader(std::string *image) const;

  AtomicFile file_;
  std::vector<TensorView> tensors_; // without data
  Metadata metadata_;
  std::optional<BlockSummer> summer_;
  bool isFlushed_ = false;
};

// The size of the file of these tensors. Their data are not read.
Status safeTensorsSize(const std::vector<TensorView> &tensors, uint64_t *result);
// Writes tensors that are in memory.
Status writeSafeTensors(const std::string &path, const std::vector<TensorView> &tensors, const Metadata &metadata = {});

} // namespace cleave::rt

#endif
