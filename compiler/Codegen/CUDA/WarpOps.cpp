#include "compiler/Codegen/CUDA/WarpOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace cleave;

// Address spaces of NVPTX.
static constexpr unsigned kGlobal = 1, kShared = 3;

// Converts a value to an integer of 32 or 64 bits, and back.
static Value packed(OpBuilder &builder, Location location, Value value) {
  unsigned width = value.getType().getIntOrFloatBitWidth();
  if (isa<FloatType>(value.getType()))
    value = arith::BitcastOp::create(builder, location, builder.getIntegerType(width), value);
  return width < 32 ? arith::ExtUIOp::create(builder, location, builder.getI32Type(), value).getResult() : value;
}

static Value unpacked(OpBuilder &builder, Location location, Value value, Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  if (width < 32)
    value = arith::TruncIOp::create(builder, location, builder.getIntegerType(width), value);
  return isa<FloatType>(type) ? arith::BitcastOp::create(builder, location, type, value).getResult() : value;
}

static Value exchangeWord(OpBuilder &builder, Location location, Value word, unsigned mask) {
  auto number = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(builder, location, value, 32); };
  return NVVM::ShflOp::create(builder, location, builder.getI32Type(), number(-1), word, number(mask), number(31),
                              NVVM::ShflKind::bfly, /*return_value_and_is_valid=*/UnitAttr());
}

Value cleave::exchange(OpBuilder &builder, Location location, Value value, unsigned mask) {
  Value bits = packed(builder, location, value);
  if (bits.getType().isInteger(32))
    return unpacked(builder, location, exchangeWord(builder, location, bits, mask), value.getType());
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  Value half = arith::ConstantIntOp::create(builder, location, 32, 64);
  Value high = arith::TruncIOp::create(builder, location, i32, arith::ShRUIOp::create(builder, location, bits, half));
  Value low = exchangeWord(builder, location, arith::TruncIOp::create(builder, location, i32, bits), mask);
  high = exchangeWord(builder, location, high, mask);
  Value shifted = arith::ShLIOp::create(builder, location, arith::ExtUIOp::create(builder, location, i64, high), half);
  bits = arith::OrIOp::create(builder, location, shifted, arith::ExtUIOp::create(builder, location, i64, low));
  return unpacked(builder, location, bits, value.getType());
}

Slots::Slots(ModuleOp module, StringRef name, int64_t slots, Where where)
    : name(name.str()), space(where == Where::Block ? kShared : kGlobal), isVolatile(where == Where::Device) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Type array = LLVM::LLVMArrayType::get(builder.getI64Type(), slots);
  // The runtime finds variables of the device by their names (runtime/device/cuda/CudaModules.h).
  LLVM::Linkage linkage = where == Where::Device ? LLVM::Linkage::External : LLVM::Linkage::Internal;
  auto global =
      LLVM::GlobalOp::create(builder, module.getLoc(), array, /*isConstant=*/false, linkage, name, Attribute(),
                             /*alignment=*/16, space);
  if (where == Where::Block)
    return; // without an initial value
  Block *block = builder.createBlock(&global.getInitializerRegion());
  builder.setInsertionPointToStart(block);
  LLVM::ReturnOp::create(builder, module.getLoc(), LLVM::ZeroOp::create(builder, module.getLoc(), array).getResult());
}

Value Slots::address(OpBuilder &builder, Location location, Value slot) const {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), space);
  Value base = LLVM::AddressOfOp::create(builder, location, pointer, name);
  Value number = arith::IndexCastOp::create(builder, location, builder.getI64Type(), slot);
  return LLVM::GEPOp::create(builder, location, pointer, builder.getI64Type(), base, ArrayRef<LLVM::GEPArg>{number});
}

void Slots::store(OpBuilder &builder, Location location, Value slot, Value value) const {
  LLVM::StoreOp::create(builder, location, packed(builder, location, value), address(builder, location, slot),
                        /*alignment=*/0, isVolatile);
}

Value Slots::load(OpBuilder &builder, Location location, Value slot, Type type) const {
  unsigned width = std::max(32u, type.getIntOrFloatBitWidth());
  Value bits = LLVM::LoadOp::create(builder, location, builder.getIntegerType(width), address(builder, location, slot),
                                    /*alignment=*/0, isVolatile);
  return unpacked(builder, location, bits, type);
}

Value Slots::increment(OpBuilder &builder, Location location, Value slot) const {
  Value one = arith::ConstantIntOp::create(builder, location, 1, 32);
  return LLVM::AtomicRMWOp::create(builder, location, LLVM::AtomicBinOp::add, address(builder, location, slot), one,
                                   LLVM::AtomicOrdering::monotonic, "device");
}

void cleave::syncBlock(OpBuilder &builder, Location location) { NVVM::Barrier0Op::create(builder, location); }

void cleave::syncWarp(OpBuilder &builder, Location location) {
  Value all = arith::ConstantIntOp::create(builder, location, -1, 32);
  NVVM::SyncWarpOp::create(builder, location, all);
}

void cleave::fenceDevice(OpBuilder &builder, Location location) {
  LLVM::FenceOp::create(builder, location, LLVM::AtomicOrdering::acq_rel, "device");
}
