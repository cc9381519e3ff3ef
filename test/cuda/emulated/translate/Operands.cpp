// Reads and writes operands: registers, immediates, special registers and addresses. Also registers as floating-point
// values.
#include "test/cuda/emulated/block/Intrinsics.h"
#include "test/cuda/emulated/block/ReducedTypes.h"
#include "test/cuda/emulated/translate/FunctionTranslator.h"

namespace cleave::emulated {
namespace {

const std::map<std::string, Special> &specials() {
  static const std::map<std::string, Special> names = {{"%tid.x", Special::ThreadX},
                                                       {"%tid.y", Special::ThreadY},
                                                       {"%tid.z", Special::ThreadZ},
                                                       {"%ntid.x", Special::BlockSizeX},
                                                       {"%ntid.y", Special::BlockSizeY},
                                                       {"%ntid.z", Special::BlockSizeZ},
                                                       {"%ctaid.x", Special::BlockX},
                                                       {"%ctaid.y", Special::BlockY},
                                                       {"%ctaid.z", Special::BlockZ},
                                                       {"%nctaid.x", Special::GridX},
                                                       {"%nctaid.y", Special::GridY},
                                                       {"%nctaid.z", Special::GridZ},
                                                       {"%laneid", Special::Lane},
                                                       {"%warpid", Special::Warp},
                                                       {"%nwarpid", Special::WarpCount},
                                                       {"%lanemask_eq", Special::LaneMaskEqual},
                                                       {"%lanemask_lt", Special::LaneMaskLess},
                                                       {"%lanemask_le", Special::LaneMaskLessEqual},
                                                       {"%lanemask_gt", Special::LaneMaskGreater},
                                                       {"%lanemask_ge", Special::LaneMaskGreaterEqual},
                                                       {"%dynamic_smem_size", Special::DynamicShared},
                                                       {"%total_smem_size", Special::TotalShared}};
  return names;
}

} // namespace

llvm::Value *FunctionTranslator::special(const std::string &name) {
  auto found = specials().find(name);
  if (found != specials().end())
    return call("emu_special", b.getInt32Ty(), {word(uint32_t(found->second))}, true);
  if (name == "WARP_SZ" || name == "%warpsize")
    return word(32);
  if (name == "%clock" || name == "%clock64" || name == "%globaltimer" || name == "%globaltimer_lo")
    return call("emu_clock", b.getInt64Ty(), {});
  if (name == "%smid" || name == "%gridid")
    return word(0);
  if (name == "%nsmid")
    return word(1);
  return nullptr;
}

// The 64-bit address of a variable. (That of a shared variable fits into 32 bits.)
llvm::Value *FunctionTranslator::addressOfSymbol(const std::string &name) {
  auto local = locals.find(name);
  if (local != locals.end())
    return b.CreatePtrToInt(local->second, b.getInt64Ty());
  auto inShared = sharedOffsets.find(name);
  if (inShared != sharedOffsets.end())
    return b.CreateAdd(call("emu_shared_base", b.getInt64Ty(), {}, true), b.getInt64(inShared->second));
  if (llvm::Value *parameter = parameterMemory(name))
    return b.CreatePtrToInt(parameter, b.getInt64Ty());
  auto global = module.globals.find(name);
  if (global != module.globals.end())
    return b.getInt64(global->second);
  return nullptr;
}

llvm::Value *FunctionTranslator::readName(const ptx::Operand &o, unsigned bits) {
  auto found = registers.find(o.name);
  llvm::Value *value = nullptr;
  if (found != registers.end())
    value = b.CreateLoad(intType(found->second.bits), found->second.slot);
  if (!value)
    value = special(o.name);
  if (!value)
    value = addressOfSymbol(o.name);
  if (!value) {
    fail(*now, "unknown operand " + o.name);
    return llvm::Constant::getNullValue(intType(bits));
  }
  if (o.offset)
    value = b.CreateAdd(value, llvm::ConstantInt::get(value->getType(), uint64_t(o.offset)));
  return b.CreateZExtOrTrunc(value, intType(bits));
}

llvm::Value *FunctionTranslator::read(const ptx::Operand &o, unsigned bits) {
  bits = checkedWidth(bits);
  llvm::Value *value = nullptr;
  switch (o.kind) {
  case ptx::Operand::Kind::Immediate:
    value = llvm::ConstantInt::get(b.getContext(), llvm::APInt(64, o.bits).zextOrTrunc(bits));
    if (bits > 64 && int64_t(o.bits) < 0)
      value = llvm::ConstantInt::get(b.getContext(), llvm::APInt(64, o.bits).sext(bits));
    break;
  case ptx::Operand::Kind::Decimal:
    if (bits == 64)
      return b.getInt64(bitsAs<uint64_t>(o.decimal));
    if (bits == 32)
      return b.getInt32(bitsAs<uint32_t>(float(o.decimal)));
    break;
  case ptx::Operand::Kind::Name:
    value = readName(o, bits);
    break;
  default:
    break;
  }
  if (!value) {
    fail(*now, "an operand is not one that can be read here");
    return llvm::Constant::getNullValue(intType(bits));
  }
  return o.negated ? b.CreateNot(value) : value;
}

llvm::Value *FunctionTranslator::readSigned(const ptx::Operand &o, unsigned bits) {
  unsigned own = widthOf(o);
  return own && own < bits ? b.CreateSExt(read(o, own), intType(bits)) : read(o, bits);
}

unsigned FunctionTranslator::widthOf(const ptx::Operand &o) const {
  auto found = o.kind == ptx::Operand::Kind::Name ? registers.find(o.name) : registers.end();
  return found == registers.end() ? 0 : found->second.bits;
}

void FunctionTranslator::write(const ptx::Operand &o, llvm::Value *value, bool isSigned) {
  if (o.kind == ptx::Operand::Kind::Sink)
    return;
  auto found = o.kind == ptx::Operand::Kind::Name ? registers.find(o.name) : registers.end();
  if (found == registers.end())
    return fail(*now, "the result is no register");
  llvm::Type *type = intType(found->second.bits);
  b.CreateStore(isSigned ? b.CreateSExtOrTrunc(value, type) : b.CreateZExtOrTrunc(value, type), found->second.slot);
}

llvm::Value *FunctionTranslator::address(const ptx::Operand &o, const std::string &space) {
  if (o.kind != ptx::Operand::Kind::Address) {
    fail(*now, "expected an address");
    return b.getInt64(0);
  }
  const ptx::Operand &base = o.parts[0];
  unsigned width = widthOf(base) ? widthOf(base) : 64;
  llvm::Value *value = read(base, width);
  if (o.offset)
    value = b.CreateAdd(value, llvm::ConstantInt::get(value->getType(), uint64_t(o.offset)));
  return b.CreateZExtOrTrunc(value, b.getInt64Ty());
}

llvm::Value *FunctionTranslator::toCompute(llvm::Value *bits, const std::string &type) {
  if (type == "f64")
    return b.CreateBitCast(bits, b.getDoubleTy());
  if (type == "f16")
    return call("emu_wide_f16", b.getDoubleTy(), {bits}, true);
  if (type == "bf16")
    return call("emu_wide_bf16", b.getDoubleTy(), {bits}, true);
  return b.CreateBitCast(bits, b.getFloatTy());
}

llvm::Value *FunctionTranslator::fromCompute(llvm::Value *value, const std::string &type) {
  if (type == "f64")
    return b.CreateBitCast(value, b.getInt64Ty());
  if (type == "f16" || type == "bf16") {
    value = b.CreateFPCast(value, b.getDoubleTy());
    return call(type == "f16" ? "emu_narrow_f16" : "emu_narrow_bf16", b.getInt16Ty(), {value}, true);
  }
  return b.CreateBitCast(value, b.getInt32Ty());
}

llvm::Value *FunctionTranslator::readFloat(const ptx::Operand &o, const std::string &type) {
  return toCompute(read(o, ptx::bitsOfType(type)), type);
}

void FunctionTranslator::writeFloat(const ptx::Operand &o, llvm::Value *value, const std::string &type) {
  write(o, fromCompute(value, type));
}

llvm::Value *FunctionTranslator::flushDenormal(llvm::Value *value) {
  llvm::Value *bits = b.CreateBitCast(value, b.getInt32Ty());
  llvm::Value *exponent = b.CreateAnd(bits, b.getInt32(0x7f800000));
  llvm::Value *sign = b.CreateAnd(bits, b.getInt32(0x80000000));
  llvm::Value *isSmall = b.CreateICmpEQ(exponent, b.getInt32(0));
  return b.CreateBitCast(b.CreateSelect(isSmall, sign, bits), b.getFloatTy());
}

llvm::Value *FunctionTranslator::saturate(llvm::Value *value) {
  llvm::Value *zero = llvm::ConstantFP::get(value->getType(), 0.0), *one = llvm::ConstantFP::get(value->getType(), 1.0);
  llvm::Value *positive = b.CreateSelect(b.CreateFCmpOGT(value, zero), value, zero);
  return b.CreateSelect(b.CreateFCmpOLT(positive, one), positive, one);
}

} // namespace cleave::emulated
