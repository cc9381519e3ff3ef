#include "runtime/state/SafeTensors.h"

#include <nlohmann/json.hpp>

namespace cleave::rt {
namespace {

// The header, padded with spaces so that the data starts 64-byte aligned in a mapping.
Status makeHeader(const std::vector<TensorView> &tensors, const Metadata &metadata, std::string *result) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const TensorView &tensor : tensors) {
    if (header.contains(tensor.name))
      return invalidArgument("two tensors are named '" + tensor.name + "'");
    header[tensor.name] = {{"dtype", safetensorsName(tensor.type)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.bytes}}};
    offset += tensor.bytes;
  }
  try {
    *result = header.dump();
  } catch (const nlohmann::json::exception &) {
    return invalidArgument("a tensor's name is not valid UTF-8");
  }
  while ((result->size() + sizeof(uint64_t)) % 64 != 0)
    result->push_back(' ');
  return Status::ok();
}

} // namespace

Status SafeTensorsFile::create(const std::string &path, const std::vector<TensorView> &tensors,
                               const Metadata &metadata) {
  std::string header;
  CLEAVE_TRY(makeHeader(tensors, metadata, &header).in(path));
  CLEAVE_TRY(AtomicFile::create(path, &file_));
  uint64_t headerBytes = header.size();
  CLEAVE_TRY(append(&headerBytes, sizeof headerBytes));
  return append(header.data(), header.size());
}

Status writeSafeTensors(const std::string &path, const std::vector<TensorView> &tensors, const Metadata &metadata) {
  SafeTensorsFile file;
  CLEAVE_TRY(file.create(path, tensors, metadata));
  for (const TensorView &tensor : tensors)
    CLEAVE_TRY(file.append(tensor.data, tensor.bytes));
  return file.commit();
}

} // namespace cleave::rt
