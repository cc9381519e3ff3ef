// cp.async, mbarriers, fences.
#include "test/cuda/emulated/translate/FunctionTranslator.h"

namespace cleave::emulated {
namespace {

using llvm::Value;
using T = FunctionTranslator;
using I = ptx::Instruction;

void takeSharedSpace(Modifiers &m) {
  for (const char *space : {"shared", "shared::cta", "shared::cluster", "global"})
    m.take(space);
}

void copy(T &t, const I &i, Modifiers &m) {
  m.take("async");
  if (m.take("commit_group")) {
    t.call("emu_copy_commit", t.b.getVoidTy(), {});
    return;
  }
  if (m.take("wait_group")) {
    t.call("emu_copy_wait", t.b.getVoidTy(), {t.read(i.operands[0], 32)});
    return;
  }
  if (m.take("wait_all")) {
    t.call("emu_copy_wait_all", t.b.getVoidTy(), {});
    return;
  }
  if (m.take("mbarrier")) {
    m.take("arrive");
    m.take("b64");
    takeSharedSpace(m);
    bool noIncrement = m.take("noinc");
    t.call("emu_mbarrier_arrive_copies", t.b.getVoidTy(), {t.address(i.operands[0], "shared"), t.word(noIncrement)});
    return;
  }
  if (m.take("bulk"))
    return t.fail(i, "bulk copies are not emulated");
  m.take("ca");
  m.take("cg");
  takeSharedSpace(m);
  while (!m.takePrefix("L2::").empty())
    ;
  Value *bytes = t.read(i.operands[2], 32), *source = bytes;
  if (i.operands.size() > 3) {
    const ptx::Operand &o = i.operands[3]; // a number of bytes, or the predicate ignore-src
    source = t.widthOf(o) == 1 ? t.b.CreateSelect(t.readPredicate(o), t.word(0), bytes) : t.read(o, 32);
  }
  t.call("emu_copy_async", t.b.getVoidTy(),
         {t.address(i.operands[0], "shared"), t.address(i.operands[1], "global"), bytes, source,
          t.word(uint32_t(i.line))});
}

void mbarrier(T &t, const I &i, Modifiers &m) {
  m.take("b64");
  takeSharedSpace(m);
  for (const char *part : {"release", "acquire", "relaxed", "cta", "cluster"})
    m.take(part);
  if (m.take("init")) {
    t.call("emu_mbarrier_init", t.b.getVoidTy(), {t.address(i.operands[0], "shared"), t.read(i.operands[1], 32)});
    return;
  }
  if (m.take("inval")) {
    t.call("emu_mbarrier_invalidate", t.b.getVoidTy(), {t.address(i.operands[0], "shared")});
    return;
  }
  if (m.take("arrive")) {
    if (m.take("expect_tx") || m.take("noComplete"))
      return t.fail(i, "with transactions is not emulated");
    Value *count = i.operands.size() > 2 ? t.read(i.operands[2], 32) : t.word(1);
    t.write(i.operands[0],
            t.call("emu_mbarrier_arrive", t.b.getInt64Ty(), {t.address(i.operands[1], "shared"), count}));
    return;
  }
  bool poll = m.take("try_wait");
  if (!poll && !m.take("test_wait"))
    return t.fail(i, "is not emulated");
  // Without .parity the operand is the state that arrive returned: the phase, whose parity is its lowest bit.
  bool parity = m.take("parity");
  Value *phase = t.b.CreateZExtOrTrunc(t.read(i.operands[2], parity ? 32 : 64), t.b.getInt32Ty());
  Value *r = t.call("emu_mbarrier_test", t.b.getInt32Ty(), {t.address(i.operands[1], "shared"), phase, t.word(poll)});
  t.write(i.operands[0], t.b.CreateICmpNE(r, t.word(0)));
}

// Every access is complete before its thread continues, so a fence has nothing to order.
void fence(T &, const I &, Modifiers &m) {
  for (const char *part :
       {"sc", "acq_rel", "acquire", "release", "cta", "cluster", "gpu", "sys", "gl", "proxy", "async", "alias",
        "global", "shared::cta", "shared::cluster", "mbarrier_init", "sync_restrict"})
    m.take(part);
}

} // namespace

void addAsync(Handlers &h) {
  h["cp"] = copy;
  h["mbarrier"] = mbarrier;
  h["fence"] = h["membar"] = fence;
}

} // namespace cleave::emulated
