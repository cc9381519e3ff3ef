#include "compiler/Import/ONNX/File/ExternalData.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cleave::onnx_import;

// The advice for a file that is not read where it is.
static std::string howToSave(llvm::StringRef location) {
  llvm::StringRef name = llvm::sys::path::filename(location);
  bool isPlain = name.find_first_not_of("./") != name.npos &&
                 llvm::all_of(name, [](char c) { return llvm::isPrint(c) && c != '"' && c != '\\'; });
  return "onnx.save(model, \"m.onnx\", save_as_external_data=True, location=\"" +
         (isPlain ? name : "weights.bin").str() + "\") writes it so";
}

// Returns the parts of the path. Fails if the path could lead out of the directory.
static llvm::Expected<llvm::SmallVector<std::string>> splitLocation(llvm::StringRef location) {
  llvm::SmallVector<std::string> parts;
  if (location.empty() || location.contains('\0') || location.contains('\\') || llvm::sys::path::is_absolute(location))
    return makeError("external data location " + quote(location) +
                     " must be a relative path of a file beside the model; " + howToSave(location));
  llvm::SmallVector<llvm::StringRef> names;
  location.split(names, '/', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef name : names) {
    if (name == "..")
      return makeError("external data location " + quote(location) +
                       " leads out of the model's directory; move the file beside the model: " + howToSave(location));
    if (name != ".")
      parts.push_back(name.str());
  }
  if (parts.empty())
    return makeError("external data location " + quote(location) + " names no file");
  return parts;
}

// Opens the path part by part with O_NOFOLLOW. So no link is followed, not even one that appears between check and use.
static llvm::Expected<int> openBeneath(llvm::StringRef directory, llvm::ArrayRef<std::string> parts,
                                       llvm::StringRef location) {
  int at = ::open(directory.str().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (size_t i = 0; at >= 0 && i < parts.size(); ++i) {
    bool last = i + 1 == parts.size();
    int next =
        ::openat(at, parts[i].c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (last ? 0 : O_DIRECTORY));
    int code = errno;
    ::close(at);
    if (next < 0)
      return makeError(
          "external data file " + quote(location) +
          (code == ELOOP || code == ENOTDIR
               ? " is reached through a symbolic link; copy the file itself beside the model: " + howToSave(location)
               : " cannot be opened beside the model: " + std::string(strerror(code))));
    at = next;
  }
  if (at < 0)
    return makeError("the model's directory " + quote(directory) + " cannot be opened");
  return at;
}

llvm::Expected<llvm::StringRef> ExternalData::map(llvm::StringRef location) {
  if (auto it = files_.find(location); it != files_.end())
    return it->second->getBuffer();
  if (directory_.empty())
    return makeError("external data " + quote(location) +
                     " cannot be read: the model was given as bytes, without a directory");
  auto parts = splitLocation(location);
  if (!parts)
    return parts.takeError();
  auto descriptor = openBeneath(directory_, *parts, location);
  if (!descriptor)
    return descriptor.takeError();
  struct stat status, model;
  bool plain = ::fstat(*descriptor, &status) == 0 && S_ISREG(status.st_mode);
  if (!plain || status.st_nlink != 1) {
    ::close(*descriptor);
    return makeError("external data file " + quote(location) +
                     (plain ? " has several hard links; copy the file itself beside the model: " + howToSave(location)
                            : " is not a regular file"));
  }
  if (!model_.empty() && ::stat(model_.c_str(), &model) == 0 && model.st_dev == status.st_dev &&
      model.st_ino == status.st_ino) {
    ::close(*descriptor);
    return makeError("external data file " + quote(location) +
                     " is the model itself; the tensors must be in another file: " + howToSave("weights.bin"));
  }
  auto buffer = llvm::MemoryBuffer::getOpenFile(llvm::sys::fs::convertFDToNativeFile(*descriptor), location,
                                                uint64_t(status.st_size), /*RequiresNullTerminator=*/false);
  ::close(*descriptor);
  if (!buffer)
    return makeError("external data file " + quote(location) + " cannot be mapped: " + buffer.getError().message());
  files_[location] = std::move(*buffer);
  return files_[location]->getBuffer();
}

static llvm::Expected<uint64_t> parseNumber(llvm::StringRef key, llvm::StringRef text) {
  uint64_t value;
  if (text.getAsInteger(10, value))
    return makeError("external data `" + key + "` must be a non-negative integer; got " + quote(text));
  return value;
}

llvm::Expected<llvm::ArrayRef<char>> ExternalData::find(const onnx::TensorProto &tensor, int64_t size) {
  llvm::StringRef location;
  uint64_t offset = 0, length = uint64_t(size);
  llvm::StringSet<> keys;
  for (const auto &entry : tensor.external_data()) {
    if (!keys.insert(entry.key()).second)
      return makeError("its external data have two entries " + quote(entry.key()) + "; expected one of each key");
    if (entry.key() == "location") {
      location = entry.value();
      continue;
    }
    if (entry.key() == "checksum" || entry.key() == "basepath") // not read, as in onnxruntime
      continue;
    if (entry.key() != "offset" && entry.key() != "length")
      return makeError("its external data have the unknown key " + quote(entry.key()) +
                       "; expected location, offset, length or checksum");
    auto value = parseNumber(entry.key(), entry.value());
    if (!value)
      return value.takeError();
    (entry.key() == "offset" ? offset : length) = *value;
  }
  if (length != uint64_t(size))
    return makeError("its external data have length " + llvm::Twine(length) + "; its shape and type take " +
                     llvm::Twine(size) + " bytes");
  auto bytes = map(location);
  if (!bytes)
    return bytes.takeError();
  if (offset > bytes->size() || length > bytes->size() - offset)
    return makeError("external data file " + quote(location) + " has " + llvm::Twine(bytes->size()) +
                     " bytes; the tensor lies at offset " + llvm::Twine(offset) + " and takes " + llvm::Twine(length) +
                     "; is the file truncated or of another model?");
  return llvm::ArrayRef<char>(bytes->data() + offset, length);
}

std::vector<std::shared_ptr<llvm::MemoryBuffer>> ExternalData::files() const {
  std::vector<std::shared_ptr<llvm::MemoryBuffer>> files;
  for (const auto &entry : files_)
    files.push_back(entry.second);
  return files;
}
