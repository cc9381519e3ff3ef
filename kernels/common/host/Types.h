// Element types and sizes, for kernels that are templates over element types.
#ifndef CLEAVE_KERNELS_COMMON_HOST_TYPES_H
#define CLEAVE_KERNELS_COMMON_HOST_TYPES_H

#include "runtime/base/Half.h"
#include "runtime/base/Status.h"
#include "runtime/plan/KernelDefs.h"

#include <initializer_list>

namespace cleave::rt {

template <typename T> struct Type { using type = T; };

// Calls `make(Type<T>{})` with the C++ type of a floating-point dtype.
template <typename Make> Status withFloat(fb::DType dtype, Make make) {
  switch (dtype) {
  case fb::DType::f32:
    return make(Type<float>{});
  case fb::DType::f64:
    return make(Type<double>{});
  case fb::DType::f16:
    return make(Type<Float16>{});
  case fb::DType::bf16:
    return make(Type<BFloat16>{});
  default:
    return invalidArgument(std::string("expected a floating-point type; got: ") + fb::EnumNameDType(dtype));
  }
}

// Calls `make` with the C++ type of a floating-point or a signed integer dtype.
template <typename Make> Status withNumber(fb::DType dtype, Make make) {
  switch (dtype) {
  case fb::DType::i64:
    return make(Type<int64_t>{});
  case fb::DType::i32:
    return make(Type<int32_t>{});
  case fb::DType::i16:
    return make(Type<int16_t>{});
  case fb::DType::i8:
    return make(Type<int8_t>{});
  default:
    return withFloat(dtype, make);
  }
}

// Calls `make` with the C++ type of an index dtype, i64 or i32.
template <typename Make> Status withIndex(fb::DType dtype, Make make) {
  if (dtype == fb::DType::i64)
    return make(Type<int64_t>{});
  if (dtype == fb::DType::i32)
    return make(Type<int32_t>{});
  return invalidArgument(std::string("expected indices of type i64 or i32; got: ") + fb::EnumNameDType(dtype));
}

// Fails unless all dimensions of a tensor are positive and their product is below 2^46, so that a number of bytes never
// overflows.
inline Status checkPositiveSizes(std::initializer_list<int64_t> dimensions) {
  uint64_t product = 1;
  for (int64_t dimension : dimensions) {
    if (dimension <= 0)
      return invalidArgument("dimensions must be positive; got: " + std::to_string(dimension));
    if (__builtin_mul_overflow(product, static_cast<uint64_t>(dimension), &product) || product >> 46)
      return invalidArgument("its tensors are too large");
  }
  return Status::ok();
}

// Bytes of data above which a loop runs on several threads. For less data, waking the team costs more than it gains.
constexpr size_t kParallelBytes = 32 << 10;

} // namespace cleave::rt

#endif
