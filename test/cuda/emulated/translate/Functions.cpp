// Functions of one floating-point number. The approximate ones are computed accurately, so their bits differ from a
// device's.
#include "test/cuda/emulated/block/Intrinsics.h"
#include "test/cuda/emulated/translate/FunctionTranslator.h"

namespace cleave::emulated {
namespace {

using llvm::Value;
using T = FunctionTranslator;
using I = ptx::Instruction;

Value *evaluate(T &t, const I &i, const std::string &op, const std::string &type, Rounding rounding, Value *x) {
  bool is64 = x->getType()->isDoubleTy();
  if (op == "sqrt" || op == "rcp") {
    if (rounding != Rounding::Nearest)
      return t.call(
          is64 ? "emu_rounded64" : "emu_rounded32", x->getType(),
          {t.word(uint32_t(op == "sqrt" ? RoundedOp::Sqrt : RoundedOp::Rcp)), t.word(uint32_t(rounding)), x, x, x},
          true);
    if (op == "sqrt")
      return t.b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
    return t.b.CreateFDiv(llvm::ConstantFP::get(x->getType(), 1.0), x);
  }
  if (op == "rsqrt" && type == "f64")
    return t.call("emu_rsqrt64", x->getType(), {x}, true);
  if (type == "f64") {
    t.fail(i, "is not emulated for f64");
    return x;
  }
  // f16 and bf16 (ex2, tanh) are computed in f32 and rounded.
  Value *single = t.b.CreateFPCast(x, t.b.getFloatTy());
  Value *result = t.call(("emu_" + op).c_str(), t.b.getFloatTy(), {single}, true);
  return t.b.CreateFPCast(result, x->getType());
}

void function(T &t, const I &i, Modifiers &m) {
  std::string type = m.takeType(), element = packedElement(type);
  Rounding rounding = Rounding::Nearest;
  m.take("approx");
  m.take("rn");
  if (m.take("rz"))
    rounding = Rounding::Zero;
  if (m.take("rm"))
    rounding = Rounding::Down;
  if (m.take("rp"))
    rounding = Rounding::Up;
  bool flush = m.take("ftz") && type == "f32";
  if (element.empty()) {
    Value *x = t.readFloat(i.operands[1], type);
    Value *y = evaluate(t, i, i.opcode[0], type, rounding, flush ? t.flushDenormal(x) : x);
    return t.writeFloat(i.operands[0], flush ? t.flushDenormal(y) : y, type);
  }
  Value *both = t.read(i.operands[1], 32), *packed = t.word(0);
  for (unsigned e = 0; e < 2; e++) {
    Value *x = t.toCompute(t.b.CreateTrunc(t.b.CreateLShr(both, 16 * e), t.b.getInt16Ty()), element);
    Value *y = t.fromCompute(evaluate(t, i, i.opcode[0], element, rounding, x), element);
    packed = t.b.CreateOr(packed, t.b.CreateShl(t.b.CreateZExt(y, t.b.getInt32Ty()), 16 * e));
  }
  t.write(i.operands[0], packed);
}

// copysign d, a, b: the magnitude of b with the sign of a.
void copySign(T &t, const I &i, Modifiers &m) {
  std::string type = m.takeType();
  Value *sign = t.readFloat(i.operands[1], type), *magnitude = t.readFloat(i.operands[2], type);
  t.writeFloat(i.operands[0], t.b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign), type);
}

void testProperty(T &t, const I &i, Modifiers &m) {
  std::string type = m.takeType(),
              kind = m.takeAny({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  unsigned mask = kind == "finite"       ? llvm::fcFinite
                  : kind == "infinite"   ? llvm::fcInf
                  : kind == "number"     ? llvm::fcAllFlags & ~llvm::fcNan
                  : kind == "notanumber" ? llvm::fcNan
                  : kind == "normal"     ? llvm::fcNormal
                                         : llvm::fcSubnormal;
  t.write(i.operands[0], t.b.createIsFPClass(t.readFloat(i.operands[1], type), mask));
}

} // namespace

void addFunctions(Handlers &h) {
  for (const char *op : {"sqrt", "rcp", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh"})
    h[op] = function;
  h["copysign"] = copySign;
  h["testp"] = testProperty;
}

} // namespace cleave::emulated
