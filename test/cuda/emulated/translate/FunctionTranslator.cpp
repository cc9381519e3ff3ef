#include "test/cuda/emulated/translate/FunctionTranslator.h"
#include "test/cuda/emulated/block/Intrinsics.h"

namespace cleave::emulated {

const Handlers &handlers() {
  static const Handlers all = [] {
    Handlers h;
    addArithmetic(h);
    addBits(h);
    addFunctions(h);
    addComparisons(h);
    addConversions(h);
    addMemory(h);
    addControl(h);
    addWarp(h);
    addAsync(h);
    addMatrix(h);
    return h;
  }();
  return all;
}

FunctionTranslator::FunctionTranslator(llvm::Module &target, const ModuleContext &module, const ptx::Function &function)
    : b(target.getContext()), irModule(target), module(module), source(function), sharedOffsets(module.sharedOffsets),
      shared(module.moduleShared) {}

void FunctionTranslator::fail(const ptx::Instruction &i, const std::string &why) {
  if (message.empty())
    message = source.name + ", line " + std::to_string(i.line) + ": `" + i.spelling() + "`: " + why;
}

llvm::Value *FunctionTranslator::stackSlot(llvm::Type *type, unsigned align, const std::string &name) {
  llvm::IRBuilder<> at(entry, entry->begin());
  llvm::AllocaInst *slot = at.CreateAlloca(type, nullptr, name);
  if (align > 1)
    slot->setAlignment(llvm::Align(align));
  return slot;
}

void FunctionTranslator::declare() {
  llvm::Type *pointer = b.getPtrTy();
  size_t count = source.isEntry ? 1 : source.results.size() + source.parameters.size();
  std::vector<llvm::Type *> types(count, pointer);
  auto *type = llvm::FunctionType::get(b.getVoidTy(), types, false);
  std::string name = (source.isEntry ? "entry." : "func.") + source.name;
  body = irModule.getFunction(name);
  if (!body)
    body = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, irModule);
  if (!source.isEntry)
    body->setLinkage(llvm::Function::InternalLinkage);
  body->addFnAttr(llvm::Attribute::NoUnwind);
  entry = newBlock("entry");
  end = newBlock("end");
  b.SetInsertPoint(entry);
  if (source.isEntry) {
    llvm::Value *array = body->getArg(0);
    for (size_t i = 0; i < source.parameters.size(); i++)
      parameters[source.parameters[i].name] = b.CreateLoad(pointer, b.CreateConstInBoundsGEP1_64(pointer, array, i));
    return;
  }
  unsigned at = 0;
  for (const ptx::Variable &v : source.results)
    parameters[v.name] = body->getArg(at++);
  for (const ptx::Variable &v : source.parameters)
    parameters[v.name] = body->getArg(at++);
}

void FunctionTranslator::findLabels() {
  std::vector<int> open{0};
  int count = 0;
  for (const ptx::Statement &s : source.body) {
    if (s.kind == ptx::Statement::Kind::Open)
      open.push_back(++count);
    else if (s.kind == ptx::Statement::Kind::Close)
      open.pop_back();
    else if (s.kind == ptx::Statement::Kind::Label)
      labels[{open.back(), s.label}] = newBlock("label");
    else if (s.kind == ptx::Statement::Kind::BranchTargets)
      targetLists[s.label] = s.targets;
  }
}

bool FunctionTranslator::run() {
  declare();
  findLabels();
  // Static shared memory comes first. An extern array is the dynamic part, which starts after it.
  std::vector<const ptx::Variable *> dynamic;
  for (const ptx::Statement &s : source.body)
    if (s.kind == ptx::Statement::Kind::Variable && s.variable.space == "shared") {
      if (s.variable.isExtern || !s.variable.bytes)
        dynamic.push_back(&s.variable);
      else
        declareVariable(s.variable);
    }
  for (const ptx::Variable &v : module.source->variables)
    if (v.space == "shared" && (v.isExtern || !v.bytes))
      dynamic.push_back(&v);
  for (const ptx::Variable *v : dynamic) {
    unsigned align = std::max(16u, v->align);
    shared = (shared + align - 1) / align * align;
  }
  for (const ptx::Variable *v : dynamic)
    sharedOffsets[v->name] = shared;

  for (const ptx::Statement &s : source.body) {
    statement(s);
    if (!message.empty())
      return false;
  }
  b.CreateBr(end);
  b.SetInsertPoint(end);
  b.CreateRetVoid();
  return true;
}

void FunctionTranslator::declareVariable(const ptx::Variable &v) {
  if (v.space == "shared") {
    unsigned align = std::max(1u, v.align);
    shared = (shared + align - 1) / align * align;
    sharedOffsets[v.name] = shared;
    shared += uint32_t(v.bytes);
    return;
  }
  // A thread's stack has 64 KiB, which calls need too. A device gives up to 512 KiB of local memory, but kernels here
  // need none.
  localBytes += v.bytes;
  if (localBytes > 24 << 10 && message.empty())
    message =
        source.name + " has " + std::to_string(localBytes) + " bytes of local memory; the emulator has room for 24 KiB";
  llvm::Type *type = llvm::ArrayType::get(b.getInt8Ty(), v.bytes);
  llvm::Value *memory = stackSlot(type, std::max(16u, v.align), v.name);
  if (v.space == "param") {
    parameters[v.name] = memory;
  } else {
    locals[v.name] = memory;
    b.CreateMemSet(memory, b.getInt8(0xff), v.bytes, llvm::MaybeAlign(16)); // not initialized: NaN patterns
  }
}

void FunctionTranslator::declareRegisters(const ptx::Statement &s) {
  for (const ptx::Register &r : s.registers) {
    auto outer = registers.find(r.name);
    hidden.back().push_back({r.name, outer == registers.end() ? Register{nullptr, 0} : outer->second});
    registers[r.name] = {llvm::cast<llvm::AllocaInst>(stackSlot(intType(r.bits), 1, "r")), r.bits};
    // A register that is read before it is written is undefined. Here it has a NaN pattern, independent of the
    // optimizer.
    b.CreateStore(llvm::ConstantInt::getAllOnesValue(intType(r.bits)), registers[r.name].slot);
  }
}

void FunctionTranslator::closeScope() {
  for (auto &[name, outer] : hidden.back())
    if (outer.slot)
      registers[name] = outer;
    else
      registers.erase(name);
  hidden.pop_back();
  scopes.pop_back();
}

void FunctionTranslator::statement(const ptx::Statement &s) {
  switch (s.kind) {
  case ptx::Statement::Kind::Open:
    scopes.push_back(++scopeCount);
    hidden.emplace_back();
    break;
  case ptx::Statement::Kind::Close:
    closeScope();
    break;
  case ptx::Statement::Kind::Label: {
    llvm::BasicBlock *block = labels[{scopes.back(), s.label}];
    b.CreateBr(block);
    b.SetInsertPoint(block);
    break;
  }
  case ptx::Statement::Kind::Registers:
    declareRegisters(s);
    break;
  case ptx::Statement::Kind::Variable:
    if (s.variable.space != "shared")
      declareVariable(s.variable);
    break;
  case ptx::Statement::Kind::BranchTargets:
    break;
  case ptx::Statement::Kind::Instruction:
    instruction(s.instruction);
    break;
  }
}

void FunctionTranslator::instruction(const ptx::Instruction &i) {
  now = &i;
  auto found = handlers().find(i.opcode[0]);
  if (found == handlers().end())
    return fail(i, "this instruction is not emulated");
  llvm::BasicBlock *next = nullptr;
  if (!i.guard.empty()) {
    ptx::Operand guard;
    guard.kind = ptx::Operand::Kind::Name;
    guard.name = i.guard;
    llvm::Value *condition = readPredicate(guard);
    if (!message.empty())
      return;
    llvm::BasicBlock *then = newBlock("then");
    next = newBlock("next");
    b.CreateCondBr(condition, i.guardNegated ? next : then, i.guardNegated ? then : next);
    b.SetInsertPoint(then);
  }
  Modifiers modifiers(i);
  found->second(*this, i, modifiers);
  if (message.empty() && !modifiers.left().empty())
    fail(i, "the modifier ." + modifiers.left().front() + " is not emulated");
  if (next) {
    b.CreateBr(next);
    b.SetInsertPoint(next);
  }
}

unsigned FunctionTranslator::checkedWidth(unsigned bits) {
  if (!bits && now)
    refuse("has no type");
  return bits ? bits : 32;
}

llvm::BasicBlock *FunctionTranslator::label(const std::string &name) {
  for (size_t i = scopes.size(); i--;) {
    auto found = labels.find({scopes[i], name});
    if (found != labels.end())
      return found->second;
  }
  fail(*now, "no label " + name);
  return end;
}

const std::vector<std::string> *FunctionTranslator::branchTargets(const std::string &name) const {
  auto found = targetLists.find(name);
  return found == targetLists.end() ? nullptr : &found->second;
}

void FunctionTranslator::jumpToEnd() {
  b.CreateBr(end);
  startUnreachable();
}

void FunctionTranslator::startUnreachable() { b.SetInsertPoint(newBlock("after")); }

llvm::Value *FunctionTranslator::carry() {
  if (!carryFlag) {
    carryFlag = llvm::cast<llvm::AllocaInst>(stackSlot(b.getInt1Ty(), 1, "carry"));
    llvm::IRBuilder<>(entry, ++carryFlag->getIterator()).CreateStore(b.getInt1(false), carryFlag);
  }
  return carryFlag;
}

llvm::Value *FunctionTranslator::parameterMemory(const std::string &name) {
  auto found = parameters.find(name);
  return found == parameters.end() ? nullptr : found->second;
}

llvm::Value *FunctionTranslator::scratch(unsigned words) {
  if (!scratchMemory)
    scratchMemory = llvm::cast<llvm::AllocaInst>(stackSlot(llvm::ArrayType::get(b.getInt32Ty(), 128), 16, "out"));
  if (words > 128)
    fail(*now, "has too many results");
  return scratchMemory;
}

llvm::Value *FunctionTranslator::scratchIn(unsigned words) {
  if (!scratchInput)
    scratchInput = llvm::cast<llvm::AllocaInst>(stackSlot(llvm::ArrayType::get(b.getInt32Ty(), 64), 16, "in"));
  if (words > 64)
    fail(*now, "has too many operands");
  return scratchInput;
}

llvm::Value *FunctionTranslator::call(const char *name, llvm::Type *result, llvm::ArrayRef<llvm::Value *> arguments,
                                      bool pure) {
  std::vector<llvm::Type *> types;
  for (llvm::Value *a : arguments)
    types.push_back(a->getType());
  auto *type = llvm::FunctionType::get(result, types, false);
  llvm::FunctionCallee callee = irModule.getOrInsertFunction(name, type);
  auto *function = llvm::cast<llvm::Function>(callee.getCallee());
  function->addFnAttr(llvm::Attribute::NoUnwind);
  if (pure) {
    function->setDoesNotAccessMemory();
    function->addFnAttr(llvm::Attribute::WillReturn);
  }
  return b.CreateCall(callee, arguments);
}

llvm::Value *FunctionTranslator::checkAccess(llvm::Value *address, unsigned bytes, unsigned kind, unsigned alignment,
                                             const ptx::Instruction &i) {
  return call("emu_access", b.getInt64Ty(),
              {address, word(bytes), word(kind), word(alignment), word(uint32_t(i.line))});
}

} // namespace cleave::emulated
