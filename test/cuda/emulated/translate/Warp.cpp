// Operations of warps and blocks: shuffles, votes, barriers.
#include "test/cuda/emulated/block/Block.h"
#include "test/cuda/emulated/block/Intrinsics.h"
#include "test/cuda/emulated/translate/FunctionTranslator.h"

namespace cleave::emulated {
namespace {

using llvm::Value;
using T = FunctionTranslator;
using I = ptx::Instruction;

// Writes a result. If `to` is a pair r|p, also writes the predicate from the scratch memory.
void writePair(T &t, const ptx::Operand &to, Value *value, Value *predicateMemory) {
  if (to.kind != ptx::Operand::Kind::Pair)
    return t.write(to, value);
  t.write(to.parts[0], value);
  Value *p = t.b.CreateLoad(t.b.getInt32Ty(), predicateMemory);
  t.write(to.parts[1], t.b.CreateICmpNE(p, t.word(0)));
}

void shuffle(T &t, const I &i, Modifiers &m) {
  m.take("b32");
  if (!m.take("sync"))
    return t.fail(i, "without .sync is not emulated");
  std::string mode = m.takeAny({"up", "down", "bfly", "idx"});
  ShuffleMode code = mode == "up"     ? ShuffleMode::Up
                     : mode == "down" ? ShuffleMode::Down
                     : mode == "bfly" ? ShuffleMode::Xor
                                      : ShuffleMode::Index;
  Value *out = t.scratch(1);
  Value *r = t.call("emu_shuffle", t.b.getInt32Ty(),
                    {t.word(uint32_t(code)), t.read(i.operands[1], 32), t.read(i.operands[2], 32),
                     t.read(i.operands[3], 32), t.read(i.operands[4], 32), out});
  writePair(t, i.operands[0], r, out);
}

void vote(T &t, const I &i, Modifiers &m) {
  m.take("b32");
  m.take("pred");
  if (!m.take("sync"))
    return t.fail(i, "without .sync is not emulated");
  std::string mode = m.takeAny({"all", "any", "uni", "ballot"});
  VoteMode code = mode == "all"   ? VoteMode::All
                  : mode == "any" ? VoteMode::Any
                  : mode == "uni" ? VoteMode::Uniform
                                  : VoteMode::Ballot;
  Value *predicate = t.b.CreateZExt(t.readPredicate(i.operands[1]), t.b.getInt32Ty());
  Value *r = t.call("emu_vote", t.b.getInt32Ty(), {t.word(uint32_t(code)), predicate, t.read(i.operands[2], 32)});
  t.write(i.operands[0], code == VoteMode::Ballot ? r : t.b.CreateICmpNE(r, t.word(0)));
}

void match(T &t, const I &i, Modifiers &m) {
  unsigned width = ptx::bitsOfType(m.takeType());
  m.take("sync");
  bool all = m.take("all");
  m.take("any");
  Value *out = t.scratch(1), *value = t.b.CreateZExt(t.read(i.operands[1], width), t.b.getInt64Ty());
  Value *r = t.call("emu_match", t.b.getInt32Ty(), {t.word(all), value, t.read(i.operands[2], 32), out});
  writePair(t, i.operands[0], r, out);
}

void reduce(T &t, const I &i, Modifiers &m) {
  std::string type = m.takeType();
  m.take("sync");
  std::string op = m.takeAny({"add", "min", "max", "and", "or", "xor"});
  bool isSigned = isSignedType(type);
  if (isFloatType(type))
    return t.fail(i, "of floating-point numbers is not emulated");
  ReduceMode mode = op == "add"   ? ReduceMode::Add
                    : op == "min" ? (isSigned ? ReduceMode::Min : ReduceMode::UnsignedMin)
                    : op == "max" ? (isSigned ? ReduceMode::Max : ReduceMode::UnsignedMax)
                    : op == "and" ? ReduceMode::And
                    : op == "or"  ? ReduceMode::Or
                                  : ReduceMode::Xor;
  t.write(i.operands[0], t.call("emu_reduce", t.b.getInt32Ty(),
                                {t.word(uint32_t(mode)), t.read(i.operands[1], 32), t.read(i.operands[2], 32)}));
}

void activeMask(T &t, const I &i, Modifiers &m) {
  m.take("b32");
  t.write(i.operands[0], t.call("emu_active_mask", t.b.getInt32Ty(), {}));
}

// elect.sync d|p, mask: one lane of the mask is chosen. Here it is the lowest one.
void elect(T &t, const I &i, Modifiers &m) {
  m.take("sync");
  Value *mask = t.read(i.operands[1], 32);
  Value *chosen = t.b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, mask, t.b.getInt1(false));
  t.call("emu_vote", t.b.getInt32Ty(), {t.word(uint32_t(VoteMode::Ballot)), t.word(1), mask});
  Value *lane = t.call("emu_special", t.b.getInt32Ty(), {t.word(uint32_t(Special::Lane))}, true);
  t.write(i.operands[0].parts[0], chosen);
  t.write(i.operands[0].parts[1], t.b.CreateICmpEQ(lane, chosen));
}

// bar and barrier: .sync a{, b}; .arrive a, b; .red.op p, a{, b}, c; bar.warp.sync mask.
void barrier(T &t, const I &i, Modifiers &m) {
  m.take("cta");
  m.take("aligned");
  if (m.take("warp")) {
    m.take("sync");
    t.call("emu_warp_barrier", t.b.getVoidTy(), {t.read(i.operands[0], 32)});
    return;
  }
  auto threads = [&](size_t k) { return i.operands.size() > k ? t.read(i.operands[k], 32) : t.word(0); };
  if (m.take("arrive")) {
    t.call("emu_barrier_arrive", t.b.getVoidTy(), {t.read(i.operands[0], 32), threads(1)});
    return;
  }
  auto sync = [&](Value *id, Value *count, Block::Reduction reduction, Value *predicate) {
    return t.call("emu_barrier", t.b.getInt32Ty(), {id, count, t.word(uint32_t(reduction)), predicate});
  };
  if (m.take("sync")) {
    sync(t.read(i.operands[0], 32), threads(1), Block::Reduction::None, t.word(0));
    return;
  }
  if (!m.take("red"))
    return t.fail(i, "is not emulated");
  std::string op = m.takeAny({"popc", "and", "or"});
  m.takeType();
  bool hasCount = i.operands.size() > 3;
  Value *predicate = t.b.CreateZExt(t.readPredicate(i.operands[hasCount ? 3 : 2]), t.b.getInt32Ty());
  auto reduction = op == "popc" ? Block::Reduction::Popc : op == "and" ? Block::Reduction::And : Block::Reduction::Or;
  Value *r = sync(t.read(i.operands[1], 32), hasCount ? t.read(i.operands[2], 32) : t.word(0), reduction, predicate);
  t.write(i.operands[0], op == "popc" ? r : t.b.CreateICmpNE(r, t.word(0)));
}

} // namespace

void addWarp(Handlers &h) {
  h["shfl"] = shuffle;
  h["vote"] = vote;
  h["match"] = match;
  h["redux"] = reduce;
  h["activemask"] = activeMask;
  h["elect"] = elect;
  h["bar"] = h["barrier"] = barrier;
}

} // namespace cleave::emulated
