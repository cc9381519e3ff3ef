// Logic, shifts and bit fields.
#include "test/cuda/emulated/translate/FunctionTranslator.h"

namespace cleave::emulated {
namespace {

using llvm::Value;
using T = FunctionTranslator;
using I = ptx::Instruction;

void logic(T &t, const I &i, Modifiers &m) {
  std::string type = m.takeType();
  unsigned width = ptx::bitsOfType(type);
  const std::string &op = i.opcode[0];
  Value *x = t.read(i.operands[1], width);
  if (op == "not")
    return t.write(i.operands[0], t.b.CreateNot(x));
  if (op == "cnot")
    return t.write(i.operands[0], t.b.CreateZExt(t.b.CreateIsNull(x), x->getType()));
  Value *y = t.read(i.operands[2], width);
  t.write(i.operands[0], op == "and" ? t.b.CreateAnd(x, y) : op == "or" ? t.b.CreateOr(x, y) : t.b.CreateXor(x, y));
}

// lop3: any function of three bits, given by a table. Bit 4a + 2b + c of the table is the result for a, b and c.
void logicOfThree(T &t, const I &i, Modifiers &m) {
  m.take("b32");
  Value *x[3], *result = t.word(0);
  for (unsigned k = 0; k < 3; k++)
    x[k] = t.read(i.operands[k + 1], 32);
  for (unsigned entry = 0; entry < 8; entry++) {
    if (!(i.operands[4].bits >> entry & 1))
      continue;
    Value *term = t.word(~0u);
    for (unsigned k = 0; k < 3; k++)
      term = t.b.CreateAnd(term, entry >> (2 - k) & 1 ? x[k] : t.b.CreateNot(x[k]));
    result = t.b.CreateOr(result, term);
  }
  t.write(i.operands[0], result);
}

// A shift by the width or more gives zeros (or copies of the sign). The host's instruction shifts modulo the width.
void shift(T &t, const I &i, Modifiers &m) {
  std::string type = m.takeType();
  unsigned width = t.checkedWidth(ptx::bitsOfType(type));
  bool left = i.opcode[0] == "shl", arithmetic = !left && isSignedType(type);
  Value *x = t.read(i.operands[1], width), *amount = t.read(i.operands[2], 32);
  Value *tooFar = t.b.CreateICmpUGE(amount, t.word(width));
  Value *inside = t.b.CreateZExtOrTrunc(t.b.CreateAnd(amount, t.word(width - 1)), x->getType());
  Value *result = left ? t.b.CreateShl(x, inside) : arithmetic ? t.b.CreateAShr(x, inside) : t.b.CreateLShr(x, inside);
  Value *far = arithmetic ? t.b.CreateAShr(x, width - 1) : llvm::Constant::getNullValue(x->getType());
  t.write(i.operands[0], t.b.CreateSelect(tooFar, far, result));
}

// shf: shifts the 64 bits {hi, lo}, and returns the upper (left) or the lower (right) half.
void funnelShift(T &t, const I &i, Modifiers &m) {
  m.take("b32");
  bool left = m.take("l"), wrap = m.take("wrap");
  m.take("r");
  m.take("clamp");
  llvm::Type *wide = t.b.getInt64Ty();
  Value *low = t.b.CreateZExt(t.read(i.operands[1], 32), wide), *high = t.b.CreateZExt(t.read(i.operands[2], 32), wide);
  Value *amount = t.read(i.operands[3], 32);
  amount =
      wrap ? t.b.CreateAnd(amount, t.word(31)) : t.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, amount, t.word(32));
  amount = t.b.CreateZExt(amount, wide);
  Value *both = t.b.CreateOr(t.b.CreateShl(high, 32), low);
  Value *result = left ? t.b.CreateLShr(t.b.CreateShl(both, amount), 32) : t.b.CreateLShr(both, amount);
  t.write(i.operands[0], t.b.CreateTrunc(result, t.b.getInt32Ty()));
}

// A mask of `length` ones. All ones if `length` is at least the width.
Value *onesOf(T &t, Value *length, unsigned width) {
  Value *full = t.b.CreateICmpUGE(length, llvm::ConstantInt::get(length->getType(), width));
  Value *safe = t.b.CreateSelect(full, llvm::Constant::getNullValue(length->getType()), length);
  Value *ones = t.b.CreateNot(t.b.CreateShl(llvm::Constant::getAllOnesValue(length->getType()), safe));
  return t.b.CreateSelect(full, llvm::Constant::getAllOnesValue(length->getType()), ones);
}

void extractField(T &t, const I &i, Modifiers &m) {
  std::string type = m.takeType();
  unsigned width = ptx::bitsOfType(type);
  llvm::Type *wide = t.intType(width);
  auto count = [&](size_t k) {
    return t.b.CreateZExtOrTrunc(t.b.CreateAnd(t.read(i.operands[k], 32), t.word(255)), wide);
  };
  Value *position = count(2), *length = count(3), *limit = llvm::ConstantInt::get(wide, width);
  Value *last = llvm::ConstantInt::get(wide, width - 1), *zero = llvm::Constant::getNullValue(wide);
  bool isSigned = isSignedType(type);
  Value *x = t.read(i.operands[1], width);
  Value *safe = t.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, position, last);
  Value *beyond = isSigned ? t.b.CreateAShr(x, width - 1) : zero;
  Value *shifted = isSigned ? t.b.CreateAShr(x, safe) : t.b.CreateLShr(x, safe);
  shifted = t.b.CreateSelect(t.b.CreateICmpUGE(position, limit), beyond, shifted);
  Value *mask = onesOf(t, length, width);
  Value *field = t.b.CreateAnd(shifted, mask);
  if (isSigned) { // copies of the field's highest bit above it
    Value *top = t.b.CreateSub(length, llvm::ConstantInt::get(wide, 1));
    Value *signAt = t.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, top, last);
    Value *sign = t.b.CreateTrunc(t.b.CreateLShr(shifted, signAt), t.b.getInt1Ty());
    field = t.b.CreateSelect(sign, t.b.CreateOr(field, t.b.CreateNot(mask)), field);
  }
  t.write(i.operands[0], t.b.CreateSelect(t.b.CreateICmpEQ(length, zero), zero, field));
}

void insertField(T &t, const I &i, Modifiers &m) {
  unsigned width = ptx::bitsOfType(m.takeType());
  llvm::Type *wide = t.intType(width);
  auto count = [&](size_t k) {
    return t.b.CreateZExtOrTrunc(t.b.CreateAnd(t.read(i.operands[k], 32), t.word(255)), wide);
  };
  Value *field = t.read(i.operands[1], width), *into = t.read(i.operands[2], width), *position = count(3);
  Value *mask = onesOf(t, count(4), width);
  Value *outside = t.b.CreateICmpUGE(position, llvm::ConstantInt::get(wide, width));
  Value *safe = t.b.CreateSelect(outside, llvm::Constant::getNullValue(wide), position);
  mask = t.b.CreateShl(mask, safe);
  Value *result =
      t.b.CreateOr(t.b.CreateAnd(into, t.b.CreateNot(mask)), t.b.CreateAnd(t.b.CreateShl(field, safe), mask));
  t.write(i.operands[0], t.b.CreateSelect(outside, into, result));
}

void count(T &t, const I &i, Modifiers &m) {
  std::string type = m.takeType();
  const std::string &op = i.opcode[0];
  Value *x = t.read(i.operands[1], ptx::bitsOfType(type)), *result;
  if (op == "popc") {
    result = t.b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, x);
  } else if (op == "brev") {
    result = t.b.CreateUnaryIntrinsic(llvm::Intrinsic::bitreverse, x);
  } else if (op == "clz") {
    result = t.b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, x, t.b.getInt1(false));
  } else { // bfind: the highest bit (of a negative number: the highest zero), -1 if there is none
    unsigned width = x->getType()->getIntegerBitWidth();
    bool amount = m.take("shiftamt");
    if (isSignedType(type))
      x = t.b.CreateXor(x, t.b.CreateAShr(x, width - 1));
    Value *zeros = t.b.CreateZExtOrTrunc(t.b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, x, t.b.getInt1(false)),
                                         t.b.getInt32Ty());
    result = amount ? zeros : t.b.CreateSub(t.word(width - 1), zeros);
    result = t.b.CreateSelect(t.b.CreateIsNull(x), t.word(~0u), result);
  }
  t.write(i.operands[0], result);
}

// prmt: each byte of the result is one of the eight bytes of {b, a}, or eight copies of its highest bit.
void permute(T &t, const I &i, Modifiers &m) {
  m.take("b32");
  llvm::Type *wide = t.b.getInt64Ty();
  Value *bytes = t.b.CreateOr(t.b.CreateZExt(t.read(i.operands[1], 32), wide),
                              t.b.CreateShl(t.b.CreateZExt(t.read(i.operands[2], 32), wide), 32));
  Value *selector = t.read(i.operands[3], 32), *result = t.word(0);
  for (unsigned k = 0; k < 4; k++) {
    Value *pick = t.b.CreateAnd(t.b.CreateLShr(selector, 4 * k), t.word(15));
    Value *at = t.b.CreateZExt(t.b.CreateShl(t.b.CreateAnd(pick, t.word(7)), 3), wide);
    Value *byte = t.b.CreateTrunc(t.b.CreateLShr(bytes, at), t.b.getInt8Ty());
    Value *sign = t.b.CreateAShr(byte, 7);
    byte = t.b.CreateSelect(t.b.CreateICmpUGE(pick, t.word(8)), sign, byte);
    result = t.b.CreateOr(result, t.b.CreateShl(t.b.CreateZExt(byte, t.b.getInt32Ty()), 8 * k));
  }
  t.write(i.operands[0], result);
}

} // namespace

void addBits(Handlers &h) {
  for (const char *op : {"and", "or", "xor", "not", "cnot"})
    h[op] = logic;
  h["lop3"] = logicOfThree;
  h["shl"] = h["shr"] = shift;
  h["shf"] = funnelShift;
  h["bfe"] = extractField;
  h["bfi"] = insertField;
  for (const char *op : {"popc", "brev", "clz", "bfind"})
    h[op] = count;
  h["prmt"] = permute;
}

} // namespace cleave::emulated
