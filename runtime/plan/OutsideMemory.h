// The memory of a process outside of the plan's regions: an upper bound that follows from the plan alone.
//
// Regions hold all tensors and all scratch of libraries, to the byte. The rest of a process is code, and objects that
// run the code. Its size does not depend on the number of samples or channels, but on the amount of code: a network
// with hundreds of different convolutions needs more than one matrix product. The bound is a sum:
//
//   base          the pages of the program and its libraries, stacks, the plan, ports: 16 MiB
//   library       for each library kernel: oneDNN's objects, and the code that oneDNN generates for the kernel's shapes
//   generated     for each generated kernel: its machine code, which is mapped from the executable
//   instructions  for each instruction: the action that it is bound to
//
// The share of a library kernel is a bound for each kernel, not on average. It was fitted with random shapes: about
// 27,000 with the instructions of AVX2, AVX-512, and AVX-512 with bf16, and 23,000 on a processor with AMX, 8,600 of
// them in bf16 (oneDNN 2.6). test/runtime/device/KernelMemoryTest draws more of them; no shape of its seeds 1, 2 and 5
// needs more than its share. A plan may run on another processor with the target's instructions, so bf16 has the bound
// of AMX on all of them. Most kernels need between a tenth and a half of their share, and those in bf16 less. Memory
// measured above the plan, and the bounds, in MiB (two cores, batch 2, test/e2e/memory/memory-kernels.test):
//
//   `chain`, different dense convolutions        inference 12.4, 39.1    training 23.4, 60.7
//   `depthwise`, inverted bottlenecks            inference 9.4, 34.8     training 19.5, 54.7
//   the latter in bf16 on two ranks                                      training 24.0, 313
//
// Ranks that are threads of one process share the code that oneDNN has generated for equal shapes, so they need less
// than the sum over ranks. The bound includes neither the memory of MPI nor the pages of mapped data files: neither
// follows from the plan. A run adds both to it at its end (Session::memoryReport).
#ifndef CLEAVE_RUNTIME_PLAN_OUTSIDEMEMORY_H
#define CLEAVE_RUNTIME_PLAN_OUTSIDEMEMORY_H

#include "runtime/plan/KernelDefs.h"

#include <cstdint>

namespace cleave::rt {

struct OutsideMemory {
  uint64_t base = 0, generated = 0;       // bytes of a process
  uint64_t library = 0, instructions = 0; // bytes of each of its ranks

  uint64_t ofProcess(uint64_t ranks) const { return base + generated + ranks * (library + instructions); }
};

// Returns the bound for ranks of one kind, on hosts with the target's instructions. All zero if the target is not a
// host.
OutsideMemory outsideMemory(const fb::Plan &plan);
// Returns the share of one library kernel in bytes; 0 if the kernel is not a library kernel. Without AVX-512, Cleave's
// own kernels compute products, and no code is generated for them; convolutions over many channels are computed in
// parts.
uint64_t libraryKernelBytes(const KernelArgs &args, bool hasAvx512);

// The length of a sum is the number of products in it. A sum of up to kLongestSum products is one chain of additions.
// On the host, longer sums are split into parts (kernels/matmul) of about kPartOfSum products, or of more, so that
// there are at most kMostParts. The first, the middle and the last parts have their own code, and each part has its own
// objects.
inline constexpr int64_t kLongestSum = 1024, kPartOfSum = 384, kMostParts = 1024;

// The same for a convolution (kernels/convolution) without AVX-512, whose library adds all products of an output
// (channels x window) in one chain of f32 additions. At 256 channels and a 3x3 window, the error of one chain is 8.2e-7
// of the result. So sums longer than kLongestChain are divided by channels into at most kMostPartsOfChain parts of about
// kPartOfChain products, whose results are added. Each part has whole blocks of kBlockOfChannels channels, as the
// library's formats for AVX2 and SSE 4.1 have, except the last.
inline constexpr int64_t kLongestChain = 512, kPartOfChain = 216, kMostPartsOfChain = 64, kBlockOfChannels = 8;

} // namespace cleave::rt

#endif
