#include "runtime/device/cuda/Algorithms.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/Crc32c.h"
#include "runtime/base/FileMapping.h"
#include "runtime/base/LoadedFile.h"
#include "runtime/base/Log.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace cleave::rt {

namespace {

constexpr std::string_view kHeader = "cleave-algorithms ", kFormat = "1", kPart = "on ", kChecksum = "checksum ";

// Reads the whole file. Reads nothing if it does not exist.
Status readWhole(const std::string &path, std::string *text) {
  FileMapping file;
  if (Status status = FileMapping::open(path, &file); !status.isOk())
    return status.code() == Code::NotFound ? Status::ok() : status;
  *text = std::string_view(reinterpret_cast<const char *>(file.data()), file.size());
  return Status::ok();
}

// Locks the folder, so that only one process at a time reads, adds and writes. Closing the descriptor unlocks it.
class FolderLock {
public:
  explicit FolderLock(const std::string &folder) : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    bool isHeld = false;
    while (fd_ >= 0 && !(isHeld = ::flock(fd_, LOCK_EX) == 0) && errno == EINTR) {
    }
    error_ = isHeld ? 0 : errno;
  }
  int error() const { return error_; } // 0: it is locked
  ~FolderLock() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  FolderLock(const FolderLock &) = delete;
  FolderLock &operator=(const FolderLock &) = delete;

private:
  int fd_, error_ = 0;
};

std::string hexOf(const Algorithms::Algorithm &algorithm) {
  std::string text;
  for (uint64_t word : algorithm) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016" PRIx64, word);
    text += digits;
  }
  return text;
}

bool readHex(std::string_view text, Algorithms::Algorithm *algorithm) {
  if (text.size() != 16 * algorithm->size() || text.find_first_not_of("0123456789abcdef") != std::string_view::npos)
    return false;
  for (size_t i = 0; i < algorithm->size(); ++i)
    (*algorithm)[i] = std::strtoull(std::string(text.substr(16 * i, 16)).c_str(), nullptr, 16);
  return true;
}

std::string checksumOf(std::string_view text) {
  char line[32];
  std::snprintf(line, sizeof line, "%s%08x\n", std::string(kChecksum).c_str(), crc32c(text.data(), text.size()));
  return line;
}

bool takeFront(std::string_view *text, std::string_view front) {
  if (text->substr(0, front.size()) != front)
    return false;
  text->remove_prefix(front.size());
  return true;
}

std::string_view takeLine(std::string_view *text) {
  size_t end = std::min(text->find('\n'), text->size());
  std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return line;
}

} // namespace

std::string Algorithms::format(const Parts &parts) {
  std::string text = std::string(kHeader) + std::string(kFormat) + "\n";
  for (const auto &[part, products] : parts) {
    text += std::string(kPart) + part + "\n";
    for (const auto &[product, algorithm] : products)
      text += hexOf(algorithm) + " " + product + "\n";
  }
  return text + checksumOf(text);
}

Status Algorithms::parse(std::string_view text, Parts *parts, std::string *otherFormat) {
  std::string_view rest = text, version = takeLine(&rest);
  if (!takeFront(&version, kHeader))
    return dataLoss("it is not a file of algorithms");
  if (version != kFormat) {
    *otherFormat = version;
    return Status::ok();
  }
  size_t last = text.rfind('\n', text.empty() ? 0 : text.size() - 2);
  std::string_view body = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  if (body.empty() || text.substr(body.size()) != checksumOf(body))
    return dataLoss("its checksum is not that of its lines");
  takeLine(&body);
  std::map<std::string, Algorithm> *products = nullptr;
  for (int number = 2; !body.empty(); ++number) {
    std::string_view line = takeLine(&body);
    if (takeFront(&line, kPart)) {
      products = &(*parts)[std::string(line)];
      continue;
    }
    Algorithm algorithm;
    size_t space = std::min(line.find(' '), line.size());
    if (!products || space == line.size() || !readHex(line.substr(0, space), &algorithm))
      return dataLoss("line " + std::to_string(number) + " is neither a device nor an algorithm with its product");
    (*products)[std::string(line.substr(space + 1))] = algorithm;
  }
  return Status::ok();
}

void Algorithms::note(const std::string &text) const {
  if (tells())
    log(LogLevel::Warning, -1, path_ + " " + text);
}

Status Algorithms::open(const std::string &part, int rank, Algorithms *result) {
  std::string path = envString("CLEAVE_CUDA_ALGORITHMS");
  bool isChosen = !path.empty();
  static const char here = 0; // mapped from the same file as this code
  if (!isChosen)
    path = loadedFile(&here);
  result->part_ = part;
  result->rank_ = rank;
  if (path.empty() || path == "none")
    return Status::ok();
  result->path_ = isChosen ? path : path + ".algorithms";
  std::string text;
  CLEAVE_TRY(readWhole(result->path_, &text));
  if (text.empty())
    return Status::ok();
  const std::string library = result->library();
  std::string otherFormat;
  Status status = parse(text, &result->parts_, &otherFormat);
  if (!status.isOk())
    return dataLoss(result->path_ +
                    ", where the algorithms of cuBLASLt and cuDNN are stored, cannot be used: " + status.message() +
                    "; remove it, and they are chosen anew, or name another file in CLEAVE_CUDA_ALGORITHMS");
  if (!otherFormat.empty()) {
    result->note("has format " + otherFormat + " of another version of Cleave, and is left as it is: " + library +
                 "'s algorithms are chosen anew, and sums may differ in their last bits from earlier runs");
    result->path_.clear();
    return Status::ok();
  }
  for (const auto &[known, products] : result->parts_)
    if (result->parts_.count(part) == 0 && known.compare(0, library.size() + 1, library + " ") == 0) {
      result->note("has no algorithms for " + part +
                   ": they are chosen anew, and sums may differ in their last bits from those on " + known);
      break;
    }
  return Status::ok();
}

const Algorithms::Algorithm *Algorithms::find(const std::string &product) const {
  for (const auto *known : {&added_, parts_.count(part_) ? &parts_.at(part_) : nullptr})
    if (known)
      if (auto found = known->find(product); found != known->end())
        return &found->second;
  return nullptr;
}

void Algorithms::add(const std::string &product, const Algorithm &algorithm) { added_[product] = algorithm; }

void Algorithms::save() {
  if (added_.empty())
    return;
  Status status = path_.empty() ? Status::ok() : write();
  if (!status.isOk())
    note("does not store which of " + library() + "'s algorithms were chosen (" + status.message() +
         "); later runs may differ in the last bits of sums. CLEAVE_CUDA_ALGORITHMS names another file");
  parts_[part_].insert(added_.begin(), added_.end());
  added_.clear();
}

Status Algorithms::write() {
  FolderLock lock(parentDirectory(path_));
  std::string text;
  CLEAVE_TRY(readWhole(path_, &text));
  Parts parts;
  std::string otherFormat;
  if (!text.empty())
    CLEAVE_TRY(parse(text, &parts, &otherFormat));
  if (!otherFormat.empty()) // written since this program started
    return invalidArgument("it has format " + otherFormat + " of another version of Cleave now, and is left as it is");
  parts[part_].insert(added_.begin(), added_.end()); // keeps entries that are in the file
  CLEAVE_TRY(writeFileAtomically(path_, format(parts)));
  if (lock.error())
    note(std::string("was written while its folder could not be locked (") + std::strerror(lock.error()) +
         "): where several programs started here at the same time, choices of one may be missing, and are made anew");
  return Status::ok();
}

} // namespace cleave::rt
