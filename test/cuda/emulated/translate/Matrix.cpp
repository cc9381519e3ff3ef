// ldmatrix, stmatrix, mma.sync, wgmma.
#include "test/cuda/emulated/block/Intrinsics.h"
#include "test/cuda/emulated/translate/FunctionTranslator.h"

namespace cleave::emulated {
namespace {

using llvm::Value;
using T = FunctionTranslator;
using I = ptx::Instruction;

void readAll(T &t, const ptx::Operand &o, std::vector<Value *> &values) {
  if (o.kind == ptx::Operand::Kind::Vector)
    for (const ptx::Operand &part : o.parts)
      values.push_back(t.read(part, 32));
  else
    values.push_back(t.read(o, 32));
}

void storeAll(T &t, llvm::ArrayRef<Value *> values, Value *memory) {
  for (size_t k = 0; k < values.size(); k++)
    t.b.CreateStore(values[k], t.b.CreateConstGEP1_64(t.b.getInt32Ty(), memory, k));
}

void writeAll(T &t, const ptx::Operand &o, Value *memory) {
  bool vector = o.kind == ptx::Operand::Kind::Vector;
  for (size_t k = 0; k < (vector ? o.parts.size() : 1); k++) {
    Value *at = t.b.CreateConstGEP1_64(t.b.getInt32Ty(), memory, k);
    t.write(vector ? o.parts[k] : o, t.b.CreateLoad(t.b.getInt32Ty(), at));
  }
}

void moveMatrix(T &t, const I &i, Modifiers &m) {
  bool isLoad = i.opcode[0] == "ldmatrix";
  for (const char *part : {"sync", "aligned", "shared", "shared::cta", "m8n8", "b16"})
    m.take(part);
  unsigned count = m.take("x4") ? 4 : m.take("x2") ? 2 : (m.take("x1"), 1);
  bool transposed = m.take("trans");
  Value *out = t.scratch(4);
  Value *address = t.address(i.operands[isLoad ? 1 : 0], "shared");
  std::vector<Value *> values;
  if (!isLoad) {
    readAll(t, i.operands[1], values);
    storeAll(t, values, out);
  }
  t.call(isLoad ? "emu_load_matrix" : "emu_store_matrix", t.b.getVoidTy(),
         {out, address, t.word(count), t.word(transposed), t.word(uint32_t(i.line))});
  if (isLoad)
    writeAll(t, i.operands[0], out);
}

bool elementOf(const std::string &type, Element &element) {
  static const std::map<std::string, Element> names = {
      {"f16", Element::F16}, {"bf16", Element::BF16}, {"tf32", Element::TF32}, {"f32", Element::F32},
      {"s8", Element::S8},   {"u8", Element::U8},     {"s32", Element::S32}};
  auto found = names.find(type);
  if (found != names.end())
    element = found->second;
  return found != names.end();
}

// mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 d, a, b, c
void multiply(T &t, const I &i, Modifiers &m) {
  std::string c = m.takeType(), b = m.takeType(), a = m.takeType(), d = m.takeType();
  for (const char *part : {"sync", "aligned", "row", "col", "satfinite"})
    m.take(part);
  std::string shape = m.takePrefix("m16n8k");
  Element input, accumulator;
  if (shape.empty() || a != b || c != d || !elementOf(a, input) || !elementOf(c, accumulator))
    return t.fail(i, "this shape or these types are not emulated");
  unsigned k = unsigned(atoi(shape.c_str() + 6));
  // The number of registers of A, B and C. Each of the 32 lanes has a part of each matrix.
  size_t perRegister = 32 / std::max(8u, ptx::bitsOfType(a)), half = k / (4 * perRegister);
  size_t wanted[] = {2 * half, half, accumulator == Element::F16 ? size_t(2) : size_t(4)};
  std::vector<Value *> values;
  for (size_t o = 1; o < 4; o++) {
    size_t before = values.size();
    readAll(t, i.operands[o], values);
    if (values.size() - before != wanted[o - 1] || k > 32)
      return t.fail(i, "has a matrix with another number of registers than its shape");
  }
  Value *in = t.scratchIn(unsigned(values.size())), *out = t.scratch(4);
  storeAll(t, values, in);
  t.call("emu_multiply", t.b.getVoidTy(), {out, in, t.word(k), t.word(uint32_t(input)), t.word(uint32_t(accumulator))});
  writeAll(t, i.operands[0], out);
}

// wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 d, a-descriptor, b-descriptor, scale-d, sign-a, sign-b, trans-a,
// trans-b. With {a0, a1, a2, a3} in place of a-descriptor, there is no trans-a.
void groupMultiply(T &t, const I &i, Modifiers &m) {
  std::string b = m.takeType(), a = m.takeType(), d = m.takeType(), shape = m.takePrefix("m64n");
  Element input;
  size_t k16 = shape.find("k16");
  bool inRegisters = i.operands.size() > 1 && i.operands[1].kind == ptx::Operand::Kind::Vector;
  if (d != "f32" || a != b || !elementOf(a, input) || k16 == std::string::npos ||
      i.operands.size() != (inRegisters ? 7u : 8u))
    return t.fail(i, "this shape or these types are not emulated");
  unsigned n = unsigned(atoi(shape.c_str() + 4));
  std::vector<Value *> values, ofA;
  readAll(t, i.operands[0], values);
  Value *out = t.scratch(n / 2), *left = llvm::ConstantPointerNull::get(t.b.getPtrTy());
  if (values.size() != n / 2)
    return t.fail(i, "has a matrix with another number of registers than its shape");
  storeAll(t, values, out);
  if (inRegisters) {
    readAll(t, i.operands[1], ofA);
    if (ofA.size() != 4)
      return t.fail(i, "has a matrix with another number of registers than its shape");
    left = t.scratchIn(4);
    storeAll(t, ofA, left);
  }
  bool transposedA = !inRegisters && i.operands[6].bits, transposedB = i.operands.back().bits;
  Value *keep = i.operands[3].kind == ptx::Operand::Kind::Immediate
                    ? t.word(i.operands[3].bits != 0)
                    : t.b.CreateZExt(t.readPredicate(i.operands[3]), t.b.getInt32Ty());
  t.call("emu_group_multiply", t.b.getVoidTy(),
         {out, t.word(n), t.word(uint32_t(input)), left, inRegisters ? t.b.getInt64(0) : t.read(i.operands[1], 64),
          t.read(i.operands[2], 64), keep, t.read(i.operands[4], 32), t.read(i.operands[5], 32),
          t.word(transposedA | transposedB << 1)});
  writeAll(t, i.operands[0], out);
}

void warpGroup(T &t, const I &i, Modifiers &m) {
  m.take("sync");
  m.take("aligned");
  if (m.take("mma_async"))
    return groupMultiply(t, i, m);
  if (m.take("fence"))
    t.call("emu_group_fence", t.b.getVoidTy(), {});
  else if (m.take("wait_group"))
    t.call("emu_group_wait", t.b.getVoidTy(), {});
  else if (!m.take("commit_group"))
    t.fail(i, "is not emulated");
}

} // namespace

void addMatrix(Handlers &h) {
  h["ldmatrix"] = h["stmatrix"] = moveMatrix;
  h["mma"] = multiply;
  h["wgmma"] = warpGroup;
}

} // namespace cleave::emulated
