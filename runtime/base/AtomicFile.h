// A file that appears whole or not at all: it is written aside as NAME.tmp-<pid>, flushed to the disk, and renamed.
//
//   AtomicFile file;
//   CLEAVE_TRY(AtomicFile::create("y.npy", &file));
//   CLEAVE_TRY(file.write(bytes, size));
//   CLEAVE_TRY(file.commit());
//
// Without commit() (an error, a full disk) the file aside is removed and NAME stays as it was.
#ifndef CLEAVE_RUNTIME_BASE_ATOMICFILE_H
#define CLEAVE_RUNTIME_BASE_ATOMICFILE_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cleave::rt {

class AtomicFile {
public:
  AtomicFile() = default;
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  static Status create(const std::string &path, AtomicFile *result);
  Status write(const void *data, size_t size);
  // Replaces bytes that were written before.
  Status rewrite(uint64_t offset, const void *data, size_t size);
  Status commit();

  // Called when a file aside appears and when it is gone, so that a program can remove what is left when a signal ends
  // it.
  using Watcher = void (*)(const std::string &aside, bool isThere);
  static void watch(Watcher watcher);

private:
  void discard();

  std::string path_, aside_;
  int fd_ = -1;
};

// Writes `text` as the whole file, atomically.
Status writeFileAtomically(const std::string &path, std::string_view text);
// Makes the directory entries of `directory` durable: a rename counts only after it.
Status syncDirectory(const std::string &directory);
// "cannot open FILE: No such file or directory"; `error` is an errno value.
Status fileError(const std::string &action, const std::string &path, int error);
// The directory part of a path, "." when it has none.
std::string parentDirectory(const std::string &path);

} // namespace cleave::rt

#endif
