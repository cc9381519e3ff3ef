// The directory of checkpoints: finds the one that a path means, and removes old ones.
#include "runtime/base/AtomicFile.h"
#include "runtime/base/FileLock.h"
#include "runtime/base/FileMapping.h"
#include "runtime/base/Log.h"
#include "runtime/base/OptionText.h"
#include "runtime/state/CheckpointSave.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace cleave::rt {
namespace {

namespace fs = std::filesystem;

// True if such an error says that nothing has the name.
bool isAbsent(int error) { return error == ENOENT || error == ENOTDIR || error == ELOOP; }

// Looks for the index of a checkpoint. An error of the file system is no answer: it may hide a good checkpoint, which
// nobody must replace or pass over.
Status findIndex(const std::string &path, bool *isThere) {
  std::string index = path + "/" + kCheckpointIndexFile;
  struct stat info;
  int error = ::stat(index.c_str(), &info) == 0 ? 0 : errno;
  *isThere = error == 0 && S_ISREG(info.st_mode);
  return error == 0 || isAbsent(error) ? Status::ok() : fileError("read", index, error);
}

// True if a file begins as writeCheckpointIndex() begins it. Other programs write files of that name, too.
bool beginsAsIndex(const std::string &path) {
  char text[64] = {};
  std::ifstream(path, std::ios::binary).read(text, sizeof text - 1);
  std::string_view rest(text);
  for (std::string_view token : {"{", "\"format\"", ":"}) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n"), rest.size()));
    if (rest.substr(0, token.size()) != token)
      return false;
    rest.remove_prefix(token.size());
  }
  return true;
}

// For advice, and for paths that are only to be avoided. A damaged index is known by the name that --save gave to the
// checkpoint.
bool isCheckpoint(const std::string &path) {
  bool isThere = false;
  return findIndex(path, &isThere).isOk() && isThere &&
         (isStepName(fs::path(path).filename().string()) || beginsAsIndex(path + "/" + kCheckpointIndexFile));
}

// What cannot be removed takes space, and is no reason to end a run. (On NFS, a file that another process has open
// stays in its directory under another name.)
void warnOfLeft(const std::string &path, std::error_code error) {
  if (error)
    log(LogLevel::Warning, -1,
        fileError("remove", path, error.value()).message() + "; it takes space until you remove it");
}

void removeOrWarn(const std::string &path) {
  std::error_code error;
  fs::remove_all(path, error);
  warnOfLeft(path, error);
}

} // namespace

std::string stepName(uint64_t step) {
  char name[40];
  std::snprintf(name, sizeof name, "step-%08llu", static_cast<unsigned long long>(step));
  return name;
}

bool isStepName(std::string_view name) {
  constexpr std::string_view kPrefix = "step-";
  uint64_t step = 0;
  return name.substr(0, kPrefix.size()) == kPrefix && parseUnsigned(name.substr(kPrefix.size()), &step) &&
         name == stepName(step);
}

// The names of all entries of a directory. One that does not exist has none.
static Status listNames(const std::string &directory, std::vector<std::string> *names) {
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    names->push_back(it->path().filename().string());
  return !error || isAbsent(error.value()) ? Status::ok() : fileError("read", directory, error.value());
}

// The names are padded with zeros to 8 digits, so the length is compared first, for steps from 10^8.
Status findCheckpoints(const std::string &directory, std::vector<std::string> *names) {
  std::vector<std::string> entries;
  Status status = listNames(directory, &entries);
  for (const std::string &name : entries) {
    bool isThere = false;
    if (Status found = isStepName(name) ? findIndex(directory + "/" + name, &isThere) : Status::ok(); !found.isOk())
      status = std::move(found);
    if (isThere)
      names->push_back(name);
  }
  std::sort(names->begin(), names->end(), [](const std::string &a, const std::string &b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return status;
}

std::vector<std::string> listCheckpoints(const std::string &directory) {
  std::vector<std::string> names;
  (void)findCheckpoints(directory, &names); // those that can be seen
  return names;
}

Status readPointer(const std::string &directory, const std::string &pointer, std::string *result) {
  std::string path = directory + "/" + pointer;
  struct stat info;
  result->clear();
  if (::stat(path.c_str(), &info) != 0)
    return isAbsent(errno) ? Status::ok() : fileError("read", path, errno);
  FileMapping file;
  if (Status opened = FileMapping::open(path, &file); !opened.isOk())
    return opened.code() == Code::IoError ? opened : Status::ok();
  std::string name(reinterpret_cast<const char *>(file.data()), std::min<size_t>(file.size(), 256));
  while (!name.empty() && (name.back() == '\n' || name.back() == ' '))
    name.pop_back();
  if (isStepName(name))
    *result = std::move(name);
  return Status::ok();
}

bool isCheckpointPointer(const std::string &path) {
  std::error_code error;
  std::string name = fs::path(path).filename().string();
  return (name == "latest" || name == "best") && fs::is_regular_file(path, error);
}

std::string checkpointAround(const std::string &path) {
  std::error_code error;
  fs::path target = fs::weakly_canonical(path, error);
  std::string directory = parentDirectory(error ? path : target.string());
  bool isPointer = target.filename() == "latest" || target.filename() == "best";
  return isCheckpoint(directory) || (isPointer && !listCheckpoints(directory).empty()) ? directory : "";
}

// Finds the checkpoint that DIR/latest or DIR/best itself names. If it is missing, no other one replaces it.
static Status followPointer(const std::string &path, std::string *result) {
  std::string directory = parentDirectory(path), name;
  CLEAVE_TRY(readPointer(directory, fs::path(path).filename().string(), &name));
  *result = directory + "/" + name;
  bool isThere = false;
  if (!name.empty())
    CLEAVE_TRY(findIndex(*result, &isThere));
  if (isThere)
    return Status::ok();
  std::vector<std::string> names = listCheckpoints(directory);
  return notFound(path + " names no checkpoint beside it; " +
                  (names.empty() ? "none is there: give the directory that `train --save` was given"
                                 : "give " + directory + "/" + names.back() + ", the newest one there"));
}

// Explains why there is no checkpoint at `path` or in it, and what to give instead.
static Status noCheckpoint(const std::string &path) {
  std::error_code error;
  fs::directory_iterator entries(path, error);
  std::string directory = parentDirectory(path);
  std::vector<std::string> beside = listCheckpoints(directory);
  bool isBest = fs::path(path).filename() == "best";
  std::string why = error == std::errc::not_a_directory ? ": it is not a directory"
                    : error                             ? ": it does not exist"
                            : " (expected " + std::string(kCheckpointIndexFile) + ", latest or step-*/)";
  return notFound("no checkpoint in " + path + why + (isBest && error ? ", and train --save-best writes it" : "") +
                  (beside.empty() ? "; give the directory that `train --save` was given, or one step-*/ of it"
                                  : "; the newest one beside it is " + directory + "/" + beside.back()));
}

// Returns the name of something in `path` that a training has left there: then --resume auto must not begin anew. Empty
// if there is none. A directory that only has the name of a checkpoint may be somebody else's.
static std::string leftOfCheckpoints(const std::string &path) {
  std::vector<std::string> entries, parts;
  (void)listNames(path, &entries);
  for (const std::string &name : entries) {
    parts.clear();
    if (isStepName(name))
      (void)listNames(path + "/" + name, &parts);
    bool hasParts = std::any_of(parts.begin(), parts.end(),
                                [](const std::string &part) { return fs::path(part).extension() == ".safetensors"; });
    if (name == "latest" || hasParts)
      return name;
  }
  return "";
}

Status resolveCheckpoint(const std::string &path, std::string *result, std::string *note) {
  if (path.empty()) // otherwise the names appended to it would be paths from the root
    return notFound("no checkpoint: its path is empty");
  bool isThere = false;
  CLEAVE_TRY(findIndex(path, &isThere));
  if (isThere) {
    *result = path;
    return Status::ok();
  }
  if (isCheckpointPointer(path))
    return followPointer(path, result);
  std::error_code none;
  if (fs::is_regular_file(path, none))
    return notFound(path + " is a file and not a checkpoint; give the directory that `train --save` was given, or one "
                           "step-*/ of it");
  std::string latest;
  CLEAVE_TRY(readPointer(path, "latest", &latest));
  if (!latest.empty())
    CLEAVE_TRY(findIndex(path + "/" + latest, &isThere));
  if (!isThere) {
    // After a crash between the two renames of publish(), the newest complete checkpoint is used.
    std::vector<std::string> names;
    CLEAVE_TRY(findCheckpoints(path, &names));
    if (std::string left = names.empty() ? leftOfCheckpoints(path) : ""; !left.empty())
      return dataLoss(path + " has " + left + ", and no checkpoint that is whole, with a " + kCheckpointIndexFile +
                      "; if training is to begin anew, give another directory, or remove it");
    if (names.empty())
      return noCheckpoint(path);
    if (note && fs::exists(path + "/latest", none))
      *note = path + "/latest names " +
              (latest.empty() ? "no checkpoint" : latest + ", which is not there or is not whole") + "; " +
              names.back() + ", the newest one there, is taken";
    latest = names.back();
  }
  *result = path + "/" + latest;
  return Status::ok();
}

// Removes all but the newest `keep` of `names`, which are in the order of their steps.
static Status removeOldest(const std::string &directory, const std::vector<std::string> &names, unsigned keep) {
  std::string latest, best;
  CLEAVE_TRY(readPointer(directory, "latest", &latest));
  CLEAVE_TRY(readPointer(directory, "best", &best));
  for (size_t i = 0; i + keep < names.size(); ++i) {
    if (names[i] == latest || names[i] == best)
      continue;
    // The directory is renamed first, so that a crash while its files are removed never leaves half a checkpoint with
    // its name.
    std::string path = directory + "/" + names[i], hidden = directory + "/." + names[i] + ".tmp";
    std::error_code error;
    fs::remove_all(hidden, error);
    fs::rename(path, hidden, error);
    if (error)
      warnOfLeft(path, error);
    else
      removeOrWarn(hidden);
  }
  return Status::ok();
}

void RunCheckpoints::adopt(const std::string &directory, uint64_t step, const std::string &run) {
  std::string last = stepName(step);
  for (const std::string &name : listCheckpoints(directory)) {
    CheckpointIndex index;
    bool isEarlier = name.size() < last.size() || (name.size() == last.size() && name <= last);
    if (!isEarlier || !readCheckpointIndex(directory + "/" + name + "/" + kCheckpointIndexFile, &index).isOk())
      continue;
    auto found = index.run.find(kRunFact);
    if ((found == index.run.end() ? "" : found->second) == run) // earlier versions have not written it
      isOnlyBest_.emplace(name, index.isOnlyBest);
  }
}

// In the order of their steps. One that cannot be seen is not removed.
std::vector<std::string> RunCheckpoints::namesIn(const std::string &directory) const {
  std::vector<std::string> names = listCheckpoints(directory);
  names.erase(std::remove_if(names.begin(), names.end(), [&](const auto &name) { return !isOnlyBest_.count(name); }),
              names.end());
  return names;
}

Status RunCheckpoints::prune(const std::string &directory, unsigned keep) {
  return keep == 0 ? Status::ok() : removeOldest(directory, namesIn(directory), keep);
}

Status RunCheckpoints::pruneBests(const std::string &directory, unsigned keep) {
  if (keep == 0)
    return Status::ok();
  std::vector<std::string> bests;
  std::string best;
  CLEAVE_TRY(readPointer(directory, "best", &best));
  for (const std::string &name : namesIn(directory))
    if (isOnlyBest_.at(name) || name == best)
      bests.push_back(name);
  return removeOldest(directory, bests, keep);
}

// Returns "step-00000100" for ".step-00000100.tmp", and an empty text for other names.
static std::string hiddenCheckpoint(const std::string &name, std::string_view suffix) {
  if (name.size() <= suffix.size() || name[0] != '.' || !endsWith(name, suffix))
    return "";
  std::string step = name.substr(1, name.size() - 1 - suffix.size());
  return isStepName(step) ? step : "";
}

// True for names such as "latest.tmp-4242", which an AtomicFile leaves if its process is killed.
static bool isHalfPointer(const std::string &name) {
  for (std::string_view begin : {"latest.tmp-", "best.tmp-", ".probe.tmp-"})
    if (name.size() > begin.size() && name.compare(0, begin.size(), begin) == 0 &&
        name.find_first_not_of("0123456789", begin.size()) == std::string::npos)
      return true;
  return false;
}

static std::string markPath(const std::string &directory, uint64_t number) {
  return directory + "/.probe.tmp-" + std::to_string(number);
}

DirectoryMark::~DirectoryMark() {
  if (!path_.empty())
    ::unlink(path_.c_str());
}

Status DirectoryMark::make(const std::string &directory, uint64_t *number) {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  *number = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  std::string path = markPath(directory, *number);
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return fileError("create", path, errno);
  ::close(fd);
  path_ = std::move(path);
  return Status::ok();
}

Status DirectoryMark::find(const std::string &directory, uint64_t number) {
  for (int tries = 0; tries < 50; ++tries) {
    if (::access(markPath(directory, number).c_str(), F_OK) == 0)
      return Status::ok();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return invalidArgument(directory +
                         " is not the directory that the first process has under that name; every process writes its "
                         "part there, so give one that all machines share, or --checkpoint full");
}

Status recoverCheckpoints(const std::string &directory) {
  std::vector<std::string> names;
  CLEAVE_TRY(listNames(directory, &names));
  for (const std::string &name : names) {
    std::string path = directory + "/" + name, replaced = hiddenCheckpoint(name, ".old");
    bool isWhole = false, hasSuccessor = true;
    if (!replaced.empty()) {
      CLEAVE_TRY(findIndex(path, &isWhole));
      CLEAVE_TRY(findIndex(directory + "/" + replaced, &hasSuccessor));
    }
    if (isWhole && !hasSuccessor) { // the process was killed between two renames
      if (::rename(path.c_str(), (directory + "/" + replaced).c_str()) != 0)
        return fileError("rename", path, errno);
    } else if (!replaced.empty() || !hiddenCheckpoint(name, ".tmp").empty() || isHalfPointer(name)) {
      removeOrWarn(path);
    }
  }
  return Status::ok();
}

CheckpointLock::~CheckpointLock() {
  if (fd_ >= 0)
    ::close(fd_);
}

Status lockOutcome(int error, const std::string &directory, std::string *warning) {
  warning->clear();
  if (error == EWOULDBLOCK)
    return invalidArgument("another process is saving into " + directory + "; give another directory, or end it first");
  if (error != 0)
    *warning = directory + " cannot be locked (" + std::string(std::strerror(error)) +
               "), so nothing keeps another run from saving into it at the same time; give each run a directory of its "
               "own";
  return Status::ok();
}

Status CheckpointLock::take(const std::string &directory, CheckpointLock *result) {
  CheckpointLock lock;
  lock.fd_ = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock.fd_ < 0)
    return fileError("open", directory, errno);
  std::string warning;
  CLEAVE_TRY(lockOutcome(tryLock(lock.fd_), directory, &warning));
  if (!warning.empty())
    log(LogLevel::Warning, -1, warning);
  *result = std::move(lock);
  return Status::ok();
}

Status CheckpointLock::follow(const std::string &directory) {
  struct stat locked, named;
  if (fd_ >= 0 && ::fstat(fd_, &locked) == 0 && ::stat(directory.c_str(), &named) == 0 &&
      locked.st_dev == named.st_dev && locked.st_ino == named.st_ino)
    return Status::ok();
  CheckpointLock lock;
  CLEAVE_TRY(take(directory, &lock));
  *this = std::move(lock);
  return Status::ok();
}

} // namespace cleave::rt
