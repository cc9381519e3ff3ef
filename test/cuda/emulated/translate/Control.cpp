// Branches, calls, returns, traps.
#include "test/cuda/emulated/translate/FunctionTranslator.h"

namespace cleave::emulated {
namespace {

using llvm::Value;
using T = FunctionTranslator;
using I = ptx::Instruction;

void branch(T &t, const I &i, Modifiers &m) {
  m.take("uni");
  t.b.CreateBr(t.label(i.operands[0].name));
  t.startUnreachable();
}

// brx.idx %r1, table: PTX does not define an index outside of the table. Here it is a trap.
void branchByIndex(T &t, const I &i, Modifiers &m) {
  m.take("idx");
  m.take("uni");
  const std::vector<std::string> *targets = t.branchTargets(i.operands[1].name);
  if (!targets)
    return t.fail(i, "no branch targets " + i.operands[1].name);
  llvm::BasicBlock *outside = t.newBlock("outside");
  llvm::SwitchInst *choice = t.b.CreateSwitch(t.read(i.operands[0], 32), outside, unsigned(targets->size()));
  for (size_t k = 0; k < targets->size(); k++)
    choice->addCase(t.b.getInt32(uint32_t(k)), t.label((*targets)[k]));
  t.b.SetInsertPoint(outside);
  t.call("emu_trap", t.b.getVoidTy(), {t.word(uint32_t(i.line))});
  t.jumpToEnd();
}

void finish(T &t, const I &, Modifiers &m) {
  m.take("uni");
  t.jumpToEnd();
}

void trap(T &t, const I &i, Modifiers &) {
  t.call("emu_trap", t.b.getVoidTy(), {t.word(uint32_t(i.line))});
  t.jumpToEnd();
}

// __assertfail(message, file, line, function, size): the function that assert() of CUDA C++ calls.
void assertion(T &t, const I &i, const std::vector<Value *> &arguments) {
  if (arguments.size() < 4)
    return t.fail(i, "__assertfail with too few arguments");
  std::vector<Value *> loaded;
  for (unsigned k = 0; k < 4; k++)
    loaded.push_back(t.b.CreateLoad(k == 2 ? t.b.getInt32Ty() : t.b.getInt64Ty(), arguments[k]));
  t.call("emu_assertion", t.b.getVoidTy(), loaded);
  t.jumpToEnd();
}

// call.uni (results), name, (arguments): all of these are .param variables of the caller.
void callFunction(T &t, const I &i, Modifiers &m) {
  m.take("uni");
  size_t at = i.operands[0].kind == ptx::Operand::Kind::Vector ? 1 : 0;
  if (at >= i.operands.size() || i.operands[at].kind != ptx::Operand::Kind::Name)
    return t.fail(i, "calls by pointer are not emulated");
  const std::string &name = i.operands[at].name;
  std::vector<Value *> pointers;
  auto pass = [&](const ptx::Operand &list) {
    for (const ptx::Operand &o : list.parts)
      if (Value *memory = t.parameterMemory(o.name))
        pointers.push_back(memory);
      else
        t.fail(i, "passes " + o.name + ", which is no .param variable");
  };
  if (at)
    pass(i.operands[0]);
  size_t results = pointers.size();
  if (i.operands.size() > at + 1)
    pass(i.operands[at + 1]);
  if (name == "__assertfail")
    return assertion(t, i, pointers);
  auto found = t.moduleContext().functions.find(name);
  if (found == t.moduleContext().functions.end() || !found->second->hasBody)
    return t.fail(i, "the function " + name + " is not in the module");
  if (found->second->results.size() != results || found->second->parameters.size() != pointers.size() - results)
    return t.fail(i, "the call of " + name + " has another number of arguments than its declaration");
  std::vector<llvm::Type *> types(pointers.size(), t.b.getPtrTy());
  auto *type = llvm::FunctionType::get(t.b.getVoidTy(), types, false);
  t.b.CreateCall(t.target().getOrInsertFunction("func." + name, type), pointers);
}

// Waiting and programmatic launch. They do nothing, because every operation is complete before its thread continues.
void nothing(T &, const I &, Modifiers &m) {
  for (const char *part : {"u32", "launch_dependents", "wait"})
    m.take(part);
}

} // namespace

void addControl(Handlers &h) {
  h["bra"] = branch;
  h["brx"] = branchByIndex;
  h["ret"] = finish;
  h["exit"] = finish;
  h["trap"] = h["brkpt"] = trap;
  h["call"] = callFunction;
  h["nanosleep"] = h["griddepcontrol"] = nothing;
}

} // namespace cleave::emulated
