// When gathers are issued, and how many gathered and unreduced buffers there are at a time.
//
// A gather of a stored part (an FSDP unit's parameters) could be issued any time before its first use. Early, it
// overlaps the compute of the units before; too early, it fills the memory with units that nobody uses yet: hoisting
// without a bound gathers the whole model at once. So the distance is a choice, and the number in flight is bounded.
//
//   units u0 u1 u2, N = 2, with prefetch    G0 G1 | u0 | G2 | u1 | u2
//                          without          G0 | u0 | G1 | u1 | G2 | u2
//
// G2 is issued when u0, whose buffer it may take, is done: "the unit in use and the next one". Each gather waits for
// the compute stream to be where it is listed, so that the bound is a property of the plan and not of its timing.
//
// Copies from host memory (--offload) are issued by the same rules, and bounded for themselves. They come in many
// sizes, so neighbours are joined to one unit while together they are not larger than the largest copy.
//
// A gather is *resident* when the program itself needs it beside the N next ones (shard-grad-op keeps all units from
// forward to backward; a tied embedding is used first and last). No order of gathers changes that, so residents are not
// counted: counting them would turn prefetch off for everybody else.
#ifndef CLEAVE_COMPILER_PLANNING_DRAFT_PREFETCH_H
#define CLEAVE_COMPILER_PLANNING_DRAFT_PREFETCH_H

#include "compiler/Planning/Draft/Draft.h"

#include <string_view>

namespace cleave::plan {

enum class BackwardPrefetch {
  None, // at its first use
  Pre,  // before the unit before it computes and is reduced (PyTorch's BACKWARD_PRE)
  Post  // when the unit before it has computed (BACKWARD_POST)
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
  unsigned inFlight = 2; // gathered buffers at a time; prefetch reaches that many less one ahead
};

// A gather, or what one instruction needs of host memory, in program order. Its instructions have its number in
// DraftInstruction::gather.
struct Gather {
  bool backward = false; // which choice of PrefetchOptions is meant
  bool isCopy = false;   // from host memory, and nothing more
  // What it gathers lies in a state. Such a gather is no prefetch: it belongs where its part is made.
  bool fillsState = false;

  bool isPrefetched() const { return !fillsState; }
};

// Moves the instructions of each gather that is prefetched to where they are issued.
void prefetchGathers(std::vector<DraftInstruction> &instructions, const std::vector<Gather> &gathers,
                     const PrefetchOptions &options);

// Buffers that are filled on the compute stream, reduced, and end there or where they are copied to host memory
// (unreduced gradients): the `inFlight`-th after one of them is begun only when that one is at its end, where the order
// of the instructions allows it. Without this the compute stream would not look after a reduction before the update,
// and every unreduced gradient would live until then. `bounded[allocation]` says which allocations count.
void boundReductions(std::vector<DraftInstruction> &instructions, const std::vector<char> &bounded, unsigned inFlight);

// Copies to host memory: when one is issued, the compute stream goes on when the `inFlight`-th before it is done.
// Without this nobody would look after them, and what they copy would live to the program's end.
void boundCopiesOut(std::vector<DraftInstruction> &instructions, unsigned inFlight);

} // namespace cleave::plan

#endif
