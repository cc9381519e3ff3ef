// A file that appears completely or not at all. It is written as NAME.tmp-<pid>, flushed to the disk, and renamed.
//
//   AtomicFile file;
//   CLEAVE_TRY(AtomicFile::create("y.npy", &file));
//   CLEAVE_TRY(file.write(bytes, size));
//   CLEAVE_TRY(file.commit());
//
// Without commit() (an error, a full disk), the temporary file is removed, and NAME stays as it was. If NAME is a link,
// the file that it refers to is replaced, and the link stays. A file that is replaced keeps its permissions.
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
  // Replaces bytes that have been written.
  Status rewrite(uint64_t offset, const void *data, size_t size);
  // Puts what has been written on the disk. A full disk of another machine, for example, is reported only then.
  Status flush();
  // Flushes and renames.
  Status commit();

  // Calls `watcher` when a temporary file appears (`isThere` is true) and when it is gone. So a program that a signal
  // ends can remove the file.
  using Watcher = void (*)(const std::string &aside, bool isThere);
  static void watch(Watcher watcher);

private:
  void discard();

  std::string path_, aside_;
  int fd_ = -1;
};

// Finds the file that a writer by rename must replace. Follows links to the target of the last one, which need not
// exist. Fails if `path` is neither a regular file nor a new name, or if it or a link lies in /dev or /proc. Otherwise,
// while a shell redirects the output to a file, a rename would put a plain file in the place of /dev/stdout.
Status findFileToReplace(const std::string &path, std::string *target);
// Writes `text` as the whole file, atomically.
Status writeFileAtomically(const std::string &path, std::string_view text);
// Makes the entries of the directory durable. A rename survives a crash only after this call.
Status syncDirectory(const std::string &directory);
// "cannot open FILE: No such file or directory"; `error` is an errno value.
Status fileError(const std::string &action, const std::string &path, int error);
// The directory of a path; "." if the path has none.
std::string parentDirectory(const std::string &path);

} // namespace cleave::rt

#endif
