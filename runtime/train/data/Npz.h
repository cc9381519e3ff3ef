// NumPy's .npz archives: a zip of .npy members, stored (numpy.savez) or deflated (numpy.savez_compressed).
//
// Stored members are views of the mapped archive. Deflated members are unpacked once, into memory of the archive.
#ifndef CLEAVE_RUNTIME_TRAIN_DATA_NPZ_H
#define CLEAVE_RUNTIME_TRAIN_DATA_NPZ_H

#include "runtime/base/FileMapping.h"
#include "runtime/train/data/Npy.h"

#include <memory>

namespace cleave::rt {

// Unpacks a deflated member, which must have exactly `size` bytes. zlib counts in 32 bits, so it gets at most `atOnce`
// bytes of the packed data, and of space for the result, at a time.
Status inflateBytes(const std::byte *source, size_t stored, std::byte *target, size_t size, size_t atOnce = 1u << 30);

class Npz {
public:
  static Status open(const std::string &path, Npz *result);

  // The array of that name ("x" for the member x.npy).
  Status array(const std::string &name, TensorView *view);
  // The same without its data. Only the header of the array is unpacked.
  Status header(const std::string &name, TensorView *view) const;
  void dropPages() const { file_->dropPages(); }
  // The memory of unpacked members, and of what they were unpacked from: both are needed at the same time.
  size_t unpackedBytes() const { return unpackedBytes_; }
  // The names of the arrays, in the archive's order.
  std::vector<std::string> names() const;

private:
  struct Member {
    std::string name; // without ".npy"
    uint64_t offset = 0, stored = 0, size = 0;
    uint32_t crc = 0;
    bool deflated = false;
    bool isRead = true; // false if it is encrypted, or packed by another method
  };
  Status readDirectory();
  Status checkSum(const Member &member, const std::byte *bytes) const;
  Status find(const std::string &name, const Member **member) const;
  // The bytes of a member in the file, packed or not.
  Status storedBytes(const Member &member, const std::byte **data) const;
  Status memberBytes(const Member &member, const std::byte **data);

  std::string path_;
  std::shared_ptr<const FileMapping> file_;
  std::vector<Member> members_;
  std::vector<std::unique_ptr<std::byte[]>> unpacked_;
  size_t unpackedBytes_ = 0;
};

} // namespace cleave::rt

#endif
