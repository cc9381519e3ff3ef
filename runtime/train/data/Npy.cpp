#include "runtime/train/data/Npy.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/OptionText.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace cleave::rt {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicSize = 6;

// The entries of a header such as {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, as they are written.
using Header = std::map<std::string_view, std::string_view>;

constexpr char kBlanks[] = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Removes the quotes of 'text' or "text". Fails for a text with the same quote or a backslash inside.
bool unquote(std::string_view text, std::string_view *result) {
  if (text.size() < 2 || (text[0] != '\'' && text[0] != '"') || text.back() != text[0])
    return false;
  *result = text.substr(1, text.size() - 2);
  return result->find(text[0]) == std::string_view::npos && result->find('\\') == std::string_view::npos;
}

// Returns the end of the item that begins at `begin`: the first of `ends` outside of quotes and brackets.
size_t endOfItem(std::string_view text, size_t begin, std::string_view ends) {
  char quote = 0;
  int depth = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    char c = text[i];
    if (quote != 0)
      quote = c == quote ? 0 : quote;
    else if (c == '\'' || c == '"')
      quote = c;
    else if (depth == 0 && ends.find(c) != std::string_view::npos)
      return i;
    else
      depth += (c == '(' || c == '[') - (c == ')' || c == ']');
  }
  return std::string_view::npos;
}

// Reads one dictionary with these three keys, each once, and nothing else. Other headers are refused, because NumPy
// refuses them too, or another reader could understand them differently.
bool readHeader(std::string_view text, Header *header) {
  text = trimmed(text);
  if (text.empty() || text[0] != '{')
    return false;
  for (size_t at = 1; header->size() <= 3;) {
    size_t end = endOfItem(text, at, ",}");
    if (end == std::string_view::npos)
      return false;
    std::string_view item = text.substr(at, end - at), key;
    bool isLast = text[end] == '}';
    if (!isLast || !trimmed(item).empty()) { // there may be a comma after the last item
      size_t colon = endOfItem(item, 0, ":");
      if (colon == std::string_view::npos || !unquote(trimmed(item.substr(0, colon)), &key) ||
          (key != "descr" && key != "fortran_order" && key != "shape") ||
          !header->emplace(key, trimmed(item.substr(colon + 1))).second)
        return false;
    }
    if (isLast)
      return end + 1 == text.size() && header->size() == 3;
    at = end + 1;
  }
  return false;
}

// The part of a header's value that a message quotes.
std::string beginning(std::string_view value) {
  size_t end = value.find(')');
  value = value.substr(0, end == std::string_view::npos ? end : end + 1);
  constexpr size_t kQuoted = 60;
  return value.size() > kQuoted ? std::string(value.substr(0, kQuoted)) + "..." : std::string(value);
}

// (), (2,), (2, 3) or (2, 3, ): a tuple of whole numbers, as Python reads it.
bool parseTuple(std::string_view text, bool hasLongs, Shape *shape) {
  if (text.size() < 2 || text[0] != '(' || text.back() != ')')
    return false;
  text = trimmed(text.substr(1, text.size() - 2));
  size_t commas = 0;
  for (; !text.empty(); ++commas) {
    size_t comma = std::min(text.find(','), text.size());
    std::string_view number = trimmed(text.substr(0, comma));
    if (hasLongs && !number.empty() && number.back() == 'L') // Python 2 wrote its long integers like this
      number.remove_suffix(1);
    uint64_t extent = 0;
    bool isPlain = number.find_first_not_of("0123456789") == std::string_view::npos && number.size() <= 18;
    if (!isPlain || (number.size() > 1 && number[0] == '0') || !parseUnsigned(number, &extent) || shape->size() == 64)
      return false;
    shape->push_back(static_cast<int64_t>(extent));
    if (comma == text.size())
      return commas != 0; // (6) is a number, not a tuple
    text = trimmed(text.substr(comma + 1));
  }
  return true;
}

Status parseType(std::string_view descr, const std::string &origin, ElementType *type) {
  std::string_view text;
  if (!unquote(descr, &text))
    return invalidArgument(origin + ": structured arrays cannot be read; save a plain one");
  std::string name(text);
  if (name == "|O")
    return invalidArgument(origin + ": the array holds Python objects; save it as numbers, in Python by "
                                    "numpy.save(name, array.astype(numpy.float32))");
  if (!parseNumpyName(name, type))
    return invalidArgument(origin + ": element type '" + name +
                           "' is not one of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1, "
                           "little-endian; convert the array by array.astype and save it again");
  return Status::ok();
}

std::string headerOf(const TensorView &array) {
  std::string dict = "{'descr': '" + std::string(numpyName(array.type)) + "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : array.shape)
    dict += std::to_string(extent) + ", ";
  dict += "), }";
  // In format 1.0, the data starts at a multiple of 64 bytes.
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
  if (length > kMostNpyHeader - prefix)
    return dataLoss(origin + ": the header has " + std::to_string(length) + " bytes; that of an array has at most " +
                    std::to_string(kMostNpyHeader - prefix) + ": save the array again with numpy.save");
  std::string_view text(reinterpret_cast<const char *>(image) + prefix, length);
  Header header;
  if (!readHeader(text, &header))
    return dataLoss(origin + ": the header is not one dictionary with descr, fortran_order and shape, each once; save "
                             "the array again with numpy.save");
  CLEAVE_TRY(parseType(header["descr"], origin, &view->type));
  if (header["fortran_order"] == "True")
    return invalidArgument(origin + " is in Fortran order; save numpy.ascontiguousarray(x)");
  if (header["fortran_order"] != "False")
    return dataLoss(origin + ": the header's fortran_order is neither True nor False; save the array again with "
                             "numpy.save");
  uint64_t elements = 0;
  view->shape.clear();
  bool hasLongs = major < 3;
  if (!parseTuple(header["shape"], hasLongs, &view->shape) || !countElements(view->shape, &elements))
    return dataLoss(origin + ": the header has no valid shape; expected sizes from 0, as in (64, 8); got: " +
                    beginning(header["shape"]));
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
  std::string head = headerOf(array);
  CLEAVE_TRY(file.write(head.data(), head.size()));
  CLEAVE_TRY(file.write(array.data, array.bytes));
  return file.commit();
}

} // namespace cleave::rt
