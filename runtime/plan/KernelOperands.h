// What a kernel does with each buffer of a launch: which bytes its code touches, and where it may work in place.
//
// All kernels have this one form. For library and built-in kernels it follows from their definition (Kernels.def) and
// parameters, whatever the plan says. The code of generated kernels came with the plan, so their operands are in the
// plan's kernel table.
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
  std::string_view name; // empty for generated kernels
  fb::Access access;
  fb::DType dtype;    // of its elements; u8 for scratch
  uint64_t alignment; // its address is a multiple of this many bytes
  uint64_t bytes;     // for scratch: the bytes that the library asked for (Kernel.scratch)
  std::optional<size_t> over = {}; // the operand in whose place this one may be written
  bool mustBeOver = false;         // true: it has that operand's address, because the code knows no other
};

// Returns the operands of a kernel of the plan's table, in order. Fails if the table or the parameters are wrong.
Status operandsOf(const fb::Kernel &kernel, std::vector<Operand> *operands);

// Checks a launch of that kernel: each operand has a buffer with its size and the alignment of its elements, and a
// written buffer overlaps no other one, except an operand that it may be over. The message continues a text that names
// the instruction.
Status checkBuffers(const fb::Plan &plan, const fb::Kernel &kernel, const InstructionView &launch);

} // namespace cleave::rt

#endif
