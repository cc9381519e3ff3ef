#include "test/cuda/emulated/block/Fiber.h"

#if !defined(__x86_64__) || !defined(__linux__)
#error "the emulated device runs on x86-64 Linux: its fibers save that ABI's registers"
#endif

// System V x86-64: a function preserves rbp, rbx, r12 to r15 and the stack pointer. The control words of the
// floating-point unit are the same in all fibers, so they are not saved.
asm(R"(.text
.globl cleave_emulated_switch
.hidden cleave_emulated_switch
.type cleave_emulated_switch,@function
cleave_emulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cleave_emulated_switch,.-cleave_emulated_switch
)");
extern "C" void cleave_emulated_switch(void **save, void *to);

namespace cleave::emulated {

void switchFiber(Fiber &from, Fiber &to) { cleave_emulated_switch(&from.stackPointer, to.stackPointer); }

void prepareFiber(Fiber &fiber, char *stackTop, void (*entry)()) {
  auto **top = reinterpret_cast<void **>(reinterpret_cast<uintptr_t>(stackTop) & ~uintptr_t(15));
  *--top = nullptr; // the return address of `entry`; and the alignment that the ABI requires at a call
  *--top = reinterpret_cast<void *>(entry);
  for (int i = 0; i < 6; i++)
    *--top = nullptr;
  fiber.stackPointer = top;
}

} // namespace cleave::emulated
