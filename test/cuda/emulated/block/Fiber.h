// A fiber: a stack, and a saved position in the code that runs on it. Each CUDA thread of a block is a fiber of the OS
// thread that runs the block. Fibers switch only where the emulator makes them: at barriers, warp operations and waits.
// Between two switches a CUDA thread runs alone. So translated code needs no locks, and a run depends only on the seed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace cleave::emulated {

struct Fiber {
  void *stackPointer = nullptr;
};

// Saves the running fiber into `from` and continues with `to`.
void switchFiber(Fiber &from, Fiber &to);

// Makes `fiber` start in `entry` at its first switch. `entry` must never return: it must end with a switch to another
// fiber.
void prepareFiber(Fiber &fiber, char *stackTop, void (*entry)());

} // namespace cleave::emulated
