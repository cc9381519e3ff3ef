#include "runtime/state/SafeTensors.h"

#include "runtime/base/JsonKeys.h"
#include "runtime/state/HeaderChecksum.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <link.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

namespace cleave::rt {
namespace {

using nlohmann::json;

Status parseHeader(const char *begin, const char *end, json *result) {
  RepeatedKeys keys;
  try {
    *result = json::parse(begin, end, std::ref(keys));
  } catch (const json::exception &) {
    return dataLoss("the header is not valid JSON");
  }
  if (!keys.twice().empty())
    return dataLoss("the header has " + keys.twice() + " twice");
  if (!result->is_object())
    return dataLoss("the header is not a JSON object");
  return Status::ok();
}

bool readUnsigned(const json &value, uint64_t *result) {
  if (!value.is_number_unsigned())
    return false;
  *result = value.get<uint64_t>();
  return true;
}

bool readShape(const json &entry, Shape *shape) {
  auto list = entry.find("shape");
  if (list == entry.end() || !list->is_array() || list->size() > 64)
    return false;
  for (const json &extent : *list) {
    uint64_t value = 0;
    if (!readUnsigned(extent, &value) || value > static_cast<uint64_t>(INT64_MAX))
      return false;
    shape->push_back(static_cast<int64_t>(value));
  }
  return true;
}

bool readOffsets(const json &entry, uint64_t *begin, uint64_t *end) {
  auto list = entry.find("data_offsets");
  return list != entry.end() && list->is_array() && list->size() == 2 && readUnsigned((*list)[0], begin) &&
         readUnsigned((*list)[1], end);
}

// Reads a tensor's place and, if its type is known, its type. Otherwise, `unread` gets the type's name, and nothing
// tells how many bytes the tensor should have.
Status readEntry(const json &entry, const std::byte *data, uint64_t dataBytes, TensorView *tensor,
                 std::string *unread) {
  std::string where = "tensor '" + tensor->name + "': ";
  auto type = entry.is_object() ? entry.find("dtype") : entry.end();
  if (!entry.is_object() || type == entry.end() || !type->is_string() || type->get_ref<const std::string &>().empty())
    return dataLoss(where + "no dtype");
  if (!parseSafetensorsName(type->get<std::string>(), &tensor->type))
    *unread = type->get<std::string>();
  uint64_t begin = 0, end = 0, elements = 0;
  if (!readShape(entry, &tensor->shape) || !countElements(tensor->shape, &elements))
    return dataLoss(where + "bad shape; expected a list of whole numbers from 0, whose product fits in 63 bits");
  if (!readOffsets(entry, &begin, &end) || begin > end)
    return dataLoss(where + "bad data_offsets; expected the bytes at which its data begin and end");
  if (end > dataBytes)
    return dataLoss(where + "ends at byte " + std::to_string(end) + " of " + std::to_string(dataBytes) +
                    "; the file is truncated or damaged");
  uint64_t size = elementSize(tensor->type);
  if (unread->empty() && (elements > UINT64_MAX / size || elements * size != end - begin))
    return dataLoss(where + toString(tensor->type, tensor->shape) + " does not take the " +
                    std::to_string(end - begin) + " bytes that its data_offsets give it; the file is damaged");
  tensor->data = data + begin;
  tensor->bytes = end - begin;
  return Status::ok();
}

Status damaged(const std::string &what) { return dataLoss(what + "; the file is damaged: take another copy of it"); }

std::string placeOf(const std::byte *at, const std::byte *data) { return "byte " + std::to_string(at - data); }

// Checks that each byte of the data belongs to exactly one tensor. `sorted` are the tensors by address.
Status checkPlaces(const std::vector<TensorView> &sorted, const std::byte *data, const std::byte *end) {
  const std::byte *at = data;
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i].data < at)
      return dataLoss("tensors '" + sorted[i - 1].name + "' and '" + sorted[i].name + "' overlap");
    if (sorted[i].data > at)
      return damaged("there are bytes before tensor '" + sorted[i].name + "', from " + placeOf(at, data) + " to " +
                     placeOf(sorted[i].data, data) + " of the data, that belong to none");
    at += sorted[i].bytes;
  }
  return at == end ? Status::ok()
                   : damaged("there are bytes after the last tensor, which ends at " + placeOf(at, data) + " of " +
                             std::to_string(end - data));
}

// True if the header says that the file has checksums, even if a damaged header has kept only a part of this.
bool hasChecksums(const json &metadata) {
  if (!metadata.is_object())
    return false;
  for (const auto &[key, value] : metadata.items())
    if (key.rfind(kHeaderSum, 0) == 0)
      return true;
  return false;
}

// Checks a header's own checksum. `image` is the header's size and text.
Status checkHeader(std::string_view image, uint32_t *sum) {
  if (image.size() < kHeaderSumOffset + kHeaderSumDigits ||
      image.substr(sizeof(uint64_t), kHeaderBegin.size()) != kHeaderBegin ||
      !parseChecksum(image.substr(kHeaderSumOffset, kHeaderSumDigits), sum))
    return damaged("the header has checksums of tensors and none of its own, or was written anew by a program that "
                   "kept another file's metadata");
  return headerChecksum(image) == *sum ? Status::ok() : damaged("the header does not match its checksum");
}

Status readSums(const json &metadata, const std::string &origin, uint64_t blockBytes, TensorView *tensor) {
  auto entry = metadata.find(kTensorSum + tensor->name);
  std::string text = entry != metadata.end() && entry->is_string() ? entry->get<std::string>() : "";
  auto sums = std::make_shared<BlockChecksums>();
  sums->file = origin;
  sums->blockBytes = blockBytes;
  uint64_t count = BlockChecksums::countOf(tensor->bytes, blockBytes);
  bool fits = text.size() == (count == 0 ? 0 : 9 * count - 1);
  for (uint64_t i = 0; i < count && fits; ++i) {
    sums->sums.emplace_back();
    fits = parseChecksum(std::string_view(text).substr(9 * i, 8), &sums->sums.back());
  }
  tensor->checksums = std::move(sums);
  return fits ? Status::ok() : damaged("tensor '" + tensor->name + "' lacks checksums");
}

Status attachChecksums(const json &metadata, const std::string &origin, std::vector<TensorView> *tensors) {
  auto entry = metadata.find(kBlockBytes);
  std::string text = entry != metadata.end() && entry->is_string() ? entry->get<std::string>() : "";
  uint64_t blockBytes = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), blockBytes);
  if (error != std::errc() || rest != text.data() + text.size() || blockBytes == 0)
    return damaged("the header has no size of blocks");
  for (TensorView &tensor : *tensors)
    CLEAVE_TRY(readSums(metadata, origin, blockBytes, &tensor));
  return Status::ok();
}

Status parseImage(const std::byte *image, size_t size, const std::string &origin, std::vector<TensorView> *tensors,
                  SafeTensors::Unread *unread, std::optional<uint32_t> *headerSum) {
  uint64_t headerBytes = 0;
  if (size == 0)
    return dataLoss("the file is empty; expected a safetensors file");
  if (size < sizeof headerBytes)
    return dataLoss("not a safetensors file: shorter than its 8-byte header size");
  std::memcpy(&headerBytes, image, sizeof headerBytes);
  if (headerBytes > SafeTensors::kMaxHeaderBytes)
    return dataLoss("not a safetensors file: its first 8 bytes are not the size of a header; the file is of another "
                    "format, or damaged");
  if (headerBytes > size - sizeof headerBytes)
    return dataLoss("the header ends beyond the file; the file is truncated or damaged");
  const char *text = reinterpret_cast<const char *>(image) + sizeof headerBytes;
  json header;
  CLEAVE_TRY(parseHeader(text, text + headerBytes, &header));
  const std::byte *data = image + sizeof headerBytes + headerBytes;
  const json metadata = header.contains(kMetadataKey) ? header[std::string(kMetadataKey)] : json();
  if (hasChecksums(metadata))
    CLEAVE_TRY(
        checkHeader({reinterpret_cast<const char *>(image), sizeof headerBytes + headerBytes}, &headerSum->emplace()));
  for (const auto &[name, entry] : header.items()) {
    if (name == kMetadataKey)
      continue;
    TensorView tensor;
    tensor.name = name;
    std::string unreadType;
    CLEAVE_TRY(readEntry(entry, data, size - sizeof headerBytes - headerBytes, &tensor, &unreadType));
    if (!unreadType.empty())
      (*unread)[name] = unreadType;
    tensors->push_back(std::move(tensor));
  }
  std::sort(tensors->begin(), tensors->end(), [](const TensorView &a, const TensorView &b) {
    return a.data != b.data ? a.data < b.data : a.bytes < b.bytes;
  });
  CLEAVE_TRY(checkPlaces(*tensors, data, image + size));
  tensors->erase(std::remove_if(tensors->begin(), tensors->end(),
                                [&](const TensorView &tensor) { return unread->count(tensor.name) != 0; }),
                 tensors->end());
  return *headerSum ? attachChecksums(metadata, origin, tensors) : Status::ok();
}

// True if the bytes are from a read-only segment of the program or of a library. Nobody can have changed such a
// segment, so dropped pages are read from its file again. MADV_PAGEOUT would be safe for any memory, but it keeps pages
// that are not yet on disk, as those of a program that was just linked.
bool isInReadOnlySegment(uintptr_t begin, uintptr_t end) {
  struct Search {
    uintptr_t begin, end;
  } search{begin, end};
  auto visit = [](dl_phdr_info *object, size_t, void *data) -> int {
    const Search &wanted = *static_cast<const Search *>(data);
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr) &segment = object->dlpi_phdr[i];
      uintptr_t first = object->dlpi_addr + segment.p_vaddr;
      if (segment.p_type == PT_LOAD && !(segment.p_flags & PF_W) && first <= wanted.begin &&
          wanted.end <= first + segment.p_filesz)
        return 1;
    }
    return 0;
  };
  return ::dl_iterate_phdr(visit, &search) == 1;
}

} // namespace

Status SafeTensors::parse(const void *image, size_t size, const std::string &origin, SafeTensors *result) {
  SafeTensors file;
  file.origin_ = origin;
  CLEAVE_TRY(parseImage(static_cast<const std::byte *>(image), size, origin, &file.tensors_, &file.unread_,
                        &file.headerChecksum_)
                 .in(origin));
  for (size_t i = 0; i < file.tensors_.size(); ++i)
    file.byName_[file.tensors_[i].name] = i;
  *result = std::move(file);
  return Status::ok();
}

Status SafeTensors::open(const std::string &path, SafeTensors *result) {
  auto file = std::make_shared<FileMapping>();
  CLEAVE_TRY(FileMapping::open(path, file.get()));
  CLEAVE_TRY(parse(file->data(), file->size(), path, result));
  result->file_ = std::move(file);
  return Status::ok();
}

Status SafeTensors::checkType(std::string_view name) const {
  auto found = name.empty() ? unread_.begin() : unread_.find(name);
  if (found == unread_.end())
    return Status::ok();
  return invalidArgument(origin_ + ": tensor '" + found->first + "': unknown dtype " + found->second +
                         "; save it as one of F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8 and BOOL");
}

void SafeTensors::dropPages() const {
  if (file_)
    return file_->dropPages();
  if (tensors_.empty())
    return;
  // Only whole pages of the image: the bytes next to it belong to somebody else.
  auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  uintptr_t begin = (reinterpret_cast<uintptr_t>(tensors_.front().data) + page - 1) / page * page;
  uintptr_t end = reinterpret_cast<uintptr_t>(tensors_.back().data + tensors_.back().bytes) / page * page;
  if (begin < end && isInReadOnlySegment(begin, end))
    ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

const TensorView *SafeTensors::find(std::string_view name) const {
  auto found = byName_.find(name);
  return found == byName_.end() ? nullptr : &tensors_[found->second];
}

} // namespace cleave::rt
