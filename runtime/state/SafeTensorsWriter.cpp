#include "runtime/base/Crc32c.h"
#include "runtime/state/HeaderChecksum.h"
#include "runtime/state/SafeTensors.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

namespace cleave::rt {
namespace {

using nlohmann::ordered_json;

std::string join(const std::vector<uint32_t> &sums) {
  std::string text;
  for (uint32_t sum : sums)
    text += (text.empty() ? "" : " ") + checksumText(sum);
  return text;
}

// Appends ,"key":value
void addEntry(std::string *text, const std::string &key, const ordered_json &value) {
  *text += ',' + ordered_json(key).dump() + ':' + value.dump();
}

// Makes the header's size and text, padded with spaces so that the data is 64-byte aligned in a mapping. Its length
// does not depend on the values of the checksums.
Status makeHeader(const std::vector<TensorView> &tensors, const std::vector<std::vector<uint32_t>> &sums,
                  const Metadata &metadata, std::string *result) {
  std::set<std::string_view> names = {kMetadataKey};
  std::string text(kHeaderBegin);
  text += checksumText(0) + '"';
  try {
    addEntry(&text, kBlockBytes, std::to_string(BlockChecksums::kBlockBytes));
    for (size_t i = 0; i < tensors.size(); ++i)
      addEntry(&text, kTensorSum + tensors[i].name, join(sums[i]));
    for (const auto &[key, value] : metadata)
      addEntry(&text, key, value);
    text += '}';
    uint64_t offset = 0;
    for (const TensorView &tensor : tensors) {
      if (!names.insert(tensor.name).second)
        return invalidArgument("two tensors are named '" + tensor.name + "'");
      addEntry(&text, tensor.name,
               {{"dtype", safetensorsName(tensor.type)},
                {"shape", tensor.shape},
                {"data_offsets", {offset, offset + tensor.bytes}}});
      offset += tensor.bytes;
    }
    text += '}';
  } catch (const ordered_json::exception &) {
    return invalidArgument("a tensor's name is not valid UTF-8");
  }
  while ((text.size() + sizeof(uint64_t)) % 64 != 0)
    text.push_back(' ');
  uint64_t size = text.size();
  result->assign(reinterpret_cast<const char *>(&size), sizeof size);
  *result += text;
  result->replace(kHeaderSumOffset, kHeaderSumDigits, checksumText(headerChecksum(*result)));
  return Status::ok();
}

} // namespace

Status SafeTensorsFile::writeHeader(std::string *image) const {
  return makeHeader(tensors_, summer_->sums(), metadata_, image);
}

Status safeTensorsSize(const std::vector<TensorView> &tensors, uint64_t *result) {
  std::vector<uint64_t> bytes;
  for (const TensorView &tensor : tensors)
    bytes.push_back(tensor.bytes);
  std::string header;
  CLEAVE_TRY(makeHeader(tensors, BlockSummer(bytes).sums(), {}, &header));
  *result = std::accumulate(bytes.begin(), bytes.end(), uint64_t(header.size()));
  return Status::ok();
}

Status SafeTensorsFile::create(const std::string &path, const std::vector<TensorView> &tensors,
                               const Metadata &metadata) {
  tensors_ = tensors;
  metadata_ = metadata;
  std::vector<uint64_t> bytes;
  for (const TensorView &tensor : tensors)
    bytes.push_back(tensor.bytes);
  summer_.emplace(std::move(bytes));
  std::string header;
  CLEAVE_TRY(writeHeader(&header).in(path));
  CLEAVE_TRY(AtomicFile::create(path, &file_));
  return file_.write(header.data(), header.size());
}

Status SafeTensorsFile::append(const void *data, size_t bytes) {
  summer_->add(data, bytes);
  return file_.write(data, bytes);
}

Status SafeTensorsFile::headerChecksum(uint32_t *sum) const {
  std::string header;
  CLEAVE_TRY(writeHeader(&header));
  *sum = cleave::rt::headerChecksum(header);
  return Status::ok();
}

// The checksums are known only after all data was written. create() has left space for them in the header.
Status SafeTensorsFile::flush() {
  std::string header;
  CLEAVE_TRY(writeHeader(&header));
  CLEAVE_TRY(file_.rewrite(0, header.data(), header.size()));
  CLEAVE_TRY(file_.flush());
  isFlushed_ = true;
  return Status::ok();
}

Status SafeTensorsFile::commit() {
  if (!isFlushed_)
    CLEAVE_TRY(flush());
  return file_.commit();
}

Status writeSafeTensors(const std::string &path, const std::vector<TensorView> &tensors, const Metadata &metadata) {
  SafeTensorsFile file;
  CLEAVE_TRY(file.create(path, tensors, metadata));
  for (const TensorView &tensor : tensors)
    CLEAVE_TRY(file.append(tensor.data, tensor.bytes));
  return file.commit();
}

} // namespace cleave::rt
