// Translates one PTX function to one function of LLVM IR.
//
// Every register becomes a variable on the stack: an integer of the register's width, whatever its type. (PTX registers
// have no type of their own; `f32` is how an instruction reads one.) LLVM's mem2reg turns these variables into values.
// A guard becomes a branch around its instruction. An operation that needs other threads, checks or the maths library
// becomes a call (block/Intrinsics.h). A call before every load and store checks the access.
//
//     @%p1 st.global.f32 [%rd1+4], %f1;
//
//       br i1 %p1, label %then, label %next
//     then:
//       %host = call i64 @emu_access(i64 %address, i32 4, i32 1, i32 4, i32 line)
//       store i32 %f1, ptr %host
//       br label %next
//
// Parameters: an entry has one parameter, an array of pointers to its arguments. A .func has a pointer for each result
// and argument.
#pragma once
#include "test/cuda/emulated/ptx/Syntax.h"
#include "test/cuda/emulated/translate/Modifiers.h"
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cleave::emulated {

// The data that the functions of one module share.
struct ModuleContext {
  const ptx::Module *source = nullptr;
  std::map<std::string, uint64_t> globals;       // .global and .const: their addresses
  std::map<std::string, uint64_t> sharedOffsets; // .shared of the module: offsets into the block's shared memory
  uint32_t moduleShared = 0;                     // bytes of the module's static .shared
  std::map<std::string, const ptx::Function *> functions;
};

class FunctionTranslator {
public:
  FunctionTranslator(llvm::Module &target, const ModuleContext &module, const ptx::Function &function);

  // Returns false with `error` set if an instruction is not emulated.
  bool run();
  const std::string &error() const { return message; }
  // Static shared memory of the block, in bytes.
  uint32_t sharedBytes() const { return shared; }

  // ---- for the handlers of instructions
  llvm::IRBuilder<> b;

  llvm::Type *intType(unsigned bits) { return b.getIntNTy(checkedWidth(bits)); }
  // Returns `bits`. If it is 0, the instruction has no type: sets the error and returns 32.
  unsigned checkedWidth(unsigned bits);
  // The operand as an integer of this width. Registers are truncated, or extended with zeros.
  llvm::Value *read(const ptx::Operand &o, unsigned bits);
  llvm::Value *readSigned(const ptx::Operand &o, unsigned bits); // extended with the sign
  llvm::Value *readPredicate(const ptx::Operand &o) { return read(o, 1); }
  // Stores an integer of any width into a register. It is truncated, or extended with zeros (or the sign).
  void write(const ptx::Operand &o, llvm::Value *value, bool isSigned = false);
  unsigned widthOf(const ptx::Operand &o) const; // 0: not a register
  // The 64-bit address that an operand [base+offset] names. `space` is the state space of the instruction.
  llvm::Value *address(const ptx::Operand &o, const std::string &space);

  // Floating point: the value in the type in which it is computed (double for f16 and bf16), and back with one
  // rounding.
  llvm::Value *readFloat(const ptx::Operand &o, const std::string &type);
  void writeFloat(const ptx::Operand &o, llvm::Value *value, const std::string &type);
  llvm::Value *toCompute(llvm::Value *bits, const std::string &type);
  llvm::Value *fromCompute(llvm::Value *value, const std::string &type);
  llvm::Value *flushDenormal(llvm::Value *value); // f32
  llvm::Value *saturate(llvm::Value *value);      // to [0, 1]; NaN becomes 0

  // A call of an intrinsic. Integer and floating arguments are passed as they are.
  llvm::Value *call(const char *name, llvm::Type *result, llvm::ArrayRef<llvm::Value *> arguments, bool pure = false);
  llvm::Value *word(uint32_t value) { return b.getInt32(value); }
  // Memory for results through pointers (scratch) and for lists of registers (scratchIn). Every call reuses it.
  llvm::Value *scratch(unsigned words);
  llvm::Value *scratchIn(unsigned words);
  // Checks an access at run time. Returns the host's address of the bytes.
  llvm::Value *checkAccess(llvm::Value *address, unsigned bytes, unsigned kind, unsigned alignment,
                           const ptx::Instruction &i);

  llvm::BasicBlock *newBlock(const char *name) { return llvm::BasicBlock::Create(b.getContext(), name, body); }
  llvm::BasicBlock *label(const std::string &name);
  const std::vector<std::string> *branchTargets(const std::string &name) const;
  void jumpToEnd();
  void startUnreachable();                               // code after a jump
  llvm::Value *carry();                                  // the flag of add.cc and its kin
  llvm::Value *parameterMemory(const std::string &name); // of a .param variable; null if there is none
  const ModuleContext &moduleContext() const { return module; }
  llvm::Module &target() { return irModule; }
  void fail(const ptx::Instruction &i, const std::string &why);
  void refuse(const std::string &why) { fail(*now, why); } // for the instruction that is being translated

private:
  void declare();
  void findLabels();
  void declareVariable(const ptx::Variable &v);
  void statement(const ptx::Statement &s);
  void declareRegisters(const ptx::Statement &s);
  void closeScope();
  void instruction(const ptx::Instruction &i);
  llvm::Value *readName(const ptx::Operand &o, unsigned bits);
  llvm::Value *special(const std::string &name);
  llvm::Value *addressOfSymbol(const std::string &name);
  llvm::Value *stackSlot(llvm::Type *type, unsigned align, const std::string &name);

  struct Register {
    llvm::AllocaInst *slot;
    unsigned bits;
  };

  llvm::Module &irModule;
  const ModuleContext &module;
  const ptx::Function &source;
  llvm::Function *body = nullptr;
  llvm::BasicBlock *entry = nullptr, *end = nullptr;
  std::map<std::string, Register> registers;
  std::map<std::string, llvm::Value *> parameters; // pointers
  std::map<std::string, llvm::Value *> locals;     // pointers
  std::map<std::string, uint64_t> sharedOffsets;
  uint32_t shared = 0;
  uint64_t localBytes = 0; // on the thread's stack
  llvm::AllocaInst *scratchMemory = nullptr, *scratchInput = nullptr, *carryFlag = nullptr;
  const ptx::Instruction *now = nullptr;
  std::string message;

  // Scopes: every `{` has a number. A label belongs to the innermost scope that defines it. So does a register, which
  // hides one of the same name until its scope closes.
  std::vector<int> scopes{0};
  std::vector<std::vector<std::pair<std::string, Register>>> hidden{{}};
  int scopeCount = 0;
  std::map<std::pair<int, std::string>, llvm::BasicBlock *> labels;
  std::map<std::string, std::vector<std::string>> targetLists;
};

// Translates one instruction: removes its modifiers from the list, and emits code.
using Handler = void (*)(FunctionTranslator &, const ptx::Instruction &, Modifiers &);
using Handlers = std::map<std::string, Handler>;
const Handlers &handlers();

// Each family adds its opcodes.
void addArithmetic(Handlers &h);  // add, sub, mul, mad, fma, div, rem, abs, neg, min, max
void addBits(Handlers &h);        // and, or, shl, bfe, prmt, ...
void addFunctions(Handlers &h);   // sqrt, ex2, tanh, ...
void addComparisons(Handlers &h); // setp, set, selp, slct
void addConversions(Handlers &h); // cvt, mov
void addMemory(Handlers &h);      // ld, st, atom, red, cvta
void addControl(Handlers &h);     // bra, call, ret
void addWarp(Handlers &h);        // shfl, vote, bar
void addAsync(Handlers &h);       // cp.async, mbarrier, fences
void addMatrix(Handlers &h);      // ldmatrix, mma, wgmma

inline bool isFloatType(const std::string &type) {
  return type == "f32" || type == "f64" || type == "f16" || type == "bf16" || type == "tf32";
}
inline bool isSignedType(const std::string &type) { return type[0] == 's'; }
// f16x2, bf16x2, f32x2: the element's type; otherwise empty.
inline std::string packedElement(const std::string &type) {
  return type == "f16x2" ? "f16" : type == "bf16x2" ? "bf16" : type == "f32x2" ? "f32" : "";
}

} // namespace cleave::emulated
