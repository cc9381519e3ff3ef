// A file that is removed by its owner's destructor, and also if a signal (Ctrl-C, kill) ends the program before.
#ifndef CLEAVE_COMPILER_SUPPORT_TEMPORARYFILE_H
#define CLEAVE_COMPILER_SUPPORT_TEMPORARYFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <string>

namespace cleave {

// Returns PREFIX and eight random hexadecimal digits. LLVM's createUniquePath() would also replace each `%` of the
// prefix.
std::string uniquePath(const llvm::Twine &prefix);

class TemporaryFile {
public:
  // Creates an empty file PREFIX-xxxxxxxx.SUFFIX in the system's folder for temporary files.
  static llvm::Expected<TemporaryFile> create(llvm::StringRef prefix, llvm::StringRef suffix);
  // The name NAME.partial-xxxxxxxx, for another program to write. keepAs(NAME) renames it.
  static TemporaryFile beside(llvm::StringRef name);
  // The same, but also creates an empty file, which only its owner can read and write.
  static llvm::Expected<TemporaryFile> createBeside(llvm::StringRef name);

  TemporaryFile(TemporaryFile &&other);
  TemporaryFile &operator=(TemporaryFile &&other) = delete;
  ~TemporaryFile() { remove(); }

  const std::string &path() const { return path_; }
  llvm::Error write(llvm::StringRef bytes) const;
  // Renames the file to `name`, and replaces a file with that name. If this fails, the file is removed.
  llvm::Error keepAs(llvm::StringRef name);

private:
  explicit TemporaryFile(std::string path);
  void remove();

  std::string path_; // empty: there is nothing to remove
};

} // namespace cleave

#endif
