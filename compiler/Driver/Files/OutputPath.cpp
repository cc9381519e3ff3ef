#include "compiler/Driver/Files/OutputPath.h"

#include "compiler/Support/Directories.h"
#include "compiler/Support/Error.h"
#include "compiler/Support/Usage.h"
#include "runtime/base/AtomicFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <climits>
#include <unistd.h>

using namespace cleave;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace {

// The longest suffixes: "NAME.partial-1a2b3c4d", "NAME.weights/model.safetensors.tmp-1234567".
constexpr size_t kNameSuffix = 24, kPathSuffix = 48;

// Returns a text that fits on one line of a message.
std::string shortened(llvm::StringRef text) {
  constexpr size_t kBegin = 40, kEnd = 20;
  return text.size() <= kBegin + kEnd + 3 ? text.str() : (text.take_front(kBegin) + "..." + text.take_back(kEnd)).str();
}

// Returns the number of bytes that the file system of `directory` allows in a name.
size_t maxNameIn(llvm::StringRef directory) {
  long most = ::pathconf(directory.str().c_str(), _PC_NAME_MAX);
  return most > 0 ? static_cast<size_t>(most) : NAME_MAX;
}

llvm::Error checkLength(llvm::StringRef output, llvm::StringRef directory) {
  auto tooLong = [&](const llvm::Twine &what, size_t found, size_t most) {
    return usageError("-o " + shortened(output),
                      what + " has " + llvm::Twine(found) + " bytes; at most " + llvm::Twine(most) +
                          " are possible, since names of temporary files are longer. Give a shorter name");
  };
  if (output.size() + kPathSuffix >= PATH_MAX)
    return tooLong("the path", output.size(), PATH_MAX - 1 - kPathSuffix);
  size_t most = maxNameIn(directory) - kNameSuffix;
  llvm::StringRef name = path::filename(output);
  return name.size() > most ? tooLong("the name", name.size(), most) : llvm::Error::success();
}

} // namespace

llvm::Error cleave::checkOutputName(llvm::StringRef output, Emit emit) {
  struct Kind {
    llvm::StringLiteral extension;
    Emit emit;
    llvm::StringLiteral owner, advice;
  };
  static constexpr Kind kinds[] = {
      {".so", Emit::Shared, "a shared library's", "give --emit shared"},
      {".o", Emit::Object, "an object file's", "give --emit object"},
      {".a", Emit::Object, "a static library's",
       "give --emit object and a name that ends in .o, and put this into the library by ar"},
      {".plan", Emit::Plan, "a plan's", "give --emit plan"},
      {".mlir", Emit::Mlir, "MLIR's", "give --emit mlir"}};
  llvm::StringRef extension = path::extension(output);
  constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> foreign[] = {
      {".onnx", "a model's"}, {".safetensors", "a safetensors file's"}, {".npy", "an array's"}, {".npz", "an array's"}};
  for (const auto &[ending, owner] : foreign)
    if (extension == ending)
      return usageError("-o " + shortened(output),
                        "this name is " + owner + ", and a compiled model is none; give another name");
  for (const Kind &kind : kinds)
    if (extension == kind.extension && (emit != kind.emit || extension == ".a"))
      return usageError("-o " + shortened(output),
                        "this name is " + kind.owner + "; " + kind.advice + ", or another name");
  return llvm::Error::success();
}

static std::string absolute(llvm::StringRef name) {
  llvm::SmallString<256> full(name);
  fs::make_absolute(full);
  path::remove_dots(full, /*remove_dot_dot=*/true);
  return full.str().rtrim('/').str();
}

llvm::Error cleave::makeDumpDirectory(llvm::StringRef option, llvm::StringRef directory, llvm::StringRef output) {
  if (directory.empty())
    return llvm::Error::success();
  std::string given = (option + " " + directory).str();
  if (fs::exists(directory) && !fs::is_directory(directory))
    return usageError(given, "is a file; name a folder");
  if (absolute(directory) == absolute(output))
    return usageError(given, "is the name of the output, too; give another one");
  if (std::error_code code = makeDirectories(directory))
    return makeError(directory + ": cannot make the directory of " + option + ": " + code.message());
  if (fs::access(directory, fs::AccessMode::Write))
    return makeError(directory + ": the directory of " + option + " cannot be written to");
  return llvm::Error::success();
}

llvm::Error cleave::checkOutputPath(llvm::StringRef output) {
  if (output == "-")
    return usageError("-o -", "only MLIR (cleave compile --emit mlir or --stop-after PHASE) is written to standard "
                              "output; name a file");
  llvm::StringRef directory = path::parent_path(output);
  if (directory.empty())
    directory = ".";
  if (llvm::Error error = checkLength(output, directory))
    return error;
  if (path::filename(output) == "." || fs::is_directory(output))
    return usageError("-o " + output, "is a directory; name the file to write");
  if (!fs::is_directory(directory))
    return usageError("-o " + shortened(output), "there is no directory '" + shortened(directory) + "'; make it first");
  if (fs::access(directory, fs::AccessMode::Write))
    return makeError(output + ": the directory '" + directory + "' cannot be written to");
  std::string target;
  if (!rt::findFileToReplace(output.str(), &target).isOk())
    return usageError("-o " + output, "is neither a regular file nor a new name");
  return llvm::Error::success();
}
