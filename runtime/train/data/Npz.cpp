#include "runtime/train/data/Npz.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <set>
#include <zlib.h>

namespace cleave::rt {
namespace {

// Zip's records. Their sizes and offsets are from PKWARE's APPNOTE 4.3.
constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEndRecord = 0x06054b50;
constexpr uint32_t kEndRecord64 = 0x06064b50, kEndLocator64 = 0x07064b50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56;

constexpr uint64_t kPiece = 1u << 20; // of a file whose pages are dropped while it is read

template <typename T> T get(const std::byte *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Replaces each field that is all ones by a number of the zip64 extra field, which has only these, in the order of
// `fields`.
bool applyZip64(const std::byte *extra, size_t size, std::vector<uint64_t *> fields) {
  while (size >= 4) {
    uint16_t id = get<uint16_t>(extra), length = get<uint16_t>(extra + 2);
    if (size_t(4) + length > size)
      return false;
    if (id == 1) {
      size_t at = 0;
      for (uint64_t *field : fields) {
        if (*field != UINT32_MAX)
          continue;
        if (at + 8 > length)
          return false;
        *field = get<uint64_t>(extra + 4 + at);
        at += 8;
      }
      return true;
    }
    extra += 4 + length;
    size -= size_t(4) + length;
  }
  return std::all_of(fields.begin(), fields.end(), [](uint64_t *field) { return *field != UINT32_MAX; });
}

} // namespace

Status inflateBytes(const std::byte *source, size_t stored, std::byte *target, size_t size, size_t atOnce) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return internal("zlib cannot start");
  stream.next_in = const_cast<Bytef *>(reinterpret_cast<const Bytef *>(source));
  stream.next_out = reinterpret_cast<Bytef *>(target);
  int result = Z_OK;
  // Runs until the end of the stream, or until there is no progress. zlib may have read everything and still have bytes
  // to write.
  while (result == Z_OK) {
    if (stream.avail_in == 0) {
      stream.avail_in = static_cast<uInt>(std::min(stored, atOnce));
      stored -= stream.avail_in;
    }
    if (stream.avail_out == 0) {
      stream.avail_out = static_cast<uInt>(std::min(size, atOnce));
      size -= stream.avail_out;
    }
    result = inflate(&stream, Z_NO_FLUSH);
  }
  bool whole = result == Z_STREAM_END && size == 0 && stream.avail_out == 0 && stored == 0 && stream.avail_in == 0;
  inflateEnd(&stream);
  return whole ? Status::ok() : dataLoss("the compressed data is damaged");
}

// Unpacks the first `size` bytes of a deflated member, which must have as many.
static Status inflateBeginning(const std::byte *source, size_t stored, std::byte *target, size_t size) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return internal("zlib cannot start");
  stream.next_in = const_cast<Bytef *>(reinterpret_cast<const Bytef *>(source));
  stream.avail_in = static_cast<uInt>(std::min<size_t>(stored, 1u << 30)); // more than the header can take
  stream.next_out = reinterpret_cast<Bytef *>(target);
  stream.avail_out = static_cast<uInt>(size);
  int result = Z_OK;
  while (result == Z_OK && stream.avail_out != 0)
    result = inflate(&stream, Z_NO_FLUSH);
  bool isFull = stream.avail_out == 0;
  inflateEnd(&stream);
  return isFull ? Status::ok() : dataLoss("the compressed data is damaged");
}

Status Npz::open(const std::string &path, Npz *result) {
  auto file = std::make_shared<FileMapping>();
  CLEAVE_TRY(FileMapping::open(path, file.get()));
  Npz archive;
  archive.path_ = path;
  archive.file_ = std::move(file);
  CLEAVE_TRY(archive.readDirectory().in(path));
  *result = std::move(archive);
  return Status::ok();
}

Status Npz::readDirectory() {
  const std::byte *data = file_->data();
  size_t size = file_->size();
  if (size < kEndBytes)
    return dataLoss("not an .npz archive");
  // A comment of up to 64 KiB may follow the end record.
  size_t end = size - kEndBytes, lowest = end > UINT16_MAX ? end - UINT16_MAX : 0;
  auto isEnd = [&] {
    return get<uint32_t>(data + end) == kEndRecord && end + kEndBytes + get<uint16_t>(data + end + 20) == size;
  };
  while (!isEnd()) {
    if (end == lowest)
      return dataLoss("not an .npz archive, truncated, or followed by other bytes");
    --end;
  }
  uint64_t count = get<uint16_t>(data + end + 10), at = get<uint32_t>(data + end + 16);
  if ((at == UINT32_MAX || count == UINT16_MAX) && end >= kLocatorBytes &&
      get<uint32_t>(data + end - kLocatorBytes) == kEndLocator64) {
    uint64_t end64 = get<uint64_t>(data + end - kLocatorBytes + 8);
    if (size < kEnd64Bytes || end64 > size - kEnd64Bytes || get<uint32_t>(data + end64) != kEndRecord64)
      return dataLoss("the zip64 directory is damaged");
    count = get<uint64_t>(data + end64 + 32);
    at = get<uint64_t>(data + end64 + 48);
  }
  std::set<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    if (size < kCentralBytes || at > size - kCentralBytes || get<uint32_t>(data + at) != kCentralHeader)
      return dataLoss("the directory is damaged");
    uint16_t flags = get<uint16_t>(data + at + 8), method = get<uint16_t>(data + at + 10);
    size_t nameBytes = get<uint16_t>(data + at + 28), extraBytes = get<uint16_t>(data + at + 30);
    size_t commentBytes = get<uint16_t>(data + at + 32);
    if (nameBytes + extraBytes + commentBytes > size - kCentralBytes - at)
      return dataLoss("the directory is damaged");
    const std::byte *name = data + at + kCentralBytes;
    Member member;
    member.name.assign(reinterpret_cast<const char *>(name), nameBytes);
    member.crc = get<uint32_t>(data + at + 16);
    member.stored = get<uint32_t>(data + at + 20);
    member.size = get<uint32_t>(data + at + 24);
    member.offset = get<uint32_t>(data + at + 42);
    if (!applyZip64(name + nameBytes, extraBytes, {&member.size, &member.stored, &member.offset}))
      return dataLoss("member '" + member.name + "' has a damaged entry");
    member.deflated = method == 8;
    member.isRead = !(flags & 1) && (method == 0 || method == 8);
    if (size_t dot = member.name.rfind(".npy"); dot != std::string::npos && dot + 4 == member.name.size())
      member.name.resize(dot);
    if (!names.insert(member.name).second)
      return dataLoss("the archive has two arrays '" + member.name + "'; save each under its own name");
    members_.push_back(std::move(member));
    at += kCentralBytes + nameBytes + extraBytes + commentBytes;
  }
  return Status::ok();
}

Status Npz::checkSum(const Member &member, const std::byte *bytes) const {
  uLong sum = 0;
  for (uint64_t done = 0; done < member.size; done += kPiece) {
    sum = crc32_z(sum, reinterpret_cast<const Bytef *>(bytes) + done, std::min<uint64_t>(kPiece, member.size - done));
    dropPages(); // a stored member is a part of the file
  }
  return sum == member.crc ? Status::ok() : dataLoss("its checksum is wrong");
}

Status Npz::storedBytes(const Member &member, const std::byte **data) const {
  if (!member.isRead)
    return invalidArgument("it is encrypted or packed by a method other than deflate; save the archive with "
                           "numpy.savez or numpy.savez_compressed");
  const std::byte *file = file_->data();
  size_t size = file_->size();
  if (size < kLocalBytes || member.offset > size - kLocalBytes || get<uint32_t>(file + member.offset) != kLocalHeader)
    return dataLoss("its header is damaged");
  size_t nameBytes = get<uint16_t>(file + member.offset + 26);
  uint64_t skip = kLocalBytes + nameBytes + get<uint16_t>(file + member.offset + 28);
  if (skip > size - member.offset || member.stored > size - member.offset - skip)
    return dataLoss("it ends beyond the file; the file is truncated");
  std::string_view name(reinterpret_cast<const char *>(file + member.offset + kLocalBytes), nameBytes);
  if (name != member.name && name != member.name + ".npy")
    return dataLoss("its header has another name than the archive's directory");
  *data = file + member.offset + skip;
  // Deflate compresses at most 1032 to 1. If a member claims more, it is damaged or a zip bomb, and nothing is
  // allocated.
  bool agrees = member.deflated ? member.size / 1032 <= member.stored + 1 : member.stored == member.size;
  return agrees ? Status::ok() : dataLoss("its sizes disagree");
}

Status Npz::memberBytes(const Member &member, const std::byte **data) {
  CLEAVE_TRY(storedBytes(member, data));
  if (!member.deflated)
    return checkSum(member, *data);
  std::unique_ptr<std::byte[]> buffer(new (std::nothrow) std::byte[member.size]);
  if (!buffer)
    return {Code::OutOfMemory, "no memory for its " + std::to_string(member.size) + " bytes"};
  CLEAVE_TRY(inflateBytes(*data, member.stored, buffer.get(), member.size));
  CLEAVE_TRY(checkSum(member, buffer.get()));
  *data = buffer.get();
  unpacked_.push_back(std::move(buffer));
  unpackedBytes_ += member.size + member.stored;
  return Status::ok();
}

Status Npz::find(const std::string &name, const Member **member) const {
  auto found = std::find_if(members_.begin(), members_.end(), [&](const Member &m) { return m.name == name; });
  if (found == members_.end()) {
    std::string have;
    for (const Member &member : members_)
      have += (have.empty() ? "" : ", ") + member.name;
    return notFound(path_ + " has no array '" + name + "'; it has" +
                    (have.empty() ? " none" : ": " + have + " (choose one with key=NAME)"));
  }
  *member = &*found;
  return Status::ok();
}

Status Npz::array(const std::string &name, TensorView *view) {
  const Member *member = nullptr;
  CLEAVE_TRY(find(name, &member));
  std::string origin = path_ + ": array '" + name + "'";
  const std::byte *data = nullptr;
  CLEAVE_TRY(memberBytes(*member, &data).in(origin));
  return parseNpy(data, member->size, origin, view);
}

Status Npz::header(const std::string &name, TensorView *view) const {
  const Member *member = nullptr;
  CLEAVE_TRY(find(name, &member));
  std::string origin = path_ + ": array '" + name + "'";
  const std::byte *data = nullptr;
  CLEAVE_TRY(storedBytes(*member, &data).in(origin));
  std::vector<std::byte> begin;
  if (member->deflated) {
    begin.resize(std::min<uint64_t>(member->size, kMostNpyHeader));
    CLEAVE_TRY(inflateBeginning(data, member->stored, begin.data(), begin.size()).in(origin));
    data = begin.data();
  }
  CLEAVE_TRY(parseNpy(data, member->size, origin, view));
  view->data = nullptr;
  return Status::ok();
}

std::vector<std::string> Npz::names() const {
  std::vector<std::string> result;
  for (const Member &member : members_)
    result.push_back(member.name);
  return result;
}

} // namespace cleave::rt
