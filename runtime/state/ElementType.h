// Element types of tensors in files. They include the plan's types. Data files may also hold unsigned integers, which
// are widened to the type of the input.
#ifndef CLEAVE_RUNTIME_STATE_ELEMENTTYPE_H
#define CLEAVE_RUNTIME_STATE_ELEMENTTYPE_H

#include "runtime/plan/Plan_generated.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::rt {

// The first ten are the values of fb::DType, in its order.
enum class ElementType : uint8_t { f32, f64, f16, bf16, i64, i32, i16, i8, u8, boolean, u16, u32, u64 };

inline ElementType elementType(fb::DType type) { return static_cast<ElementType>(type); }

size_t elementSize(ElementType type);
// "f32", "i64", "boolean", ...
const char *elementName(ElementType type);
// The name in the safetensors format: "F32", "I64", "BOOL", ...
const char *safetensorsName(ElementType type);
bool parseSafetensorsName(std::string_view name, ElementType *result);
// The name in NumPy's array protocol, little-endian: "<f4", "<i8", "|b1". Null if NumPy does not have the type (bf16).
const char *numpyName(ElementType type);
bool parseNumpyName(std::string_view name, ElementType *result);

using Shape = std::vector<int64_t>;

// "[2, 3]"
std::string toString(const Shape &shape);
// "f32[2, 3]"
std::string toString(ElementType type, const Shape &shape);
// Computes the number of elements. Returns false if a dimension is negative or the product does not fit in 63 bits.
bool countElements(const Shape &shape, uint64_t *count);

} // namespace cleave::rt

#endif
