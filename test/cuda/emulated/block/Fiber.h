// A fiber: a stack and a saved place in the code that runs on it. Each CUDA thread of a block is a fiber of the one OS
// thread that runs the block, and the only switches are those that the emulator makes: at barriers, warp operations and
// waits. Between two switches a CUDA thread runs alone, so translated code needs no locks and a run is a function of
// the seed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace cleave::emulated {

struct Fiber {
  void *stackPointer = nullptr;
};

// Saves the running fiber into `from` and goes on with `to`.
void switchFiber(Fiber &from, Fiber &to);

// Makes `fiber` start in `entry` at its first switch. `entry` must never return: its last act is a switch away.
void prepareFiber(Fiber &fiber, char *stackTop, void (*entry)());

} // namespace cleave::emulated
