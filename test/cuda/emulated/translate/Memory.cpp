// Loads, stores, atomics, and addresses.
//
// All spaces are parts of one address space, so cvta changes nothing. Before each load and store, a call checks the
// access and returns the host's address of the bytes. LLVM makes the access itself, with the alignment that PTX
// guarantees.
#include "test/cuda/emulated/block/Block.h"
#include "test/cuda/emulated/translate/FunctionTranslator.h"

namespace cleave::emulated {
namespace {

using llvm::Value;
using T = FunctionTranslator;
using I = ptx::Instruction;

std::string takeSpace(Modifiers &m) {
  std::string space =
      m.takeAny({"param", "global", "shared", "local", "const", "shared::cta", "param::entry", "param::func"});
  return space.substr(0, space.find(':'));
}

// Caching and ordering have no effect. Threads of a block switch only at meetings, and blocks run one after the other,
// so every access is already sequentially consistent.
void takeHints(Modifiers &m) {
  for (const char *hint : {"nc", "ca", "cg", "cs", "cv", "lu", "wb", "wt", "volatile", "weak", "relaxed", "acquire",
                           "release", "acq_rel", "cta", "cluster", "gpu", "sys", "noftz"})
    m.take(hint);
  while (!m.takePrefix("L1::").empty() || !m.takePrefix("L2::").empty())
    ;
}

Value *pointer(T &t, Value *address) { return t.b.CreateIntToPtr(address, t.b.getPtrTy()); }

struct Place {
  Value *base; // a pointer
};

// The memory that a load or store accesses. Parameters are the function's own memory, and need no check.
Place place(T &t, const I &i, const ptx::Operand &o, const std::string &space, unsigned bytes, Access kind) {
  if (space == "param" && o.kind == ptx::Operand::Kind::Address)
    if (Value *memory = t.parameterMemory(o.parts[0].name))
      return {t.b.CreateConstGEP1_64(t.b.getInt8Ty(), memory, uint64_t(o.offset))};
  Value *address = t.address(o, space);
  return {pointer(t, t.checkAccess(address, bytes, unsigned(kind), bytes, i))};
}

unsigned takeVector(Modifiers &m) { return m.take("v4") ? 4 : m.take("v2") ? 2 : m.take("v8") ? 8 : 1; }

void load(T &t, const I &i, Modifiers &m) {
  std::string space = takeSpace(m), type = m.takeType();
  unsigned count = takeVector(m), width = ptx::bitsOfType(type), bytes = width / 8 * count;
  takeHints(m);
  if (!bytes)
    return t.fail(i, "has no type");
  Place p = place(t, i, i.operands[1], space, bytes, Access::Read);
  for (unsigned k = 0; k < count; k++) {
    Value *at = t.b.CreateConstGEP1_64(t.b.getInt8Ty(), p.base, k * width / 8);
    Value *v = t.b.CreateAlignedLoad(t.intType(width), at, llvm::Align(k ? width / 8 : bytes));
    t.write(count > 1 ? i.operands[0].parts[k] : i.operands[0], v, isSignedType(type));
  }
}

void store(T &t, const I &i, Modifiers &m) {
  std::string space = takeSpace(m), type = m.takeType();
  unsigned count = takeVector(m), width = ptx::bitsOfType(type), bytes = width / 8 * count;
  takeHints(m);
  if (!bytes)
    return t.fail(i, "has no type");
  Place p = place(t, i, i.operands[0], space, bytes, Access::Write);
  for (unsigned k = 0; k < count; k++) {
    Value *at = t.b.CreateConstGEP1_64(t.b.getInt8Ty(), p.base, k * width / 8);
    Value *v = t.read(count > 1 ? i.operands[1].parts[k] : i.operands[1], width);
    t.b.CreateAlignedStore(v, at, llvm::Align(k ? width / 8 : bytes));
  }
}

// The new value of an atomic operation on integers or whole words.
Value *combined(T &t, const I &i, const std::string &op, const std::string &type, Value *old, Value *x, Value *y) {
  bool isSigned = isSignedType(type);
  if (op == "add")
    return t.b.CreateAdd(old, x);
  if (op == "and")
    return t.b.CreateAnd(old, x);
  if (op == "or")
    return t.b.CreateOr(old, x);
  if (op == "xor")
    return t.b.CreateXor(old, x);
  if (op == "exch")
    return x;
  if (op == "cas")
    return t.b.CreateSelect(t.b.CreateICmpEQ(old, x), y, old);
  if (op == "min" || op == "max") {
    bool isMin = op == "min";
    return t.b.CreateBinaryIntrinsic(isSigned ? (isMin ? llvm::Intrinsic::smin : llvm::Intrinsic::smax)
                                              : (isMin ? llvm::Intrinsic::umin : llvm::Intrinsic::umax),
                                     old, x);
  }
  Value *zero = llvm::Constant::getNullValue(x->getType()), *one = llvm::ConstantInt::get(x->getType(), 1);
  if (op == "inc")
    return t.b.CreateSelect(t.b.CreateICmpUGE(old, x), zero, t.b.CreateAdd(old, one));
  if (op == "dec")
    return t.b.CreateSelect(t.b.CreateOr(t.b.CreateIsNull(old), t.b.CreateICmpUGT(old, x)), x, t.b.CreateSub(old, one));
  t.fail(i, "is not emulated");
  return old;
}

Value *combinedFloat(T &t, const I &i, const std::string &op, const std::string &type, Value *old, Value *x) {
  std::string element = packedElement(type);
  if (element.empty()) {
    Value *a = t.toCompute(old, type), *b = t.toCompute(x, type);
    if (op == "add")
      return t.fromCompute(t.b.CreateFAdd(a, b), type);
    if (op == "exch")
      return x;
    t.fail(i, "is not emulated");
    return old;
  }
  Value *packed = t.word(0);
  for (unsigned e = 0; e < 2; e++) {
    auto half = [&](Value *v) { return t.b.CreateTrunc(t.b.CreateLShr(v, 16 * e), t.b.getInt16Ty()); };
    Value *sum = combinedFloat(t, i, op, element, half(old), half(x));
    packed = t.b.CreateOr(packed, t.b.CreateShl(t.b.CreateZExt(sum, t.b.getInt32Ty()), 16 * e));
  }
  return packed;
}

// No other thread of this launch runs between the load and the store. Launches of other streams may run (on other OS
// threads). Then the accesses are unordered, and the race detector reports them unless both are atomic.
void atomic(T &t, const I &i, Modifiers &m) {
  bool reduce = i.opcode[0] == "red";
  std::string op = m.takeAny({"add", "and", "or", "xor", "exch", "cas", "min", "max", "inc", "dec"});
  std::string space = takeSpace(m), type = m.takeType();
  takeHints(m);
  size_t first = reduce ? 0 : 1;
  unsigned count = takeVector(m), width = ptx::bitsOfType(type);
  if (!width)
    return t.fail(i, "has no type");
  Value *address = t.address(i.operands[first], space);
  address = t.checkAccess(address, width / 8 * count, unsigned(Access::Atomic), width / 8 * count, i);
  bool isFloat = isFloatType(type) || !packedElement(type).empty();
  for (unsigned k = 0; k < count; k++) {
    const ptx::Operand &operand = i.operands[first + 1];
    Value *at = pointer(t, t.b.CreateAdd(address, t.b.getInt64(k * width / 8)));
    Value *x = t.read(count > 1 ? operand.parts[k] : operand, width);
    Value *y = op == "cas" ? t.read(i.operands[first + 2], width) : nullptr;
    Value *old = t.b.CreateAlignedLoad(t.intType(width), at, llvm::Align(width / 8));
    Value *value = isFloat ? combinedFloat(t, i, op, type, old, x) : combined(t, i, op, type, old, x, y);
    t.b.CreateAlignedStore(value, at, llvm::Align(width / 8));
    if (!reduce)
      t.write(count > 1 ? i.operands[0].parts[k] : i.operands[0], old);
  }
}

void convertAddress(T &t, const I &i, Modifiers &m) {
  m.take("to");
  takeSpace(m);
  unsigned width = ptx::bitsOfType(m.takeType());
  t.write(i.operands[0], t.read(i.operands[1], width));
}

void isInSpace(T &t, const I &i, Modifiers &m) {
  std::string space = takeSpace(m);
  unsigned width = t.widthOf(i.operands[1]);
  Value *address = t.b.CreateZExtOrTrunc(t.read(i.operands[1], width ? width : 64), t.b.getInt64Ty());
  Value *shared = t.call("emu_is_shared", t.b.getInt32Ty(), {address});
  Value *local = t.call("emu_is_local", t.b.getInt32Ty(), {address});
  Value *is = space == "shared"   ? shared
              : space == "local"  ? local
              : space == "global" ? t.b.CreateXor(t.b.CreateOr(shared, local), t.word(1))
                                  : t.word(0);
  t.write(i.operands[0], t.b.CreateICmpNE(is, t.word(0)));
}

// A prefetch is a hint. The memory is not accessed.
void prefetch(T &, const I &, Modifiers &m) {
  m.take("global");
  m.take("L1");
  m.take("L2");
  m.take("L1::evict_normal");
  while (!m.takePrefix("L2::").empty())
    ;
}

} // namespace

void addMemory(Handlers &h) {
  h["ld"] = h["ldu"] = load;
  h["st"] = store;
  h["atom"] = h["red"] = atomic;
  h["cvta"] = convertAddress;
  h["isspacep"] = isInSpace;
  h["prefetch"] = h["prefetchu"] = h["discard"] = h["applypriority"] = prefetch;
}

} // namespace cleave::emulated
