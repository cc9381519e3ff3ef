// setp, set, selp, slct.
#include "test/cuda/emulated/translate/FunctionTranslator.h"

namespace cleave::emulated {
namespace {

using llvm::CmpInst;
using llvm::Value;
using T = FunctionTranslator;
using I = ptx::Instruction;

CmpInst::Predicate floatPredicate(const std::string &c) {
  static const std::map<std::string, CmpInst::Predicate> names = {
      {"eq", CmpInst::FCMP_OEQ},  {"ne", CmpInst::FCMP_ONE},  {"lt", CmpInst::FCMP_OLT},  {"le", CmpInst::FCMP_OLE},
      {"gt", CmpInst::FCMP_OGT},  {"ge", CmpInst::FCMP_OGE},  {"equ", CmpInst::FCMP_UEQ}, {"neu", CmpInst::FCMP_UNE},
      {"ltu", CmpInst::FCMP_ULT}, {"leu", CmpInst::FCMP_ULE}, {"gtu", CmpInst::FCMP_UGT}, {"geu", CmpInst::FCMP_UGE},
      {"num", CmpInst::FCMP_ORD}, {"nan", CmpInst::FCMP_UNO}};
  auto found = names.find(c);
  return found == names.end() ? CmpInst::BAD_FCMP_PREDICATE : found->second;
}

CmpInst::Predicate integerPredicate(const std::string &c, bool isSigned) {
  if (c == "eq")
    return CmpInst::ICMP_EQ;
  if (c == "ne")
    return CmpInst::ICMP_NE;
  if (c == "lt")
    return isSigned ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT;
  if (c == "le")
    return isSigned ? CmpInst::ICMP_SLE : CmpInst::ICMP_ULE;
  if (c == "gt")
    return isSigned ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT;
  if (c == "ge")
    return isSigned ? CmpInst::ICMP_SGE : CmpInst::ICMP_UGE;
  return c == "lo"   ? CmpInst::ICMP_ULT
         : c == "ls" ? CmpInst::ICMP_ULE
         : c == "hi" ? CmpInst::ICMP_UGT
                     : CmpInst::ICMP_UGE;
}

Value *compareElement(T &t, const std::string &c, const std::string &type, bool flush, Value *x, Value *y) {
  if (!isFloatType(type))
    return t.b.CreateICmp(integerPredicate(c, isSignedType(type)), x, y);
  Value *a = t.toCompute(x, type), *b = t.toCompute(y, type);
  if (flush && type == "f32") {
    a = t.flushDenormal(a);
    b = t.flushDenormal(b);
  }
  CmpInst::Predicate predicate = floatPredicate(c);
  if (predicate == CmpInst::BAD_FCMP_PREDICATE) {
    t.refuse("has a comparison that floating-point numbers do not have");
    return t.b.getInt1(false);
  }
  return t.b.CreateFCmp(predicate, a, b);
}

Value *combine(T &t, const std::string &op, Value *x, Value *y) {
  return op == "and" ? t.b.CreateAnd(x, y) : op == "or" ? t.b.CreateOr(x, y) : op == "xor" ? t.b.CreateXor(x, y) : x;
}

std::string takeComparison(Modifiers &m) {
  return m.takeAny({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu",
                    "geu", "num", "nan"});
}

// setp.lt.and.f32 p|q, a, b, c: p = (a < b) and c, q = not (a < b) and c.
void setPredicate(T &t, const I &i, Modifiers &m) {
  std::string type = m.takeType(), c = takeComparison(m), op = m.takeAny({"and", "or", "xor"});
  std::string element = packedElement(type);
  bool flush = m.take("ftz");
  unsigned width = ptx::bitsOfType(type);
  if (c.empty() || type.empty())
    return t.fail(i, "has no comparison or no type");
  Value *x = t.read(i.operands[1], width), *y = t.read(i.operands[2], width);
  const ptx::Operand &to = i.operands[0];
  bool pair = to.kind == ptx::Operand::Kind::Pair;
  Value *third = op.empty() ? nullptr : t.readPredicate(i.operands[3]);
  if (!element.empty()) { // p is of the low halves, q of the high ones
    if (!pair)
      return t.fail(i, "needs two predicates");
    for (unsigned e = 0; e < 2; e++) {
      auto half = [&](Value *v) { return t.b.CreateTrunc(t.b.CreateLShr(v, 16 * e), t.b.getInt16Ty()); };
      t.write(to.parts[e], combine(t, op, compareElement(t, c, element, flush, half(x), half(y)), third));
    }
    return;
  }
  Value *result = compareElement(t, c, type, flush, x, y);
  t.write(pair ? to.parts[0] : to, combine(t, op, result, third));
  if (pair)
    t.write(to.parts[1], combine(t, op, t.b.CreateNot(result), third));
}

// set.lt.u32.f32: all ones or zero, or 1.0 and 0.0 for an f32 result.
void set(T &t, const I &i, Modifiers &m) {
  std::string source = m.takeType(), to = m.takeType(), c = takeComparison(m), op = m.takeAny({"and", "or", "xor"});
  bool flush = m.take("ftz");
  unsigned width = ptx::bitsOfType(source);
  if (c.empty() || to.empty() || !packedElement(source).empty())
    return t.fail(i, "is not emulated with these types");
  Value *result = compareElement(t, c, source, flush, t.read(i.operands[1], width), t.read(i.operands[2], width));
  if (!op.empty())
    result = combine(t, op, result, t.readPredicate(i.operands[3]));
  if (to == "f32")
    t.writeFloat(i.operands[0], t.b.CreateUIToFP(result, t.b.getFloatTy()), to);
  else
    t.write(i.operands[0], t.b.CreateSExt(result, t.intType(ptx::bitsOfType(to))));
}

void select(T &t, const I &i, Modifiers &m) {
  unsigned width = ptx::bitsOfType(m.takeType());
  t.write(i.operands[0],
          t.b.CreateSelect(t.readPredicate(i.operands[3]), t.read(i.operands[1], width), t.read(i.operands[2], width)));
}

// slct.u32.f32 d, a, b, c: a if c >= 0, else b.
void selectBySign(T &t, const I &i, Modifiers &m) {
  std::string by = m.takeType();
  unsigned width = ptx::bitsOfType(m.takeType());
  m.take("ftz");
  Value *c = t.read(i.operands[3], ptx::bitsOfType(by));
  Value *condition = isFloatType(by)
                         ? t.b.CreateFCmpOGE(t.toCompute(c, by), llvm::ConstantFP::get(t.b.getFloatTy(), 0.0))
                         : t.b.CreateICmpSGE(c, llvm::Constant::getNullValue(c->getType()));
  t.write(i.operands[0], t.b.CreateSelect(condition, t.read(i.operands[1], width), t.read(i.operands[2], width)));
}

} // namespace

void addComparisons(Handlers &h) {
  h["setp"] = setPredicate;
  h["set"] = set;
  h["selp"] = select;
  h["slct"] = selectBySign;
}

} // namespace cleave::emulated
