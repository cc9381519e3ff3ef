#include "compiler/Support/WireType.h"

#include "mlir/IR/BuiltinTypes.h"

namespace fb = cleave::rt::fb;

std::optional<fb::DType> cleave::wireType(mlir::Type type) {
  if (type.isF32())
    return fb::DType::f32;
  if (type.isF64())
    return fb::DType::f64;
  if (type.isF16())
    return fb::DType::f16;
  if (type.isBF16())
    return fb::DType::bf16;
  auto integer = llvm::dyn_cast<mlir::IntegerType>(type);
  if (!integer)
    return std::nullopt;
  switch (integer.getWidth()) {
  case 1:
    return fb::DType::boolean;
  case 8:
    return integer.isUnsigned() ? fb::DType::u8 : fb::DType::i8;
  case 16:
    return fb::DType::i16;
  case 32:
    return fb::DType::i32;
  case 64:
    return fb::DType::i64;
  default:
    return std::nullopt;
  }
}
