#include "runtime/device/cuda/DeviceImage.h"

#include "runtime/base/Crc32c.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace cleave::rt {

namespace {

constexpr char kMagic[8] = {'\x7f', 'C', 'l', 'e', 'a', 'v', 'e', '\0'};
constexpr uint32_t kFormat = 2;

struct Head {
  char magic[8];
  uint32_t format, parts;
  uint64_t bytes; // of the image
  uint32_t tableChecksum;
  uint32_t checksum; // of the bytes before it
};

// The first part is the PTX with its NUL. The others are machine code. There are no gaps between parts, so every byte
// is under a checksum.
struct Part {
  uint64_t offset, bytes, sourceBytes;
  uint32_t sourceChecksum, checksum;
  char chip[16]; // padded with NULs; empty for the PTX
};

uint32_t checksumOf(std::string_view bytes) { return crc32c(bytes.data(), bytes.size()); }
uint32_t checksumOf(const Head &head) { return crc32c(&head, offsetof(Head, checksum)); }

template <typename T> std::string_view bytesOf(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof(T)};
}

} // namespace

bool runsMachineCode(std::string_view chip, int major, int minor) {
  constexpr std::string_view kPrefix = "sm_";
  if (chip.substr(0, kPrefix.size()) != kPrefix)
    return false;
  chip.remove_prefix(kPrefix.size());
  int number = 0;
  for (; !chip.empty() && std::isdigit(static_cast<unsigned char>(chip[0])) && number < 10000; chip.remove_prefix(1))
    number = 10 * number + (chip[0] - '0');
  if (!chip.empty()) // "a": only for this compute capability
    return chip == "a" && number == 10 * major + minor;
  return number > 0 && number / 10 == major && number % 10 <= minor;
}

std::string DeviceImageWriter::finish() const {
  std::vector<Part> parts(1 + codes_.size());
  std::string contents;
  uint64_t begin = sizeof(Head) + parts.size() * sizeof(Part);
  auto place = [&](Part &part, std::string_view bytes) {
    part = {};
    part.offset = begin + contents.size();
    part.bytes = bytes.size();
    part.checksum = checksumOf(bytes);
    contents += bytes;
  };
  place(parts[0], std::string_view(ptx_.c_str(), ptx_.size() + 1));
  for (size_t i = 0; i < codes_.size(); ++i) {
    Part &part = parts[i + 1];
    place(part, codes_[i].cubin);
    part.sourceBytes = codes_[i].source.size();
    part.sourceChecksum = checksumOf(codes_[i].source);
    std::copy_n(codes_[i].chip.begin(), std::min(codes_[i].chip.size(), sizeof part.chip - 1), part.chip);
  }
  std::string table(reinterpret_cast<const char *>(parts.data()), parts.size() * sizeof(Part));
  Head head = {};
  std::copy(std::begin(kMagic), std::end(kMagic), head.magic);
  head.format = kFormat;
  head.parts = static_cast<uint32_t>(parts.size());
  head.bytes = begin + contents.size();
  head.tableChecksum = checksumOf(table);
  head.checksum = checksumOf(head);
  return std::string(bytesOf(head)) + table + contents;
}

// Says what is wrong with a part that must begin at `begin`, or returns an empty text. No sum is computed that could
// overflow.
static std::string findProblem(const Part &part, uint64_t begin, std::string_view bytes, const std::string &name) {
  if (part.offset != begin)
    return "its " + name + " does not follow what precedes it";
  if (part.bytes > bytes.size() - begin)
    return "its " + name + " goes beyond the end";
  if (checksumOf(bytes.substr(begin, part.bytes)) != part.checksum)
    return "the checksum of its " + name + " does not match";
  return "";
}

Status DeviceImage::open(std::string_view bytes, DeviceImage *result) {
  auto damaged = [](const std::string &what) {
    return dataLoss("the program's code for the GPU is damaged: " + what +
                    "; copy the program again, or compile the model again");
  };
  Head head;
  if (bytes.size() < sizeof head)
    return damaged("it has " + std::to_string(bytes.size()) + " bytes, which is less than its head");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (!std::equal(std::begin(kMagic), std::end(kMagic), head.magic) || head.checksum != checksumOf(head))
    return damaged("it does not begin as `cleave compile` of this version writes it");
  if (head.format != kFormat)
    return invalidArgument("the program's code for the GPU has format " + std::to_string(head.format) +
                           ", and this runtime reads format " + std::to_string(kFormat) +
                           "; compile the model with the version that the runtime is of");
  if (head.bytes != bytes.size())
    return damaged("it has " + std::to_string(bytes.size()) + " bytes; expected " + std::to_string(head.bytes));
  if (head.parts == 0 || head.parts > (bytes.size() - sizeof head) / sizeof(Part))
    return damaged("it has no room for a table of " + std::to_string(head.parts) + " parts");
  std::string_view table = bytes.substr(sizeof head, head.parts * sizeof(Part));
  if (checksumOf(table) != head.tableChecksum)
    return damaged("the checksum of its table does not match");
  DeviceImage image;
  uint64_t end = sizeof head + table.size();
  for (uint32_t i = 0; i < head.parts; ++i) {
    Part part;
    std::memcpy(&part, table.data() + i * sizeof part, sizeof part);
    std::string chip(part.chip, strnlen(part.chip, sizeof part.chip));
    std::string problem = findProblem(part, end, bytes, chip.empty() ? "PTX" : "machine code for " + chip);
    if (!problem.empty())
      return damaged(problem);
    std::string_view content = bytes.substr(end, part.bytes);
    end += part.bytes;
    if (i == 0 && (content.empty() || content.back() != '\0'))
      return damaged("its PTX has no end");
    if (i == 0)
      image.ptx_ = content.data();
    else
      image.codes_.push_back({chip, part.sourceBytes, part.sourceChecksum, content});
  }
  if (end != bytes.size())
    return damaged("it has bytes after its last part");
  *result = std::move(image);
  return Status::ok();
}

std::string_view DeviceImage::codeFor(std::string_view source, int major, int minor) const {
  uint32_t checksum = codes_.empty() ? 0 : checksumOf(source);
  for (const Code &code : codes_)
    if (code.sourceBytes == source.size() && code.sourceChecksum == checksum &&
        runsMachineCode(code.chip, major, minor))
      return code.cubin;
  return {};
}

} // namespace cleave::rt
