// What a process takes besides the regions of its ranks: an upper bound that follows from the plan alone.
//
// Regions hold all tensors and all scratch of libraries, to the byte. What remains is code and the objects that run it.
// It does not depend on sizes of tensors, but on how much there is of it: a network of hundreds of different
// convolutions takes more than one matrix product.
//
//   base          the program's and the libraries' own pages, stacks, the plan, ports: 16 MiB
//   library       of each library kernel: oneDNN's objects, and the code that it makes for the kernel's shapes
//   generated     of each generated kernel: its machine code, which is mapped from the executable
//   instructions  of each instruction: what it is bound to
//
// A library kernel's share is that of the worst quarter of all shapes, measured (test/runtime/device/KernelMemoryTest):
// single kernels may take half as much again, hundreds of them do not. Measured above the plan, and bounds, in MiB (two
// cores with AVX-512, oneDNN 2.6, batch 2, training unless it says inference):
//
//   DenseNet-121 64x64  21.1, 44.8     MobileNetV3-small 64x64  16.7, 33.5     ResNet-50 64x64  13.2, 26.0
//   MobileNetV3-large 224x224, two ranks  28.7, 52.9     EfficientNet-B0 224x224, inference  12.5, 26.2
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

// Of ranks of one kind, on hosts; all zero where the plan's target is another device.
OutsideMemory outsideMemory(const fb::Plan &plan);
// The share of one library kernel; 0 of a kernel of another kind.
uint64_t libraryKernelBytes(const fb::Kernel &kernel);
uint64_t libraryKernelBytes(const KernelArgs &args);

// Products of one sum that are added in one chain. On the host longer sums are made of parts (kernels/matmul), whose
// first, middle and last have code of their own.
inline constexpr int64_t kLongestSum = 1024;

} // namespace cleave::rt

#endif
