#include "runtime/state/OneTensor.h"

#include "runtime/state/ElementValue.h"
#include "runtime/state/FloatConversion.h"

#include <cmath>
#include <cstdio>
#include <cstring>

namespace cleave::rt {
namespace {

Status refuse(const TensorView &a, const TensorView &b, const std::string &difference) {
  return invalidArgument("'" + a.name + "' and '" + b.name +
                         "' are two names of one tensor of this model, and differ: " + difference +
                         "; give a file in which they are equal, or in which one of them is missing. If they are two "
                         "tensors, compile the model without --tie, or export it again from these weights (exporters "
                         "write tensors of equal values once)");
}

// The value as the narrower of two types has it. Types of one width, such as f16 and bf16, are no roundings of each other.
double roundedTo(ElementType narrow, ElementType type, double value) {
  if (elementSize(narrow) >= elementSize(type) || !isFloating(narrow) || !isFloating(type))
    return value;
  std::byte rounded[sizeof(double)];
  storeElement(narrow, value, rounded);
  return loadElement(narrow, rounded);
}

std::string text(double value) {
  char result[32];
  std::snprintf(result, sizeof result, "%.9g", value);
  return result;
}

} // namespace

bool areTransposed(const Shape &a, const Shape &b) {
  return a.size() == 2 && b.size() == 2 && a[0] == b[1] && a[1] == b[0];
}

Status checkOneTensor(const TensorView &a, const TensorView &b) {
  bool hasEqualShape = a.shape == b.shape;
  if (!hasEqualShape && !areTransposed(a.shape, b.shape))
    return refuse(a, b, toString(a.type, a.shape) + " and " + toString(b.type, b.shape));
  if (hasEqualShape && a.type == b.type && (a.data == b.data || std::memcmp(a.data, b.data, a.bytes) == 0))
    return Status::ok();
  if (a.bytes == 0)
    return Status::ok();
  for (const TensorView *tensor : {&a, &b}) // damage is another mistake
    CLEAVE_TRY(verifyBytes(*tensor, 0, tensor->bytes));
  uint64_t rows = hasEqualShape ? 1 : a.shape[0], count = a.bytes / elementSize(a.type), columns = count / rows;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t place = i % columns * rows + i / columns;
    const std::byte *left = a.data + i * elementSize(a.type), *right = b.data + place * elementSize(b.type);
    if (a.type == b.type && std::memcmp(left, right, elementSize(a.type)) == 0)
      continue;
    double x = loadElement(a.type, left), y = loadElement(b.type, right);
    double roundedX = roundedTo(b.type, a.type, x), roundedY = roundedTo(a.type, b.type, y);
    if (!isFloating(a.type) || (roundedX != roundedY && !(std::isnan(x) && std::isnan(y))))
      return refuse(a, b, "element " + std::to_string(i) + " is " + text(x) + " and " + text(y));
  }
  return Status::ok();
}

} // namespace cleave::rt
