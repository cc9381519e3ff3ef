// mov and cvt.
#include "test/cuda/emulated/block/Intrinsics.h"
#include "test/cuda/emulated/translate/FunctionTranslator.h"

namespace cleave::emulated {
namespace {

using llvm::Value;
using T = FunctionTranslator;
using I = ptx::Instruction;

// mov also packs and unpacks: {a, b} = x, x = {a, b}.
void move(T &t, const I &i, Modifiers &m) {
  unsigned width = ptx::bitsOfType(m.takeType());
  const ptx::Operand &to = i.operands[0], &from = i.operands[1];
  for (const ptx::Operand *o : {&to, &from})
    if (o->kind == ptx::Operand::Kind::Vector && (o->parts.empty() || width % o->parts.size()))
      return t.fail(i, "has a vector that does not divide its type");
  if (to.kind == ptx::Operand::Kind::Vector) {
    unsigned part = width / unsigned(to.parts.size());
    Value *x = t.read(from, width);
    for (size_t k = 0; k < to.parts.size(); k++)
      t.write(to.parts[k], t.b.CreateTrunc(t.b.CreateLShr(x, k * part), t.intType(part)));
  } else if (from.kind == ptx::Operand::Kind::Vector) {
    unsigned part = width / unsigned(from.parts.size());
    Value *x = llvm::Constant::getNullValue(t.intType(width));
    for (size_t k = 0; k < from.parts.size(); k++)
      x = t.b.CreateOr(x, t.b.CreateShl(t.b.CreateZExt(t.read(from.parts[k], part), t.intType(width)), k * part));
    t.write(to, x);
  } else {
    t.write(to, t.read(from, width));
  }
}

struct Conversion {
  std::string to, from;
  Rounding rounding = Rounding::Nearest;
  bool integral = false, away = false, flush = false, saturate = false, relu = false;
};

Conversion takeConversion(Modifiers &m) {
  Conversion c;
  c.from = m.takeType();
  c.to = m.takeType();
  for (auto [name, rounding] : {std::pair<const char *, Rounding>{"n", Rounding::Nearest},
                                {"z", Rounding::Zero},
                                {"m", Rounding::Down},
                                {"p", Rounding::Up}}) {
    if (m.take(std::string("r") + name))
      c.rounding = rounding;
    if (m.take(std::string("r") + name + "i")) {
      c.rounding = rounding;
      c.integral = true;
    }
  }
  c.away = m.take("rna");
  c.flush = m.take("ftz");
  c.saturate = m.take("sat");
  c.relu = m.take("relu");
  return c;
}

Value *roundToIntegral(T &t, Value *x, Rounding r) {
  auto id = r == Rounding::Nearest ? llvm::Intrinsic::roundeven
            : r == Rounding::Zero  ? llvm::Intrinsic::trunc
            : r == Rounding::Down  ? llvm::Intrinsic::floor
                                   : llvm::Intrinsic::ceil;
  return t.b.CreateUnaryIntrinsic(id, x);
}

// Rounds a floating-point value to type c.to, and returns its bits.
Value *narrow(T &t, const I &i, const Conversion &c, Value *x) {
  if (c.relu)
    x = t.b.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, x, llvm::ConstantFP::get(x->getType(), 0.0));
  if (c.to == "tf32")
    return t.b.CreateBitCast(t.call("emu_tf32", t.b.getFloatTy(), {x}, true), t.b.getInt32Ty());
  if (c.to == "f32" && x->getType()->isDoubleTy())
    return t.b.CreateBitCast(t.call("emu_narrow32", t.b.getFloatTy(), {t.word(uint32_t(c.rounding)), x}, true),
                             t.b.getInt32Ty());
  if (c.to == "bf16" && c.rounding == Rounding::Zero)
    return t.call("emu_truncate_bf16", t.b.getInt16Ty(), {t.b.CreateFPCast(x, t.b.getFloatTy())}, true);
  if (c.rounding != Rounding::Nearest && !c.integral && (c.to == "f16" || c.to == "bf16"))
    t.fail(i, "has a rounding that is not emulated");
  if (c.to == "f64")
    x = t.b.CreateFPCast(x, t.b.getDoubleTy());
  return t.fromCompute(x, c.to);
}

void floatToFloat(T &t, const I &i, const Conversion &c) {
  Value *x = t.readFloat(i.operands[1], c.from);
  if (c.flush && c.from == "f32")
    x = t.flushDenormal(x);
  if (c.integral)
    x = roundToIntegral(t, x, c.rounding);
  if (c.saturate)
    x = t.saturate(x);
  t.write(i.operands[0], narrow(t, i, c, x));
}

// cvt.rn.bf16x2.f32 d, a, b: a is the upper half.
void toPacked(T &t, const I &i, Conversion c) {
  c.to = packedElement(c.to);
  Value *high = narrow(t, i, c, t.readFloat(i.operands[1], c.from));
  Value *low = narrow(t, i, c, t.readFloat(i.operands[2], c.from));
  t.write(i.operands[0], t.b.CreateOr(t.b.CreateZExt(low, t.b.getInt32Ty()),
                                      t.b.CreateShl(t.b.CreateZExt(high, t.b.getInt32Ty()), 16)));
}

// As on a device, and unlike the host's instruction: values outside of the integer's range become its limits, and NaN
// becomes 0.
void floatToInteger(T &t, const I &i, const Conversion &c) {
  Value *x = t.readFloat(i.operands[1], c.from);
  if (c.flush && c.from == "f32")
    x = t.flushDenormal(x);
  x = roundToIntegral(t, x, c.rounding);
  bool isSigned = isSignedType(c.to);
  Value *result = t.b.CreateIntrinsic(isSigned ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                                      {t.intType(ptx::bitsOfType(c.to)), x->getType()}, {x});
  t.write(i.operands[0], result, isSigned);
}

void integerToFloat(T &t, const I &i, const Conversion &c) {
  Value *x = t.read(i.operands[1], ptx::bitsOfType(c.from));
  bool wide = c.to != "f32" || c.rounding != Rounding::Nearest;
  if (wide && c.to != "f64" && ptx::bitsOfType(c.from) == 64)
    return t.fail(i, "from 64 bits is emulated to f64 and, with .rn, to f32 only");
  llvm::Type *type = wide ? t.b.getDoubleTy() : t.b.getFloatTy();
  Value *value = isSignedType(c.from) ? t.b.CreateSIToFP(x, type) : t.b.CreateUIToFP(x, type);
  t.write(i.operands[0], narrow(t, i, c, value));
}

void integerToInteger(T &t, const I &i, const Conversion &c) {
  unsigned from = ptx::bitsOfType(c.from), to = ptx::bitsOfType(c.to);
  bool isSigned = isSignedType(c.from), toSigned = isSignedType(c.to);
  Value *x = t.read(i.operands[1], from);
  if (!c.saturate) {
    Value *result = isSigned ? t.b.CreateSExtOrTrunc(x, t.intType(to)) : t.b.CreateZExtOrTrunc(x, t.intType(to));
    return t.write(i.operands[0], result, toSigned);
  }
  // Extends to 66 bits, in which the limits of all types are exact, and clamps there.
  llvm::Type *wide = t.intType(66);
  Value *v = isSigned ? t.b.CreateSExt(x, wide) : t.b.CreateZExt(x, wide);
  llvm::APInt low = toSigned ? llvm::APInt::getSignedMinValue(to).sext(66) : llvm::APInt(66, 0);
  llvm::APInt high = toSigned ? llvm::APInt::getSignedMaxValue(to).sext(66) : llvm::APInt::getMaxValue(to).zext(66);
  v = t.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, v, t.b.getInt(low));
  v = t.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, v, t.b.getInt(high));
  t.write(i.operands[0], t.b.CreateTrunc(v, t.intType(to)), toSigned);
}

void convert(T &t, const I &i, Modifiers &m) {
  if (m.take("pack"))
    return t.fail(i, "the modifier .pack is not emulated");
  Conversion c = takeConversion(m);
  if (c.to.empty() || c.from.empty())
    return t.fail(i, "needs two types");
  bool toFloat = isFloatType(c.to), fromFloat = isFloatType(c.from);
  if (!packedElement(c.to).empty())
    return fromFloat && i.operands.size() == 3 ? toPacked(t, i, c) : t.fail(i, "is not emulated");
  if (toFloat && fromFloat)
    return floatToFloat(t, i, c);
  if (fromFloat)
    return floatToInteger(t, i, c);
  if (toFloat)
    return integerToFloat(t, i, c);
  integerToInteger(t, i, c);
}

} // namespace

void addConversions(Handlers &h) {
  h["mov"] = move;
  h["cvt"] = convert;
}

} // namespace cleave::emulated
