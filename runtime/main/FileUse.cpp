#include "runtime/main/FileUse.h"

#include "runtime/base/Assignment.h"
#include "runtime/state/CheckpointSave.h"
#include "runtime/train/data/DataSpec.h"

#include <filesystem>

namespace cleave::rt {
namespace {

struct FileUse {
  std::string option, path;
  bool written;
};

void addData(const char *option, const std::vector<std::string> &texts, std::vector<FileUse> &uses) {
  for (const std::string &text : texts)
    if (DataSpec spec; parseDataSpec(text, &spec).isOk())
      for (const std::string &file : spec.files)
        uses.push_back({option, file, false});
}

void addWritten(const char *option, const std::string &path, std::vector<FileUse> &uses) {
  if (!path.empty())
    uses.push_back({option, path, true});
}

// Adds a file, or a directory with the files of a model.
void addWeights(const std::string &path, std::vector<FileUse> &uses) {
  if (path.empty())
    return;
  uses.push_back({"--weights", path, false});
  std::error_code none;
  for (std::filesystem::directory_iterator at(path, none), end; !none && at != end; at.increment(none))
    uses.push_back({"--weights", at->path().string(), false});
}

// True if both names mean one file, which need not exist yet. Symbolic links are followed.
bool isSameFile(const std::string &a, const std::string &b) {
  std::error_code error;
  auto first = std::filesystem::weakly_canonical(a, error), second = std::filesystem::weakly_canonical(b, error);
  return !error && (first == second || (std::filesystem::equivalent(first, second, error) && !error));
}

std::filesystem::path withoutLastSlashes(std::filesystem::path path) {
  while (!path.has_filename() && path.has_parent_path() && path != path.parent_path())
    path = path.parent_path();
  return path;
}

// True for DIRECTORY/step-N, a name that --save gives to checkpoints. A file of that name would make a save fail, hours
// later.
bool isNameOfCheckpoint(const std::string &path, const std::string &directory) {
  std::filesystem::path whole = withoutLastSlashes(path);
  std::filesystem::path parent = whole.has_parent_path() ? whole.parent_path() : ".";
  return isStepName(whole.filename().string()) && isSameFile(parent.string(), withoutLastSlashes(directory).string());
}

// Returns the checkpoint directory that contains the path, at any depth; "" if none does. For a folder, also one that is
// a checkpoint itself, or has the name of a later one. A training that saves inside of another one's checkpoint would
// lose its files with that checkpoint.
std::string checkpointWith(std::filesystem::path path, bool isFolder) {
  if (std::string owner = checkpointAround(path.string()); !owner.empty())
    return owner;
  std::error_code error;
  path = std::filesystem::absolute(path, error); // else a name in the current folder would have no folder
  std::filesystem::path whole = withoutLastSlashes(std::filesystem::weakly_canonical(path, error));
  if (error)
    return "";
  if (std::string parent = whole.parent_path().string();
      isStepName(whole.filename().string()) && !checkpointAround(parent + "/latest").empty())
    return parent;
  for (auto at = isFolder ? whole : whole.parent_path(); at != at.parent_path(); at = at.parent_path())
    if (std::string owner = checkpointAround((at / "file").string()); !owner.empty())
      return owner;
  return "";
}

Status checkOutsideOfCheckpoints(const FileUse &use, bool isFolder) {
  std::string owner = use.path.empty() || !use.written ? "" : checkpointWith(use.path, isFolder);
  if (owner.empty())
    return Status::ok();
  return invalidArgument(use.option + ": '" + use.path + "' would be a " + (isFolder ? "folder" : "file") +
                         " of the checkpoints in " + owner + "; give a name outside of them");
}

Status checkNamesOfCheckpoints(const Command &command) {
  for (const FileUse &use :
       {FileUse{"--metrics", command.train.metrics, true}, FileUse{"--trace", command.session.trace, true}})
    if (!use.path.empty() && !command.train.save.empty() &&
        isSameFile(withoutLastSlashes(use.path).string(), withoutLastSlashes(command.train.save).string()))
      return invalidArgument(use.option + ": '" + use.path + "' is the folder of --save; give the name of a file");
  for (const FileUse &use :
       {FileUse{"--metrics", command.train.metrics, true}, FileUse{"--trace", command.session.trace, true},
        FileUse{"--tensorboard", command.train.tensorboard, true}})
    if (!command.train.save.empty() && isNameOfCheckpoint(use.path, command.train.save))
      return invalidArgument(use.option + ": '" + use.path + "' is a name that --save gives to checkpoints; give " +
                             "another name");
  return Status::ok();
}

// Where other programs take "-" for standard output, a file of this name would be a surprise. --output says so itself.
Status checkNotStdout(const Command &command) {
  for (const FileUse &use :
       {FileUse{"--metrics", command.train.metrics, true}, FileUse{"--trace", command.session.trace, true},
        FileUse{"--save", command.train.save, true}, FileUse{"--tensorboard", command.train.tensorboard, true}})
    if (use.path == "-")
      return invalidArgument(use.option + ": '-': this is not written to standard output; give the name of a file or " +
                             "folder (./- if it is to be called so)");
  return Status::ok();
}

} // namespace

Status checkFileUse(const Command &command, const std::vector<std::string> &programFiles) {
  CLEAVE_TRY(checkNamesOfCheckpoints(command));
  CLEAVE_TRY(checkNotStdout(command));
  std::vector<FileUse> uses; // files that are read come first
  for (const std::string &file : programFiles)
    uses.push_back({"the program itself", file, false});
  addData("--input", command.inputs, uses);
  addData("--data", command.train.data, uses);
  addData("--val-data", command.train.valData, uses);
  if (const std::string &ids = command.generate.promptIds; ids.rfind('@', 0) == 0)
    uses.push_back({"--prompt-ids", ids.substr(1), false});
  if (!command.generate.tokenizer.empty())
    uses.push_back({"--tokenizer", command.generate.tokenizer, false});
  addWeights(command.session.weights, uses);
  std::string name, path;
  for (const std::string &text : command.outputs)
    if (splitAssignment(text, &name, &path))
      addWritten("--output", path, uses);
  addWritten("--metrics", command.train.metrics, uses);
  addWritten("--trace", command.session.trace, uses);
  for (const FileUse &use : uses)
    CLEAVE_TRY(checkOutsideOfCheckpoints(use, /*isFolder=*/false));
  CLEAVE_TRY(checkOutsideOfCheckpoints({"--save", command.train.save, true}, /*isFolder=*/true));
  CLEAVE_TRY(checkOutsideOfCheckpoints({"--tensorboard", command.train.tensorboard, true}, /*isFolder=*/true));
  if (!command.train.save.empty()) // the files that the first save makes
    for (const char *pointer : {"/latest", "/best"})
      uses.insert(uses.begin(), {"--save", command.train.save + pointer, true});
  for (size_t i = 0; i < uses.size(); ++i)
    for (size_t j = 0; uses[i].written && j < i; ++j)
      if (isSameFile(uses[i].path, uses[j].path))
        return invalidArgument(uses[i].option + ": '" + uses[i].path + "' is the file that " + uses[j].option +
                               (uses[j].written ? " writes" : " reads") + "; give another name");
  return Status::ok();
}

} // namespace cleave::rt
