#include "runtime/state/CheckpointSave.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/Directories.h"
#include "runtime/base/Log.h"
#include "runtime/state/SafeTensors.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace cleave::rt {
namespace {

namespace fs = std::filesystem;

Status failed(const std::string &action, const std::string &path, const std::error_code &error) {
  return fileError(action, path, error.value());
}

// "DIR/.step-00000100.old" for "DIR/step-00000100"
std::string hiddenName(const std::string &path, const char *suffix) {
  fs::path whole(path);
  return (whole.parent_path() / ("." + whole.filename().string() + suffix)).string();
}

// Gives a directory its name. If an earlier run has left one with this name, the two are exchanged in one step. So
// there is a checkpoint with this name at every moment. Afterwards `aside` is the directory that was replaced.
Status moveInto(const std::string &aside, const std::string &target) {
  if (::rename(aside.c_str(), target.c_str()) == 0)
    return Status::ok();
  if ((errno == ENOTEMPTY || errno == EEXIST) &&
      ::renameat2(AT_FDCWD, aside.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0)
    return Status::ok();
  if (errno != EINVAL && errno != ENOSYS)
    return fileError("write", target, errno);
  // The file system cannot exchange directories. recoverCheckpoints() repairs a crash between these two renames.
  std::string replaced = hiddenName(target, ".old");
  std::error_code error;
  fs::remove_all(replaced, error);
  if (::rename(target.c_str(), replaced.c_str()) != 0 || ::rename(aside.c_str(), target.c_str()) != 0 ||
      ::rename(replaced.c_str(), aside.c_str()) != 0)
    return fileError("replace", target, errno);
  return Status::ok();
}

// Removes the checkpoint that was replaced. A directory that was no checkpoint, although it had the name of one, is
// somebody else's, and gets another name.
Status removeReplaced(const std::string &aside, const std::string &target) {
  std::error_code error;
  if (!fs::exists(aside, error) || fs::exists(aside + "/" + kCheckpointIndexFile, error)) {
    fs::remove_all(aside, error);
    return error ? failed("remove", aside, error) : Status::ok();
  }
  std::string kept = target + ".other";
  for (unsigned i = 2; fs::exists(fs::symlink_status(kept, error)); ++i)
    kept = target + ".other-" + std::to_string(i);
  if (::rename(aside.c_str(), kept.c_str()) != 0)
    return fileError("rename", aside, errno);
  log(LogLevel::Warning, -1,
      target + " was no checkpoint (it had no " + kCheckpointIndexFile + "), and is " + kept + " now");
  return Status::ok();
}

} // namespace

CheckpointSave::CheckpointSave(std::string directory, uint64_t step)
    : directory_(std::move(directory)), name_(stepName(step)), aside_(directory_ + "/." + name_ + ".tmp") {}

Status NewDirectories::make(const std::string &directory, NewDirectories *result) {
  NewDirectories made;
  std::error_code error;
  for (fs::path path = fs::path(directory); !path.empty() && !fs::exists(path, error); path = path.parent_path()) {
    if (path.has_filename()) // not the empty part after a last slash
      made.made_.insert(made.made_.begin(), path.string());
  }
  CLEAVE_TRY(makeDirectories(directory));
  *result = std::move(made);
  return Status::ok();
}

NewDirectories::~NewDirectories() {
  for (size_t i = made_.size(); i-- > 0;)
    if (::rmdir(made_[i].c_str()) != 0) // it is not empty
      return;
}

Status CheckpointSave::probe(const std::string &directory) {
  if (::access(directory.c_str(), W_OK | X_OK) != 0) // AtomicFile's error would name a temporary file
    return withDirectoryAdvice(fileError("write in", directory, errno));
  for (const char *name : {".probe", "latest", "best"}) {
    AtomicFile file; // never committed: its destructor removes it
    CLEAVE_TRY(AtomicFile::create(directory + "/" + name, &file));
  }
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    if (std::error_code none;
        isStepName(it->path().filename().string()) && fs::is_regular_file(it->symlink_status(none)))
      return invalidArgument(
          it->path().string() +
          " is a file, and has the name of a checkpoint, which is a directory; move it away, or give "
          "--save another directory");
  return Status::ok();
}

Status CheckpointSave::prepare(CheckpointLock *lock) const {
  CLEAVE_TRY(makeDirectories(directory_));
  if (lock)
    CLEAVE_TRY(lock->follow(directory_));
  std::error_code error;
  fs::remove_all(aside_, error);
  if (error)
    return failed("remove", aside_, error);
  fs::create_directory(aside_, error);
  return error ? failed("create", aside_, error) : Status::ok();
}

Status CheckpointSave::writeShard(const fb::Plan &plan, unsigned rank, const RankStates &states) const {
  std::vector<TensorView> tensors;
  for (const OwnedSlice &slice : ownedSlices(plan, states.coordinates)) {
    const StateView &view = states.states[slice.state];
    TensorView tensor;
    tensor.name = slice.key;
    tensor.type = elementType(view.state->dtype());
    bool whole = slice.overlap.count == slice.segment.count;
    tensor.shape = whole ? slice.segment.shape : Shape{static_cast<int64_t>(slice.overlap.count)};
    size_t width = elementSize(tensor.type);
    tensor.data = view.data + slice.overlap.stored * width;
    tensor.bytes = slice.overlap.count * width;
    tensors.push_back(std::move(tensor));
  }
  return tensors.empty() ? Status::ok() : writeSafeTensors(aside_ + "/" + shardName(rank), tensors);
}

Status CheckpointSave::writeFull(const CheckpointIndex &sharded, const VisitSlice &visit) const {
  std::vector<TensorView> tensors;
  std::vector<std::string> keys = fullKeys(sharded);
  for (size_t i = 0; i < keys.size(); ++i) {
    const CheckpointTensor &tensor = sharded.tensors[i];
    uint64_t elements = 0;
    countElements(tensor.shape, &elements);
    tensors.push_back({keys[i], tensor.type, tensor.shape, nullptr, elements * elementSize(tensor.type), nullptr});
  }
  SafeTensorsFile file;
  CLEAVE_TRY(file.create(aside_ + "/" + kFullCheckpointFile, tensors));
  Append append = [&file](const std::byte *data, size_t bytes) { return file.append(data, bytes); };
  for (const CheckpointTensor &tensor : sharded.tensors)
    for (const CheckpointSlice &slice : tensor.slices)
      CLEAVE_TRY(visit(tensor, slice, append));
  return file.commit();
}

void CheckpointSave::discard() const {
  std::error_code error; // the user gets the error that made the save fail
  fs::remove_all(aside_, error);
}

Status CheckpointSave::publish(const CheckpointIndex &index) const {
  // A part appears as a whole or not at all (AtomicFile), so a part that exists is complete.
  for (const CheckpointTensor &tensor : index.tensors)
    for (const auto &slice : tensor.slices)
      if (std::error_code error; !fs::exists(aside_ + "/" + slice.file, error))
        return ioError("another process could not write " + slice.file + "; its message says why");
  CheckpointIndex listed = index;
  CLEAVE_TRY(listParts(aside_, &listed));
  CLEAVE_TRY(writeCheckpointIndex(aside_ + "/" + kCheckpointIndexFile, listed));
  std::string target = directory_ + "/" + name_;
  CLEAVE_TRY(moveInto(aside_, target));
  CLEAVE_TRY(syncDirectory(directory_));
  return removeReplaced(aside_, target);
}

Status CheckpointSave::point(const std::string &pointer) const {
  return writeFileAtomically(directory_ + "/" + pointer, name_ + "\n");
}

Status CheckpointSave::unpoint(const std::string &pointer, bool *did) const {
  std::string name;
  CLEAVE_TRY(readPointer(directory_, pointer, &name));
  *did = name == name_;
  if (!*did)
    return Status::ok();
  std::error_code error;
  fs::remove(directory_ + "/" + pointer, error);
  return error ? failed("remove", directory_ + "/" + pointer, error) : syncDirectory(directory_);
}

} // namespace cleave::rt
