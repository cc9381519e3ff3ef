// add, sub, mul, mad, fma, div, rem, abs, neg, min, max: of integers, floating-point numbers, packed pairs, and f32 with
// narrower numbers.
#include "test/cuda/emulated/block/Intrinsics.h"
#include "test/cuda/emulated/translate/FunctionTranslator.h"

namespace cleave::emulated {
namespace {

using llvm::Value;
using T = FunctionTranslator;
using I = ptx::Instruction;

// ---------------------------------------------------------------------------------------------- floating point

struct FloatModifiers {
  std::string type;
  Rounding rounding = Rounding::Nearest;
  bool flush = false, saturate = false, relu = false, nan = false, approximate = false;
};

FloatModifiers takeFloatModifiers(Modifiers &m, const std::string &type) {
  FloatModifiers f;
  f.type = type;
  m.take("rn");
  if (m.take("rz"))
    f.rounding = Rounding::Zero;
  else if (m.take("rm"))
    f.rounding = Rounding::Down;
  else if (m.take("rp"))
    f.rounding = Rounding::Up;
  f.flush = m.take("ftz");
  f.saturate = m.take("sat");
  f.relu = m.take("relu");
  f.nan = m.take("NaN");
  f.approximate = m.take("approx") || m.take("full");
  return f;
}

Value *binary(T &t, const std::string &op, const FloatModifiers &f, Value *x, Value *y) {
  if (op == "add")
    return t.b.CreateFAdd(x, y);
  if (op == "sub")
    return t.b.CreateFSub(x, y);
  if (op == "mul")
    return t.b.CreateFMul(x, y);
  if (op == "div")
    return t.b.CreateFDiv(x, y);
  // min and max return the number if one operand is NaN; with .NaN they return NaN. -0 is below +0.
  bool isMin = op == "min";
  auto id = f.nan ? (isMin ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum)
                  : (isMin ? llvm::Intrinsic::minimumnum : llvm::Intrinsic::maximumnum);
  return t.b.CreateBinaryIntrinsic(id, x, y);
}

Value *compute(T &t, const I &i, const std::string &op, const FloatModifiers &f, llvm::ArrayRef<Value *> x) {
  if (f.rounding != Rounding::Nearest && (f.type == "f32" || f.type == "f64")) {
    static const std::map<std::string, RoundedOp> ops = {{"add", RoundedOp::Add}, {"sub", RoundedOp::Sub},
                                                         {"mul", RoundedOp::Mul}, {"fma", RoundedOp::Fma},
                                                         {"mad", RoundedOp::Fma}, {"div", RoundedOp::Div}};
    auto found = ops.find(op);
    if (found == ops.end())
      t.fail(i, "has a rounding that is not emulated");
    Value *third = x.size() > 2 ? x[2] : x[1];
    Value *op32 = t.word(found == ops.end() ? 0 : uint32_t(found->second)), *mode = t.word(uint32_t(f.rounding));
    return t.call(f.type == "f32" ? "emu_rounded32" : "emu_rounded64", x[0]->getType(), {op32, mode, x[0], x[1], third},
                  true);
  }
  if (f.rounding != Rounding::Nearest)
    t.fail(i, "has a rounding that is not emulated");
  if (op == "fma" || op == "mad")
    return t.b.CreateIntrinsic(llvm::Intrinsic::fma, {x[0]->getType()}, {x[0], x[1], x[2]});
  return binary(t, op, f, x[0], x[1]);
}

// Computes one result of type f.type. The operands are given as bits.
Value *floatElement(T &t, const I &i, const std::string &op, const FloatModifiers &f, llvm::ArrayRef<Value *> bits) {
  if (op == "neg" || op == "abs") { // changes only the sign bit, also of a NaN
    unsigned width = ptx::bitsOfType(f.type);
    llvm::APInt sign = llvm::APInt::getSignMask(width);
    Value *v = op == "neg" ? t.b.CreateXor(bits[0], t.b.getInt(sign)) : t.b.CreateAnd(bits[0], t.b.getInt(~sign));
    return f.flush && f.type == "f32" ? t.fromCompute(t.flushDenormal(t.toCompute(v, "f32")), "f32") : v;
  }
  bool flush = f.flush && f.type == "f32";
  std::vector<Value *> x;
  for (Value *v : bits) {
    Value *value = t.toCompute(v, f.type);
    x.push_back(flush ? t.flushDenormal(value) : value);
  }
  Value *result = compute(t, i, op, f, x);
  if (flush)
    result = t.flushDenormal(result);
  if (f.saturate)
    result = t.saturate(result);
  if (f.relu)
    result = t.b.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, result, llvm::ConstantFP::get(result->getType(), 0.0));
  return t.fromCompute(result, f.type);
}

// add, sub and fma of mixed types: the last operand and the result are f32, and the other operands are widened to it.
//
//     fma.rn.f32.bf16 %f1, %rs1, %rs2, %f2;
void mixedOperation(T &t, const I &i, const std::string &op, const FloatModifiers &f, const std::string &narrow) {
  std::vector<Value *> bits;
  size_t operands = op == "fma" ? 3 : 2;
  for (size_t k = 1; k < operands; k++) {
    Value *wide = t.b.CreateFPCast(t.readFloat(i.operands[k], narrow), t.b.getFloatTy());
    bits.push_back(t.fromCompute(wide, "f32"));
  }
  bits.push_back(t.read(i.operands[operands], 32));
  t.write(i.operands[0], floatElement(t, i, op, f, bits));
}

void floatOperation(T &t, const I &i, const std::string &op, Modifiers &m, const std::string &type) {
  bool mayMix = (op == "add" || op == "sub" || op == "fma") && (type == "f16" || type == "bf16");
  if (mayMix && m.take("f32"))
    return mixedOperation(t, i, op, takeFloatModifiers(m, "f32"), type);
  std::string element = packedElement(type);
  FloatModifiers f = takeFloatModifiers(m, element.empty() ? type : element);
  unsigned width = ptx::bitsOfType(type), elements = element.empty() ? 1 : 2, half = width / elements;
  Value *packed = nullptr;
  for (unsigned e = 0; e < elements; e++) {
    std::vector<Value *> bits;
    size_t operands = op == "fma" || op == "mad" ? 3 : op == "neg" || op == "abs" ? 1 : 2;
    for (size_t k = 1; k <= operands; k++) {
      Value *v = t.read(i.operands[k], width);
      bits.push_back(elements == 1 ? v : t.b.CreateTrunc(t.b.CreateLShr(v, half * e), t.intType(half)));
    }
    Value *result = floatElement(t, i, op, f, bits);
    if (elements == 2)
      result = t.b.CreateShl(t.b.CreateZExt(result, t.intType(width)), half * e);
    packed = packed ? t.b.CreateOr(packed, result) : result;
  }
  t.write(i.operands[0], packed);
}

// ---------------------------------------------------------------------------------------------------- integers

// x + y + carry. Sets the flag if `setCarry`.
Value *addWithCarry(T &t, Value *x, Value *y, bool useCarry, bool setCarry, bool subtract) {
  unsigned width = x->getType()->getIntegerBitWidth();
  llvm::Type *wide = t.intType(width + 1);
  Value *in = useCarry ? t.b.CreateZExt(t.b.CreateLoad(t.b.getInt1Ty(), t.carry()), wide) : t.b.getIntN(width + 1, 0);
  Value *a = t.b.CreateZExt(x, wide), *c = t.b.CreateZExt(y, wide);
  Value *sum = subtract ? t.b.CreateSub(t.b.CreateSub(a, c), in) : t.b.CreateAdd(t.b.CreateAdd(a, c), in);
  if (setCarry)
    t.b.CreateStore(t.b.CreateTrunc(t.b.CreateLShr(sum, width), t.b.getInt1Ty()), t.carry());
  return t.b.CreateTrunc(sum, x->getType());
}

Value *product(T &t, const std::string &part, bool isSigned, Value *x, Value *y) {
  unsigned width = x->getType()->getIntegerBitWidth();
  if (part != "wide" && part != "hi")
    return t.b.CreateMul(x, y);
  llvm::Type *wide = t.intType(2 * width);
  Value *p = isSigned ? t.b.CreateMul(t.b.CreateSExt(x, wide), t.b.CreateSExt(y, wide))
                      : t.b.CreateMul(t.b.CreateZExt(x, wide), t.b.CreateZExt(y, wide));
  return part == "wide" ? p : t.b.CreateTrunc(t.b.CreateLShr(p, width), x->getType());
}

// Division by zero gives all ones on a device, and a trap on the host. Division of the smallest number by -1 is also a
// trap on the host.
Value *quotient(T &t, bool isSigned, bool remainder, Value *x, Value *y) {
  llvm::Type *type = x->getType();
  Value *zero = llvm::ConstantInt::get(type, 0), *one = llvm::ConstantInt::get(type, 1);
  Value *isZero = t.b.CreateICmpEQ(y, zero);
  Value *safe = t.b.CreateSelect(isZero, one, y);
  Value *result;
  if (isSigned) {
    Value *minusOne = llvm::ConstantInt::getAllOnesValue(type);
    Value *isMinusOne = t.b.CreateICmpEQ(y, minusOne);
    Value *divisor = t.b.CreateSelect(isMinusOne, one, safe);
    Value *q = remainder ? t.b.CreateSRem(x, divisor) : t.b.CreateSDiv(x, divisor);
    result = t.b.CreateSelect(isMinusOne, remainder ? zero : t.b.CreateNeg(x), q);
  } else {
    result = remainder ? t.b.CreateURem(x, safe) : t.b.CreateUDiv(x, safe);
  }
  return t.b.CreateSelect(isZero, remainder ? x : llvm::ConstantInt::getAllOnesValue(type), result);
}

void integerOperation(T &t, const I &i, const std::string &op, Modifiers &m, const std::string &type) {
  unsigned width = ptx::bitsOfType(type);
  bool isSigned = isSignedType(type);
  auto x = [&](size_t k) { return t.read(i.operands[k], width); };
  bool setCarry = m.take("cc"), useCarry = op == "addc" || op == "subc" || op == "madc";
  bool saturate = m.take("sat");
  if (op == "add" || op == "addc" || op == "sub" || op == "subc") {
    bool subtract = op[0] == 's';
    if (saturate)
      return t.write(i.operands[0], t.b.CreateBinaryIntrinsic(
                                        subtract ? llvm::Intrinsic::ssub_sat : llvm::Intrinsic::sadd_sat, x(1), x(2)));
    if (!setCarry && !useCarry)
      return t.write(i.operands[0], subtract ? t.b.CreateSub(x(1), x(2)) : t.b.CreateAdd(x(1), x(2)));
    return t.write(i.operands[0], addWithCarry(t, x(1), x(2), useCarry, setCarry, subtract));
  }
  if (op == "mul" || op == "mad" || op == "madc") {
    std::string part = m.takeAny({"wide", "hi", "lo"});
    Value *p = product(t, part, isSigned, x(1), x(2));
    if (op != "mul") {
      Value *c = t.read(i.operands[3], part == "wide" ? 2 * width : width);
      p = setCarry || useCarry ? addWithCarry(t, p, c, useCarry, setCarry, false) : t.b.CreateAdd(p, c);
    }
    return t.write(i.operands[0], p);
  }
  if (op == "div" || op == "rem")
    return t.write(i.operands[0], quotient(t, isSigned, op == "rem", x(1), x(2)));
  if (op == "abs")
    return t.write(i.operands[0], t.b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x(1), t.b.getInt1(false)));
  if (op == "neg")
    return t.write(i.operands[0], t.b.CreateNeg(x(1)));
  bool isMin = op == "min";
  auto id = isSigned ? (isMin ? llvm::Intrinsic::smin : llvm::Intrinsic::smax)
                     : (isMin ? llvm::Intrinsic::umin : llvm::Intrinsic::umax);
  Value *result = t.b.CreateBinaryIntrinsic(id, x(1), x(2));
  if (m.take("relu"))
    result = t.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, result, llvm::ConstantInt::get(result->getType(), 0));
  t.write(i.operands[0], result);
}

void arithmetic(T &t, const I &i, Modifiers &m) {
  std::string type = m.takeType();
  const std::string &op = i.opcode[0];
  if (type.empty())
    return t.fail(i, "has no type");
  if (isFloatType(type) || !packedElement(type).empty())
    floatOperation(t, i, op, m, type);
  else
    integerOperation(t, i, op, m, type);
}

} // namespace

void addArithmetic(Handlers &h) {
  for (const char *op :
       {"add", "addc", "sub", "subc", "mul", "mad", "madc", "fma", "div", "rem", "abs", "neg", "min", "max"})
    h[op] = arithmetic;
}

} // namespace cleave::emulated
