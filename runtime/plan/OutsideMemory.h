// What a process takes besides the regions of its ranks: an upper bound that follows from the plan alone.
//
// Regions hold all tensors and all scratch of libraries, to the byte. What remains is code and the objects that run it.
// It does not depend on how many samples and channels a tensor has, but on how much code there is: a network of
// hundreds of different convolutions takes more than one matrix product.
//
//   base          the program's and the libraries' own pages, stacks, the plan, ports: 16 MiB
//   library       of each library kernel: oneDNN's objects, and the code that it makes for the kernel's shapes
//   generated     of each generated kernel: its machine code, which is mapped from the executable
//   instructions  of each instruction: what it is bound to
//
// A library kernel's share holds for each kernel, not on average: of about 27,000 that were drawn at random none took
// more, with the instructions of AVX2, AVX-512 and AVX-512 with bf16 (oneDNN 2.6; processors with AMX were not tried).
// test/runtime/device/KernelMemoryTest draws more, and has since found four kinds that did, which the bound now knows:
// pointwise convolutions of fewer channels than a block and those of bf16, products of bf16, and sums of many parts.
// Most kernels take a half to a tenth of it. Measured above the plan,
// and bounds, in MiB (two cores, batch 2, test/e2e/memory/memory-kernels.test):
//
//   `chain`, different dense convolutions        inference 12.4, 39.1    training 22.6, 60.7
//   `depthwise`, inverted bottlenecks            inference 9.4, 34.8     training 19.0, 54.7
//   the latter in bf16 on two ranks                                      training 22.5, 102
//
// Ranks that are threads of one process share what oneDNN has made for equal shapes, so the sum over ranks is more than
// they take. Memory of MPI is not in it, nor are pages of mapped data files.
#ifndef CLEAVE_RUNTIME_PLAN_OUTSIDEMEMORY_H
#define CLEAVE_RUNTIME_PLAN_OUTSIDEMEMORY_H

#include "runtime/plan/KernelDefs.h"

#include <cstdint>

namespace cleave::rt {

struct OutsideMemory {
  uint64_t base = 0, generated = 0;       // of a process
  uint64_t library = 0, instructions = 0; // of each of its ranks

  uint64_t ofProcess(uint64_t ranks) const { return base + generated + ranks * (library + instructions); }
};

// Of ranks of one kind, on hosts with the target's instructions; all zero where the plan's target is another device.
OutsideMemory outsideMemory(const fb::Plan &plan);
// The share of one library kernel; 0 of a kernel of another kind. Without AVX-512, products are kernels of our own, for
// which no code is made, and convolutions over many channels are made of parts.
uint64_t libraryKernelBytes(const KernelArgs &args, bool hasAvx512);

// Products of one sum that are added in one chain. On the host longer sums are made of parts (kernels/matmul) of about
// kPartOfSum products, or longer ones, but of no more than kMostParts. Their first, middle and last have code of their
// own, and all have objects of their own.
inline constexpr int64_t kLongestSum = 1024, kPartOfSum = 384, kMostParts = 1024;

} // namespace cleave::rt

#endif
