#include "runtime/state/CheckpointSave.h"

#include "runtime/state/AtomicFile.h"
#include "runtime/state/SafeTensors.h"

#include <cstdio>
#include <filesystem>

namespace cleave::rt {
namespace {

namespace fs = std::filesystem;

Status failed(const std::string &action, const std::string &path, const std::error_code &error) {
  return fileError(action, path, error.value());
}

std::string stepName(uint64_t step) {
  char name[40];
  std::snprintf(name, sizeof name, "step-%08llu", static_cast<unsigned long long>(step));
  return name;
}

} // namespace

CheckpointSave::CheckpointSave(std::string directory, uint64_t step)
    : directory_(std::move(directory)), name_(stepName(step)), aside_(directory_ + "/." + name_ + ".tmp") {}

static Status makeDirectory(const std::string &directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (!error && !fs::is_directory(directory, error))
    error = std::make_error_code(std::errc::not_a_directory);
  return error ? failed("create", directory, error) : Status::ok();
}

Status CheckpointSave::probe(const std::string &directory) {
  CLEAVE_TRY(makeDirectory(directory));
  AtomicFile file; // never committed: its name goes with it
  return AtomicFile::create(directory + "/.probe", &file);
}

Status CheckpointSave::prepare() const {
  CLEAVE_TRY(makeDirectory(directory_));
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

void CheckpointSave::discard() const {
  std::error_code error; // what made the save fail is what the user is told
  fs::remove_all(aside_, error);
}

Status CheckpointSave::publish(const CheckpointIndex &index) const {
  // A part appears whole or not at all (AtomicFile), so that one that is there is complete.
  for (const CheckpointTensor &tensor : index.tensors)
    for (const auto &slice : tensor.slices)
      if (std::error_code error; !fs::exists(aside_ + "/" + slice.file, error))
        return ioError("another process could not write " + slice.file + "; its message says why");
  CLEAVE_TRY(writeCheckpointIndex(aside_ + "/" + kCheckpointIndexFile, index));
  std::string target = directory_ + "/" + name_, replaced = directory_ + "/." + name_ + ".old";
  std::error_code error;
  // A directory cannot be renamed onto a full one: an equal step of an earlier run is moved away first.
  fs::remove_all(replaced, error);
  if (fs::exists(target, error))
    fs::rename(target, replaced, error);
  if (error)
    return failed("replace", target, error);
  fs::rename(aside_, target, error);
  if (error)
    return failed("write", target, error);
  CLEAVE_TRY(syncDirectory(directory_));
  fs::remove_all(replaced, error);
  return Status::ok();
}

Status CheckpointSave::point(const std::string &pointer) const {
  return writeFileAtomically(directory_ + "/" + pointer, name_ + "\n");
}

} // namespace cleave::rt
