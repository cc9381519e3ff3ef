// A file that is gone at the end: with its owner, and when a signal (Ctrl-C, kill) ends the program before.
#ifndef CLEAVE_COMPILER_SUPPORT_TEMPORARYFILE_H
#define CLEAVE_COMPILER_SUPPORT_TEMPORARYFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <string>

namespace cleave {

// PREFIX and eight random hexadecimal digits. LLVM's createUniquePath() would replace a `%` of the prefix, too.
std::string uniquePath(const llvm::Twine &prefix);

class TemporaryFile {
public:
  // An empty file PREFIX-xxxxxx.SUFFIX in the system's folder for temporary files.
  static llvm::Expected<TemporaryFile> create(llvm::StringRef prefix, llvm::StringRef suffix);
  // NAME.partial-xxxxxxxx, for another program to write; keepAs(NAME) gives it its name.
  static TemporaryFile beside(llvm::StringRef name);
  // The same as an empty file, which its owner alone can read and write.
  static llvm::Expected<TemporaryFile> createBeside(llvm::StringRef name);

  TemporaryFile(TemporaryFile &&other);
  TemporaryFile &operator=(TemporaryFile &&other) = delete;
  ~TemporaryFile() { remove(); }

  const std::string &path() const { return path_; }
  llvm::Error write(llvm::StringRef bytes) const;
  // The file replaces `name`; or there is an error and the file is gone.
  llvm::Error keepAs(llvm::StringRef name);

private:
  explicit TemporaryFile(std::string path);
  void remove();

  std::string path_; // empty: nothing is left to remove
};

} // namespace cleave

#endif
