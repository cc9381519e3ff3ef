#include "runtime/state/ElementType.h"

#include <limits>

namespace cleave::rt {
namespace {

struct TypeInfo {
  size_t size;
  const char *name, *safetensors, *numpy;
};

// In the order of ElementType.
constexpr TypeInfo kTypes[] = {
    {4, "f32", "F32", "<f4"}, {8, "f64", "F64", "<f8"},      {2, "fp16", "F16", "<f2"}, {2, "bf16", "BF16", nullptr},
    {8, "i64", "I64", "<i8"}, {4, "i32", "I32", "<i4"},      {2, "i16", "I16", "<i2"},  {1, "i8", "I8", "|i1"},
    {1, "u8", "U8", "|u1"},   {1, "boolean", "BOOL", "|b1"}, {2, "u16", "U16", "<u2"},  {4, "u32", "U32", "<u4"},
    {8, "u64", "U64", "<u8"},
};

const TypeInfo &info(ElementType type) { return kTypes[static_cast<size_t>(type)]; }

bool parse(std::string_view name, const char *TypeInfo::*spelling, ElementType *result) {
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    if (kTypes[i].*spelling && name == kTypes[i].*spelling) {
      *result = static_cast<ElementType>(i);
      return true;
    }
  }
  return false;
}

} // namespace

size_t elementSize(ElementType type) { return info(type).size; }
const char *elementName(ElementType type) { return info(type).name; }
const char *safetensorsName(ElementType type) { return info(type).safetensors; }
const char *numpyName(ElementType type) { return info(type).numpy; }

bool parseSafetensorsName(std::string_view name, ElementType *result) {
  return parse(name, &TypeInfo::safetensors, result);
}

bool parseNumpyName(std::string_view name, ElementType *result) { return parse(name, &TypeInfo::numpy, result); }

std::string toString(const Shape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string toString(ElementType type, const Shape &shape) { return elementName(type) + toString(shape); }

bool countElements(const Shape &shape, uint64_t *count) {
  uint64_t product = 1;
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0)
      return false;
    if (extent == 0) {
      empty = true;
      continue;
    }
    if (product > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / static_cast<uint64_t>(extent))
      return false;
    product *= static_cast<uint64_t>(extent);
  }
  *count = empty ? 0 : product;
  return true;
}

} // namespace cleave::rt
