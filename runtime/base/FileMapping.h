// A file's bytes, mapped read-only, so that weights and data sets are not copied whole.
#ifndef CLEAVE_RUNTIME_BASE_FILEMAPPING_H
#define CLEAVE_RUNTIME_BASE_FILEMAPPING_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <string>

namespace cleave::rt {

class FileMapping {
public:
  FileMapping() = default;
  ~FileMapping() { reset(); }
  FileMapping(FileMapping &&other) noexcept { *this = std::move(other); }
  FileMapping &operator=(FileMapping &&other) noexcept;

  // Maps a regular file. An empty file gives data() == nullptr.
  static Status open(const std::string &path, FileMapping *result);

  const std::byte *data() const { return data_; }
  size_t size() const { return size_; }
  // Unmaps the pages that were read, so that they no longer count as this process's memory. They stay in the page
  // cache. Reading them again only maps them again.
  void dropPages() const;

private:
  void reset();

  const std::byte *data_ = nullptr;
  size_t size_ = 0;
};

} // namespace cleave::rt

#endif
