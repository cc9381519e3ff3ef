// The processor that code is generated for.
//
//   "host"          the one that compiles: features from CPUID, not from its name (on virtual machines, names are
//                   guessed wrong)
//   "host:avx2"     x86-64-v3: any x86 server since 2013
//   "host:avx512"   x86-64-v4: AVX-512 F, BW, CD, DQ, VL
//   "host:generic"  the architecture's baseline
#ifndef CLEAVE_COMPILER_CODEGEN_HOST_HOSTTARGET_H
#define CLEAVE_COMPILER_CODEGEN_HOST_HOSTTARGET_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace cleave {

struct HostTarget {
  std::string cpu;      // LLVM's name: scheduling model and baseline
  std::string features; // "+avx512f,+fma,…", in addition to the baseline
  unsigned vectorWidth; // bits
  bool hasFma;          // if not, a fused multiply-add would be a call of the C library
  // Instructions for 512 bits run in two halves, so those for 256 bits have the same throughput.
  bool halvesVectors = false;

  static HostTarget detect();
  static llvm::Expected<HostTarget> parse(llvm::StringRef text);
};

} // namespace cleave

#endif
