#include "runtime/train/data/Npy.h"

#include "runtime/base/AtomicFile.h"

#include <cctype>
#include <cstring>

namespace cleave::rt {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicSize = 6;

// The value after 'key': in a header such as {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
std::string_view valueOf(std::string_view header, std::string_view key) {
  for (char quote : {'\'', '"'}) {
    std::string quoted = quote + std::string(key) + quote;
    size_t at = header.find(quoted);
    if (at == std::string_view::npos)
      continue;
    std::string_view rest = header.substr(at + quoted.size());
    size_t begin = rest.find_first_not_of(" :");
    return begin == std::string_view::npos ? std::string_view() : rest.substr(begin);
  }
  return {};
}

// NumPy takes the last of two values of a key, and nothing that is not one dictionary: what another reader would read
// otherwise is refused.
bool isOneDictionary(std::string_view header) {
  constexpr char kBlanks[] = " \t\r\n";
  size_t first = header.find_first_not_of(kBlanks), last = header.find_last_not_of(kBlanks);
  if (first == std::string_view::npos || header[first] != '{' || header[last] != '}' || header.find('}') != last)
    return false;
  for (std::string_view key : {"descr", "fortran_order", "shape"}) {
    size_t count = 0;
    for (size_t at = header.find(key); at != std::string_view::npos; at = header.find(key, at + key.size()))
      ++count;
    if (count != 1)
      return false;
  }
  return true;
}

// What a message quotes of a header's value.
std::string beginning(std::string_view value) {
  size_t end = value.find(')');
  value = value.substr(0, end == std::string_view::npos ? end : end + 1);
  constexpr size_t kQuoted = 60;
  return value.size() > kQuoted ? std::string(value.substr(0, kQuoted)) + "..." : std::string(value);
}

bool parseTuple(std::string_view text, Shape *shape) {
  if (text.empty() || text[0] != '(')
    return false;
  for (size_t i = 1; i < text.size();) {
    if (text[i] == ')')
      return true;
    if (text[i] == ',' || text[i] == ' ') {
      ++i;
      continue;
    }
    int64_t extent = 0;
    size_t digits = 0;
    for (; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])); ++i, ++digits) {
      if (digits == 18)
        return false;
      extent = extent * 10 + (text[i] - '0');
    }
    if (digits == 0 || shape->size() == 64)
      return false;
    if (i < text.size() && text[i] == 'L') // Python 2 writes its long integers so
      ++i;
    shape->push_back(extent);
  }
  return false;
}

Status parseType(std::string_view descr, const std::string &origin, ElementType *type) {
  size_t end = descr.size() > 1 ? descr.find(descr[0], 1) : std::string_view::npos;
  if (descr.empty() || (descr[0] != '\'' && descr[0] != '"') || end == std::string_view::npos)
    return invalidArgument(origin + ": structured arrays cannot be read; save a plain one");
  std::string name(descr.substr(1, end - 1));
  if (name == "|O")
    return invalidArgument(origin + ": the array holds Python objects; save it as numbers, in Python by "
                                    "numpy.save(name, array.astype(numpy.float32))");
  if (!parseNumpyName(name, type))
    return invalidArgument(origin + ": element type '" + name +
                           "' is not one of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1, "
                           "little-endian; convert the array by array.astype and save it again");
  return Status::ok();
}

std::string header(const TensorView &array) {
  std::string dict = "{'descr': '" + std::string(numpyName(array.type)) + "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : array.shape)
    dict += std::to_string(extent) + ", ";
  dict += "), }";
  // Format 1.0: the data starts at a multiple of 64 bytes.
  while ((kMagicSize + 4 + dict.size() + 1) % 64 != 0)
    dict += ' ';
  dict += '\n';
  std::string text(kMagic, kMagicSize);
  text += '\1';
  text += '\0';
  text += static_cast<char>(dict.size() & 0xff);
  text += static_cast<char>(dict.size() >> 8);
  return text + dict;
}

} // namespace

Status parseNpy(const std::byte *image, size_t size, const std::string &origin, TensorView *view) {
  if (size < 12 || std::memcmp(image, kMagic, kMagicSize) != 0)
    return dataLoss(origin + " is not an .npy file; save it with numpy.save");
  const auto *bytes = reinterpret_cast<const unsigned char *>(image);
  unsigned major = bytes[6];
  if (major < 1 || major > 3)
    return invalidArgument(origin + ": .npy format " + std::to_string(major) +
                           " is not known; expected 1, 2 or 3: save it again with numpy.save");
  size_t prefix = major == 1 ? 10 : 12;
  size_t length = bytes[8] | bytes[9] << 8;
  if (major > 1)
    length |= static_cast<size_t>(bytes[10]) << 16 | static_cast<size_t>(bytes[11]) << 24;
  if (length > size - prefix)
    return dataLoss(origin + ": the header ends beyond the file; the file is truncated or damaged");
  std::string_view text(reinterpret_cast<const char *>(image) + prefix, length);
  if (!isOneDictionary(text))
    return dataLoss(origin + ": the header is not one dictionary with descr, fortran_order and shape, each once; save "
                             "the array again with numpy.save");
  CLEAVE_TRY(parseType(valueOf(text, "descr"), origin, &view->type));
  if (valueOf(text, "fortran_order").substr(0, 5) != "False")
    return invalidArgument(origin + " is in Fortran order; save numpy.ascontiguousarray(x)");
  uint64_t elements = 0;
  view->shape.clear();
  if (!parseTuple(valueOf(text, "shape"), &view->shape) || !countElements(view->shape, &elements))
    return dataLoss(origin + ": the header has no valid shape; expected sizes from 0, as in (64, 8); got: " +
                    beginning(valueOf(text, "shape")));
  uint64_t available = size - prefix - length;
  if (elements > available / elementSize(view->type))
    return dataLoss(origin + ": " + toString(view->type, view->shape) + " does not fit in the file's " +
                    std::to_string(available) + " bytes of data; the file is truncated");
  if (elements * elementSize(view->type) != available)
    return dataLoss(origin + ": " + toString(view->type, view->shape) + " is followed by " +
                    std::to_string(available - elements * elementSize(view->type)) +
                    " bytes that belong to no array; save one array in a file");
  view->name = origin;
  view->data = image + prefix + length;
  view->bytes = elements * elementSize(view->type);
  return Status::ok();
}

Status writeNpy(const std::string &path, const TensorView &array) {
  if (!numpyName(array.type))
    return invalidArgument(path + ": NumPy has no element type " + elementName(array.type));
  AtomicFile file;
  CLEAVE_TRY(AtomicFile::create(path, &file));
  std::string head = header(array);
  CLEAVE_TRY(file.write(head.data(), head.size()));
  CLEAVE_TRY(file.write(array.data, array.bytes));
  return file.commit();
}

} // namespace cleave::rt
