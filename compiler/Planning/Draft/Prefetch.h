// Decides when gathers are issued, and how many gathered and unreduced buffers exist at a time.
//
// A gather of a stored part (the parameters of an FSDP unit) could be issued at any time before its first use. If it is
// early, it overlaps the computation of the units before. If it is too early, it fills the memory with units that
// nobody uses yet: hoisting without a bound gathers the whole model at once. So the distance is an option, and the
// number in flight is bounded.
//
//   units u0 u1 u2, N = 2, with prefetch    G0 G1 | u0 | G2 | u1 | u2
//                          without          G0 | u0 | G1 | u1 | G2 | u2
//
// G2 is issued after u0, whose buffer it may take: "the unit in use and the next one". Each gather waits until the
// compute stream has reached the gather's place in the list. So the bound is a property of the plan, and does not
// depend on timing.
//
// Copies from host memory (--offload) are issued by the same rules, with a bound of their own. They have many sizes, so
// neighbours are joined to one fetch while together they are not larger than the largest copy.
//
// A gather is *resident* if the program needs it together with the N next ones (shard-grad-op keeps all units from
// forward to backward; a tied embedding is used first and last). No order of gathers changes that, so resident gathers
// are not counted. If they were, no other gather could be prefetched.
#ifndef CLEAVE_COMPILER_PLANNING_DRAFT_PREFETCH_H
#define CLEAVE_COMPILER_PLANNING_DRAFT_PREFETCH_H

#include "compiler/Planning/Draft/Draft.h"

#include <string_view>

namespace cleave::plan {

enum class BackwardPrefetch {
  None, // at its first use
  Pre,  // before the previous unit computes and is reduced (PyTorch's BACKWARD_PRE)
  Post  // when the previous unit has computed (BACKWARD_POST)
};

// "none", "pre" or "post".
inline std::optional<BackwardPrefetch> parseBackwardPrefetch(std::string_view text) {
  return text == "none"   ? std::optional(BackwardPrefetch::None)
         : text == "pre"  ? std::optional(BackwardPrefetch::Pre)
         : text == "post" ? std::optional(BackwardPrefetch::Post)
                          : std::nullopt;
}

struct PrefetchOptions {
  bool forward = true;
  BackwardPrefetch backward = BackwardPrefetch::Pre;
  unsigned inFlight = 2; // number of gathered buffers at a time; prefetch reaches one fewer ahead
};

// A gather, or all copies from host memory that one op needs. The list is in program order. The instructions of an
// entry have its number in DraftInstruction::gather.
struct Gather {
  bool backward = false; // selects the field of PrefetchOptions
  bool isCopy = false;   // only copies from host memory
  // The gathered bytes are in a state. Such a gather is not prefetched: it belongs where its part is made.
  bool fillsState = false;

  bool isPrefetched() const { return !fillsState; }
};

// Moves the instructions of each prefetched gather to the position where they are issued.
void prefetchGathers(std::vector<DraftInstruction> &instructions, const std::vector<Gather> &gathers,
                     const PrefetchOptions &options);

// Bounds the number of unreduced buffers (gradients). Such a buffer is filled on the compute stream, is then reduced,
// and ends on the reduce stream or where it is copied to host memory. The `inFlight`-th buffer after it begins only
// after its end, if the order of the instructions allows this. Without this bound, the compute stream would wait for no
// reduction before the update, and every unreduced gradient would live until then. `bounded[allocation]` says which
// allocations count.
void boundReductions(std::vector<DraftInstruction> &instructions, const std::vector<char> &bounded, unsigned inFlight);

// Bounds the number of copies to host memory: after a copy is issued, the compute stream waits for the `inFlight`-th
// copy before it. Without this bound, nothing would wait for copies, and the bytes that they copy would live until the
// program's end.
void boundCopiesOut(std::vector<DraftInstruction> &instructions, unsigned inFlight);

} // namespace cleave::plan

#endif
