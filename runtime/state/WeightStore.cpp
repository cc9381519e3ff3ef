#include "runtime/state/WeightStore.h"

#include "runtime/base/Crc32c.h"
#include "runtime/base/FileMapping.h"
#include "runtime/base/ForeignFile.h"
#include "runtime/base/Hash.h"
#include "runtime/base/OptionText.h"
#include "runtime/plan/DrawnWeights.h"
#include "runtime/plan/RankKinds.h"
#include "runtime/state/CheckpointSave.h"
#include "runtime/state/ElementValue.h"
#include "runtime/state/FloatConversion.h"
#include "runtime/state/OneTensor.h"
#include "runtime/state/Problems.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

namespace cleave::rt {
namespace {

namespace fs = std::filesystem;

bool isConstant(const fb::State &state) { return state.role() == fb::Role::constant; }

// True if --weights replaces the state, whatever its initial value is without it. A buffer with a slot is a copy for
// the time of a step.
bool isReplaceable(const fb::State &state) {
  bool isBuffer = state.role() == fb::Role::buffer && textOf(state.slot()).empty();
  return state.role() == fb::Role::parameter || isBuffer || isConstant(state);
}

// Visits each segment that may get its initial value from a file, of all kinds of ranks.
template <typename Visit> void forEachWeight(const fb::Plan &plan, Visit visit) {
  for (const KindState &each : statesOf(plan))
    for (const LogicalSegment &segment : logicalSegments(*each.state))
      if (segment.segment && (segment.segment->init() == fb::InitKind::weights || isReplaceable(*each.state)))
        visit(*each.state, segment);
}

// For JSON files of checkpoints, and those that come with weights from Hugging Face: says what to give instead.
std::string jsonAdvice(const std::string &path, std::string_view text) {
  fs::path folder = fs::path(path).parent_path();
  std::string here = folder.empty() ? "." : folder.string();
  auto has = [&](std::string_view key) { return text.substr(0, 1 << 20).find(key) != std::string_view::npos; };
  if (fs::path(path).filename() == kCheckpointIndexFile && has("\"state_layout\""))
    return "this is the index of a checkpoint; give the folder that has it: --weights " + here;
  if (has("\"weight_map\""))
    return "this is the index of weights in several safetensors files; give the folder that has them: --weights " +
           here;
  std::error_code error;
  if (fs::exists(folder / "model.safetensors", error))
    return "this is a JSON file, and has no weights; they are in " + (folder / "model.safetensors").string();
  return "this is a JSON file, such as Hugging Face's config.json, and has no weights; expected model.safetensors, or "
         "the folder of several .safetensors files";
}

// Says what to do with a file of another format than safetensors. Empty if the file may be a safetensors file.
std::string foreignAdvice(const std::string &path, std::string_view bytes) {
  FileFormat format = formatOf(bytes);
  if (format == FileFormat::Unknown || format == FileFormat::Safetensors)
    return "";
  if (format == FileFormat::Json)
    return jsonAdvice(path, bytes);
  std::string text = std::string("this is ") + describeFormat(format) +
                     "; expected a .safetensors file, a directory of "
                     "them, or a checkpoint";
  if (format == FileFormat::TorchSave)
    text += ": in Python, `safetensors.torch.save_file(module.state_dict(), \"weights.safetensors\")` writes one "
            "(save_model(module, ...) where weights are tied)";
  return text;
}

// Opens a file of weights. If the file has another known format, the error names the format.
Status openWeights(const std::string &path, SafeTensors *result) {
  FileMapping file;
  Status opened = FileMapping::open(path, &file);
  if (opened.code() == Code::NotFound)
    return notFound(opened.message() + "; expected a .safetensors file, a directory of them, or a checkpoint, which is "
                                       "the directory that `train --save` was given");
  if (opened.isOk()) {
    std::string advice = foreignAdvice(path, {reinterpret_cast<const char *>(file.data()), file.size()});
    if (!advice.empty())
      return invalidArgument(path + ": " + advice);
  }
  return SafeTensors::open(path, result);
}

// Returns the file that is missing of a set such as "model-00001-of-00003.safetensors"; empty if none is. Only the set
// of the first such name in `files` is checked.
std::string missingPart(const std::vector<std::string> &files) {
  constexpr size_t kDigits = 5;
  std::set<std::string> known(files.begin(), files.end());
  for (const std::string &file : files) {
    std::string stem = fs::path(file).stem().string();
    size_t of = stem.rfind("-of-");
    uint64_t count = 0;
    if (of == std::string::npos || of < kDigits || stem.size() != of + 4 + kDigits ||
        !parseUnsigned(stem.substr(of + 4), &count))
      continue;
    for (uint64_t i = 1; i <= count; ++i) {
      std::string number = std::to_string(i), name = stem;
      name.replace(of - kDigits, kDigits, std::string(kDigits - number.size(), '0') + number);
      if (!known.count((fs::path(file).parent_path() / (name + ".safetensors")).string()))
        return name + ".safetensors";
    }
    break;
  }
  return "";
}

// The names by which --weights may have the segment.
std::vector<std::string> namesInFile(const LogicalSegment &segment) {
  std::vector<std::string> names = segment.names();
  if (std::string source = sourceOf(*segment.segment); source != segment.name)
    names.insert(names.begin() + 1, source);
  return names;
}

} // namespace

Status openWeightsBeside(const std::string &path, const char *checksum, SafeTensors *result) {
  SafeTensors file;
  CLEAVE_TRY(SafeTensors::open(path, &file));
  std::string expected = checksum ? checksum : "";
  std::string found = file.headerChecksum() ? checksumText(*file.headerChecksum()) : "none";
  if (found != expected)
    return dataLoss(
        path + ": this file was not written with the model, by the same compilation: expected the checksum " +
        expected + ", found " + found +
        "; put back the file that `cleave compile` wrote, or compile again. Weights of your own are given by "
        "--weights");
  *result = std::move(file);
  return Status::ok();
}

Status WeightStore::open(const cleave_model &model, const std::string &directory, const std::string &replacement,
                         WeightStore *result, const char *option) {
  WeightStore store;
  store.option_ = option;
  if (model.weights) {
    store.origin_ = "the weights inside the executable";
    CLEAVE_TRY(SafeTensors::parse(model.weights, model.weights_size, store.origin_, &store.compiled_));
  } else if (model.weights_file) {
    store.origin_ = directory + "/" + model.weights_file;
    Status opened = openWeightsBeside(store.origin_, model.weights_checksum, &store.compiled_);
    opened = std::move(opened).in("the weights beside model '" + std::string(model.name) + "'");
    if (opened.code() == Code::NotFound)
      opened =
          notFound(opened.message() + "; the program needs this file where it is: copy the folder, too (it lies beside "
                                      "the program that `cleave compile` wrote), or give --weights FILE");
    if (!opened.isOk() && replacement.empty())
      return opened;
    // A replacement may be used instead of the whole file.
    store.compiledProblem_ = opened.message();
  }
  if (!replacement.empty())
    CLEAVE_TRY(store.replace(replacement).in(option));
  *result = std::move(store);
  return Status::ok();
}

Status WeightStore::replace(const std::string &path) {
  replacementOrigin_ = path;
  if (fs::path(path).extension() == ".onnx")
    return invalidArgument(path + ": an ONNX file's weights are compiled in: run `cleave compile` on it; accepted are "
                                  "a .safetensors file, a directory of them, and a checkpoint");
  std::error_code error;
  std::string name = fs::path(path).filename().string();
  bool isMissingCheckpoint = (name == "best" || name == "latest" || isStepName(name)) && !fs::exists(path, error);
  if (!fs::is_directory(path, error) && !isCheckpointPointer(path) && !isMissingCheckpoint) {
    replacements_.emplace_back();
    return openWeights(path, &replacements_.back());
  }
  Status resolved = resolveCheckpoint(path, &checkpointPath_, &standIn_);
  if (resolved.isOk())
    return loadCheckpointTensors(checkpointPath_, &checkpoint_);
  if (isCheckpointPointer(path) || resolved.code() != Code::NotFound || isMissingCheckpoint)
    return resolved;
  std::vector<std::string> files;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
    // ._NAME is what macOS keeps of NAME in a folder that it copies.
    if (it->path().extension() == ".safetensors" && it->path().filename().string().front() != '.')
      files.push_back(it->path().string());
  if (files.empty())
    return notFound(path +
                    " holds neither a checkpoint nor a .safetensors file (files of torch.save are not read: write "
                    "one with safetensors.torch.save_file(module.state_dict(), ...))");
  std::sort(files.begin(), files.end());
  if (std::string missing = missingPart(files); !missing.empty())
    return notFound(path + ": the file " + missing +
                    " is missing; the names of the others say that it belongs to them");
  for (const std::string &file : files) {
    SafeTensors opened;
    CLEAVE_TRY(SafeTensors::open(file, &opened));
    for (const SafeTensors &other : replacements_)
      for (const TensorView &tensor : opened.tensors())
        if (other.find(tensor.name))
          return invalidArgument(other.origin() + " and " + file + " both hold tensor '" + tensor.name +
                                 "'; name one of the files, or move one out of the directory");
    replacements_.push_back(std::move(opened));
  }
  return Status::ok();
}

std::vector<const TensorView *> WeightStore::findReplacements(const LogicalSegment &segment) const {
  std::vector<const TensorView *> result;
  for (const std::string &name : namesInFile(segment)) {
    for (const SafeTensors &file : replacements_)
      if (const TensorView *tensor = file.find(name))
        result.push_back(tensor);
    if (auto found = checkpoint_.byName.find(name); found != checkpoint_.byName.end())
      result.push_back(&found->second);
  }
  auto value = [&](const TensorView *tensor) {
    return std::pair(tensor->shape == segment.shape, isFloating(tensor->type) ? elementSize(tensor->type) : 0);
  };
  std::stable_sort(result.begin(), result.end(),
                   [&](const TensorView *a, const TensorView *b) { return value(a) > value(b); });
  return result;
}

std::string WeightStore::unreadReplacement(const LogicalSegment &segment) const {
  for (const std::string &name : namesInFile(segment))
    for (const SafeTensors &file : replacements_)
      if (auto found = file.unread().find(name); found != file.unread().end())
        return found->second;
  return "";
}

std::string WeightStore::tieAdvice(const TensorView &tensor, const LogicalSegment &segment) const {
  if (!areTransposed(tensor.shape, segment.shape))
    return "";
  if (tensor.name != segment.name)
    return " as '" + tensor.name + "', which is tied to its transpose by --tie and does not stand for it; add '" +
           segment.name + "' to the file";
  auto found = checkpoint_.byName.find(segment.name);
  if (found == checkpoint_.byName.end() || &found->second != &tensor)
    return "";
  return "; the program that saved it ties it to its transpose by --tie: give the file that `cleave export` writes "
         "from "
         "the checkpoint";
}

const TensorView *WeightStore::find(const fb::State &state, const LogicalSegment &segment) const {
  if (!segment.segment)
    return nullptr;
  bool isWeight = segment.segment->init() == fb::InitKind::weights;
  if (!replacementOrigin_.empty() && (isWeight || isReplaceable(state))) {
    std::vector<const TensorView *> found = findReplacements(segment);
    if (!found.empty() || !isConstant(state))
      return found.empty() ? nullptr : found.front();
  }
  return isWeight && !drawOf(*segment.segment) ? compiled_.find(sourceOf(*segment.segment)) : nullptr;
}

void WeightStore::dropPages() const {
  compiled_.dropPages();
  for (const SafeTensors &file : replacements_)
    file.dropPages();
  if (checkpoint_.checkpoint)
    checkpoint_.checkpoint->dropPages();
}

uint64_t WeightStore::identity(const fb::Plan &plan) const {
  uint64_t hash = kFnvOffset;
  auto add = [&](const void *data, size_t bytes) { hash = fnv1a({static_cast<const char *>(data), bytes}, hash); };
  forEachWeight(plan, [&](const fb::State &state, const LogicalSegment &segment) {
    const TensorView *tensor = find(state, segment);
    if (!tensor)
      return;
    add(&tensor->type, sizeof tensor->type);
    add(tensor->shape.data(), tensor->shape.size() * sizeof tensor->shape[0]);
    if (tensor->checksums)
      add(tensor->checksums->sums.data(), tensor->checksums->sums.size() * sizeof tensor->checksums->sums[0]);
    else {
      uint32_t sum = crc32c(tensor->data, tensor->bytes);
      add(&sum, sizeof sum);
    }
  });
  dropPages();
  return hash;
}

std::string WeightStore::findNonFinite(const fb::Plan &plan) const {
  std::string undefined, infinite;
  forEachWeight(plan, [&](const fb::State &state, const LogicalSegment &segment) {
    const TensorView *tensor = find(state, segment);
    if (!tensor || !isFloating(tensor->type) || isConstant(state) || !undefined.empty())
      return;
    size_t width = elementSize(tensor->type);
    bool isInfinite = false;
    for (size_t at = 0; at < tensor->bytes && undefined.empty(); at += width) {
      double value = loadElement(tensor->type, tensor->data + at);
      isInfinite |= std::isinf(value);
      if (std::isnan(value))
        undefined = "weight '" + segment.name + "' holds a value that is not a number";
      if (at % kDropBytes == 0)
        dropPages();
    }
    if (isInfinite && infinite.empty() && state.role() == fb::Role::parameter)
      infinite = "weight '" + segment.name + "' holds a value that is infinite";
  });
  return undefined.empty() ? infinite : undefined;
}

Status WeightStore::check(const fb::Plan &plan, std::string *leftOut) const {
  Problems problems(/*isStateDict=*/true);
  std::set<const TensorView *> used;
  Status names;
  forEachWeight(plan, [&](const fb::State &state, const LogicalSegment &segment) {
    ElementType type = elementType(state.dtype());
    const TensorView *tensor = find(state, segment);
    if (std::string unread = unreadReplacement(segment); !unread.empty() && findReplacements(segment).empty())
      return problems.mismatch("'" + segment.name + "'", toString(type, segment.shape),
                               unread + ", which is not read; save it as F32, BF16 or F16");
    bool hasOwn = segment.segment->init() != fb::InitKind::weights || drawOf(*segment.segment);
    if (!tensor && hasOwn && (replacementOrigin_.empty() || isConstant(state)))
      return;
    if (!tensor)
      return problems.missing("'" + segment.name + "'");
    used.insert(tensor);
    if (!replacementOrigin_.empty())
      for (const TensorView *other : findReplacements(segment))
        if (used.insert(other).second && names.isOk()) {
          names = checkOneTensor(*tensor, *other);
          dropPages();
        }
    if (!isConvertible(tensor->type, type) || tensor->shape != segment.shape)
      return problems.mismatch("'" + segment.name + "'", toString(type, segment.shape),
                               toString(tensor->type, tensor->shape) + tieAdvice(*tensor, segment));
    problems.fits("'" + segment.name + "'");
  });
  bool replaced = false;
  auto note = [&](const TensorView &tensor) {
    used.count(&tensor) ? void(replaced = true) : problems.superfluous("'" + tensor.name + "'");
  };
  for (const SafeTensors &file : replacements_)
    for (const TensorView &tensor : file.tensors())
      note(tensor);
  for (const SafeTensors &file : replacements_)
    for (const auto &[name, type] : file.unread())
      problems.superfluous("'" + name + "'");
  for (const auto &[name, tensor] : checkpoint_.byName)
    note(tensor);
  std::string origin = replacementOrigin_.empty() ? origin_ : replacementOrigin_;
  // A file of which nothing fits is a mistake. A file with a few more tensors than the model is accepted.
  bool nothingFits = !replacementOrigin_.empty() && !replaced;
  Status status = problems.status(origin + " does not fit this model", nothingFits);
  std::string checkpoint = replacements_.size() == 1 ? checkpointAround(replacementOrigin_) : "";
  if (!status.isOk() && !checkpoint.empty())
    status = invalidArgument(origin + ": this is one rank's part of a checkpoint; give the folder: " + checkpoint);
  if (leftOut && status.isOk() && checkpoint.empty()) // a part of a checkpoint has scalars and the optimizer's states
    *leftOut = problems.leftOut().empty() ? "" : option_ + ": " + origin + ": " + problems.leftOut();
  if (status.isOk())
    status = std::move(names).in(origin);
  if (!replacementOrigin_.empty())
    status = std::move(status).in(option_);
  if (status.isOk() || compiledProblem_.empty())
    return status;
  return invalidArgument(status.message() + ". " + compiledProblem_);
}

} // namespace cleave::rt
