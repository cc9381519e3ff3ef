// What a kernel does with each of the buffers that it is launched on: the bytes that its code touches, and where it may
// work in place.
//
// One form for all kernels. For library and built-in kernels it follows from their definition (Kernels.def) and
// parameters, whatever a plan says; for generated ones, whose code came with the plan, from the plan's kernel table.
//
//   std::vector<Operand> operands;
//   CLEAVE_TRY(operandsOf(kernel, &operands));
//   operands[3].bytes                 // 4096
//   operands[3].over                  // 0: may be, or is, buffer 0
#ifndef CLEAVE_RUNTIME_PLAN_KERNELOPERANDS_H
#define CLEAVE_RUNTIME_PLAN_KERNELOPERANDS_H

#include "runtime/plan/InstructionView.h"

#include <optional>
#include <vector>

namespace cleave::rt {

inline bool reads(fb::Access access) { return access != fb::Access::write; }
inline bool writes(fb::Access access) { return access != fb::Access::read; }

struct Operand {
  std::string_view name; // empty where operands have none
  fb::Access access;
  fb::DType dtype;    // of its elements; u8 for scratch
  uint64_t alignment; // in bytes: it begins on a multiple
  uint64_t bytes;     // for scratch what the plan says that the library asked for (Kernel.scratch)
  std::optional<size_t> over = {}; // the operand in whose place this one may be written
  bool mustBeOver = false;         // and is: the code knows no other address
};

// The operands of a kernel of the plan's table, in order. Fails where the table or the parameters are wrong.
Status operandsOf(const fb::Kernel &kernel, std::vector<Operand> *operands);

// Of a launch of that kernel: that there is a buffer for each operand, of its bytes and aligned to its elements, and that
// what is written overlaps nothing but what it may be over. The message begins with what follows the instruction's place.
Status checkBuffers(const fb::Plan &plan, const fb::Kernel &kernel, const InstructionView &launch);

} // namespace cleave::rt

#endif
