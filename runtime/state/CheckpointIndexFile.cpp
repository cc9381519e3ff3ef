// Reads and writes a checkpoint's index as JSON.
#include "runtime/base/AtomicFile.h"
#include "runtime/base/Crc32c.h"
#include "runtime/base/FileMapping.h"
#include "runtime/base/Hash.h"
#include "runtime/base/JsonKeys.h"
#include "runtime/state/CheckpointIndex.h"
#include "runtime/state/SafeTensors.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace cleave::rt {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kFormat = kCheckpointFormat, kFormatWithoutChecksums = kOldestCheckpointFormat;

// The last line is this text, eight digits, and kTextEnd.
constexpr std::string_view kTextSum = ",\n \"crc32c\": \"", kTextEnd = "\"\n}\n";

ordered_json toJson(const CheckpointTensor &tensor) {
  ordered_json slices = ordered_json::array();
  for (const CheckpointSlice &slice : tensor.slices)
    slices.push_back({{"file", slice.file}, {"key", slice.key}, {"first", slice.first}, {"count", slice.count}});
  ordered_json result = {{"name", tensor.name},   {"slot", tensor.slot},
                         {"role", tensor.role},   {"dtype", safetensorsName(tensor.type)},
                         {"shape", tensor.shape}, {"slices", std::move(slices)}};
  if (!tensor.aliases.empty())
    result["aliases"] = tensor.aliases;
  return result;
}

ordered_json toJson(const TrainingPosition &position) {
  ordered_json result = {{"step", position.step},
                         {"epoch", position.epoch},
                         {"sample", position.sample},
                         {"seed", position.seed},
                         {"stale", position.stale}};
  if (position.hasBest && std::isfinite(position.bestLoss))
    result["best_loss"] = position.bestLoss;
  if (position.shuffle)
    result["shuffle"] = *position.shuffle;
  return result;
}

void fromJson(const json &value, TrainingPosition *position) {
  position->step = value.at("step").get<uint64_t>();
  position->epoch = value.at("epoch").get<uint64_t>();
  position->sample = value.at("sample").get<uint64_t>();
  position->seed = value.at("seed").get<uint64_t>();
  position->stale = value.at("stale").get<uint64_t>();
  position->hasBest = value.contains("best_loss");
  if (position->hasBest)
    position->bestLoss = value.at("best_loss").get<double>();
  if (value.contains("shuffle"))
    position->shuffle = value.at("shuffle").get<bool>();
}

// Refuses positions that no run can have reached. The number of samples is checked when --data is opened.
Status checkPosition(const TrainingPosition &position) {
  auto refuse = [&](const std::string &what) {
    return dataLoss("step " + std::to_string(position.step) + " with " + what +
                    " is no position that training can be at; the file is damaged or was edited");
  };
  if (position.step > static_cast<uint64_t>(INT64_MAX) - 1)
    return refuse("no step after it");
  if (position.epoch > position.step)
    return refuse("epoch " + std::to_string(position.epoch));
  if (position.stale > position.step)
    return refuse(std::to_string(position.stale) + " evaluations without a better loss");
  if (position.step == 0 && position.sample != 0)
    return refuse(std::to_string(position.sample) + " samples used");
  return Status::ok();
}

// File names come from the index, which may be hostile. So shards must be in the same directory.
bool isPlainName(const std::string &name) {
  return !name.empty() && name.find('/') == std::string::npos && name[0] != '.';
}

Status checkSlices(const CheckpointTensor &tensor) {
  uint64_t elements = 0, covered = 0;
  if (!countElements(tensor.shape, &elements))
    return dataLoss("tensor '" + tensor.name + "' has the bad shape " + toString(tensor.shape));
  for (const CheckpointSlice &slice : tensor.slices) {
    if (!isPlainName(slice.file))
      return dataLoss("tensor '" + tensor.name + "': '" + slice.file + "' is not the name of a file beside the index");
    if (slice.first != covered || slice.count == 0 || slice.count > elements - covered)
      return dataLoss("the slices of tensor '" + tensor.name + "' overlap or leave a gap at element " +
                      std::to_string(covered));
    covered += slice.count;
  }
  if (covered != elements)
    return dataLoss("the slices of tensor '" + tensor.name + "' end at element " + std::to_string(covered) + " of " +
                    std::to_string(elements));
  return Status::ok();
}

Status fromJson(const json &value, CheckpointTensor *tensor) {
  tensor->name = value.at("name").get<std::string>();
  tensor->slot = value.at("slot").get<std::string>();
  tensor->role = value.at("role").get<std::string>();
  tensor->shape = value.at("shape").get<Shape>();
  tensor->aliases = value.value("aliases", std::vector<std::string>{});
  std::string type = value.at("dtype").get<std::string>();
  if (!parseSafetensorsName(type, &tensor->type))
    return dataLoss("tensor '" + tensor->name + "' has the unknown dtype " + type);
  for (const json &slice : value.at("slices"))
    tensor->slices.push_back({slice.at("file").get<std::string>(), slice.at("key").get<std::string>(),
                              slice.at("first").get<uint64_t>(), slice.at("count").get<uint64_t>(), 0});
  return checkSlices(*tensor);
}

Status checkText(std::string_view text) {
  size_t tail = kTextSum.size() + 8 + kTextEnd.size();
  uint32_t sum = 0;
  bool hasSum = text.size() > tail && text.substr(text.size() - kTextEnd.size()) == kTextEnd &&
                text.substr(text.size() - tail, kTextSum.size()) == kTextSum &&
                parseChecksum(text.substr(text.size() - kTextEnd.size() - 8, 8), &sum);
  if (hasSum && crc32c(text.data(), text.size() - tail) == sum)
    return Status::ok();
  return dataLoss(std::string("the text ") + (hasSum ? "does not match its checksum" : "does not end in its checksum") +
                  "; the file is damaged or was edited: take another copy of the checkpoint");
}

Status fromJson(const json &value, std::map<std::string, uint32_t> *parts) {
  for (const auto &[file, sum] : value.items())
    if (!parseChecksum(sum.get<std::string>(), &(*parts)[file]))
      return dataLoss("the checksum of " + file + " is not one");
  return Status::ok();
}

Status fromJson(const json &value, std::string_view text, CheckpointIndex *index) {
  for (const char *key : {"format", "model", "state_layout", "position", "tensors"})
    if (!value.is_object() || !value.contains(key))
      return dataLoss(std::string("not a checkpoint's index: it has no '") + key + "'");
  int format = value.at("format").get<int>();
  if (format != kFormat && format != kFormatWithoutChecksums)
    return invalidArgument("format " + std::to_string(format) + ", this program reads " +
                           std::to_string(kFormatWithoutChecksums) + " and " + std::to_string(kFormat) +
                           "; read it with the version of Cleave that wrote it, or a newer one");
  index->hasChecksums = format == kFormat || value.contains("crc32c") || value.contains("parts");
  if (index->hasChecksums) {
    CLEAVE_TRY(checkText(text));
    CLEAVE_TRY(fromJson(value.at("parts"), &index->parts));
  }
  index->model = value.at("model").get<std::string>();
  index->stateLayout = value.at("state_layout").get<uint64_t>();
  fromJson(value.at("position"), &index->position);
  CLEAVE_TRY(checkPosition(index->position));
  index->run = value.value("run", RunFacts{});
  index->isOnlyBest = value.value("only_best", false);
  std::set<std::tuple<std::string, std::string, bool>> seen;
  for (const json &entry : value.at("tensors")) {
    CheckpointTensor tensor;
    CLEAVE_TRY(fromJson(entry, &tensor));
    if (!seen.emplace(tensor.identity()).second)
      return dataLoss("tensor '" + tensor.name + "' is there twice");
    index->tensors.push_back(std::move(tensor));
  }
  return Status::ok();
}

} // namespace

Status listParts(const std::string &directory, CheckpointIndex *index) {
  index->parts.clear();
  for (const CheckpointTensor &tensor : index->tensors)
    for (const CheckpointSlice &slice : tensor.slices) {
      if (index->parts.count(slice.file))
        continue;
      SafeTensors part;
      CLEAVE_TRY(SafeTensors::open(directory + "/" + slice.file, &part));
      if (!part.headerChecksum())
        return internal(part.origin() + " carries no checksums");
      index->parts[slice.file] = *part.headerChecksum();
    }
  return Status::ok();
}

Status checkpointIndexText(const CheckpointIndex &index, std::string *result) {
  ordered_json tensors = ordered_json::array();
  for (const CheckpointTensor &tensor : index.tensors)
    tensors.push_back(toJson(tensor));
  ordered_json document = {{"format", kFormat},
                           {"model", index.model},
                           {"state_layout", index.stateLayout},
                           {"position", toJson(index.position)},
                           {"run", index.run},
                           {"parts", ordered_json::object()},
                           {"tensors", std::move(tensors)}};
  if (index.isOnlyBest)
    document["only_best"] = true;
  for (const auto &[file, sum] : index.parts)
    document["parts"][file] = checksumText(sum);
  std::string text;
  try {
    text = document.dump(1);
  } catch (const json::exception &) {
    return invalidArgument("a tensor's name is not valid UTF-8");
  }
  text.resize(text.size() - 2); // removes the last "\n}", which comes after the checksum
  std::string sum = checksumText(crc32c(text.data(), text.size()));
  *result = text.append(kTextSum).append(sum).append(kTextEnd);
  return Status::ok();
}

Status writeCheckpointIndex(const std::string &path, const CheckpointIndex &index) {
  std::string text;
  CLEAVE_TRY(checkpointIndexText(index, &text).in(path));
  return writeFileAtomically(path, text);
}

Status readCheckpointIndex(const std::string &path, CheckpointIndex *result) {
  FileMapping file;
  CLEAVE_TRY(FileMapping::open(path, &file));
  const char *text = reinterpret_cast<const char *>(file.data());
  CheckpointIndex index;
  try {
    RepeatedKeys keys;
    json document = json::parse(text, text + file.size(), std::ref(keys));
    if (!keys.twice().empty())
      return dataLoss(path + " is not a checkpoint's index: it has " + keys.twice() + " twice in one object");
    CLEAVE_TRY(fromJson(document, {text, file.size()}, &index).in(path));
  } catch (const json::parse_error &error) {
    return dataLoss(path + " is not a checkpoint's index: not JSON from byte " + std::to_string(error.byte));
  } catch (const json::exception &) {
    return dataLoss(path + " is not a checkpoint's index: an entry is missing or of another type than --save writes");
  }
  index.identity = fnv1a({text, file.size()});
  *result = std::move(index);
  return Status::ok();
}

} // namespace cleave::rt
