// A program while it is planned: instructions on streams that use byte ranges of *allocations*, whose
// addresses are not decided yet.
//
// DraftBuilder makes it from a function, then plain algorithms refine it one after the other, each a function of its
// own header:
//   issue          (Issue.h)       on which stream each instruction is, and whether it may move up
//   hoistEarly     (StreamOrder.h) reductions move up to right after what they wait for
//   prefetchGathers(Prefetch.h)   gathers, and copies from host memory, move up by a bounded distance
//   boundReductions(Prefetch.h)   unreduced buffers are freed in time
//   boundCopiesOut (Prefetch.h)   so are those that are copied to host memory
//   synchronize    (StreamOrder.h) events between streams
//   liveSpans      (Liveness.h)   when an allocation's bytes are in use
//   allocate       (Allocator.h)  offsets in a region
// and ProgramEmitter writes the result as ops of the plan dialect. No MLIR here, so that each is tested with a few
// lines.
//
// Example: a bucket that is reduced while the backward pass goes on.
//   allocations   a0 state @g, a1 transient, a2 staging
//   instructions  0 compute launch a1=w            1 compute launch a1=r a0=w
//                 2 reduce all_reduce a0=rw a2=w   3 compute launch a0=r
//   synchronize adds: record 0 after 1, wait 0 before 2, record 1 after 2, wait 1 before 3.
#ifndef CLEAVE_COMPILER_PLANNING_DRAFT_DRAFT_H
#define CLEAVE_COMPILER_PLANNING_DRAFT_DRAFT_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cleave::plan {

// Which part of a range a rank means: the i-th of `ranks` parts that begin `stride` bytes apart, i being its index in a
// group. Group 0 is no group: the same bytes on every rank.
struct Share {
  unsigned group = 0, ranks = 1;
  uint64_t stride = 0;

  explicit operator bool() const { return group != 0; }
  bool operator==(const Share &other) const { return group == other.group && stride == other.stride; }
};

// A byte range of an allocation.
struct MemoryAccess {
  unsigned allocation = 0;
  uint64_t offset = 0, bytes = 0;
  bool reads = false, writes = false;
  bool scratch = false; // no data passes through these bytes from one instruction to another
  Share share = {};

  // Behind the bytes of the last rank's share: any rank's may be meant.
  uint64_t end() const { return offset + bytes + (share.ranks - 1) * share.stride; }
  bool conflictsWith(const MemoryAccess &other) const {
    return allocation == other.allocation && (writes || other.writes) && offset < other.end() && other.offset < end();
  }
};

enum class InstructionKind {
  Work,    // uses its allocations
  Barrier, // a call: waits for every stream, and every stream waits for it
  Record,  // of `event`
  Wait     // for `event`
};

// What an instruction is for. Its maker says so; Issue.h decides by it how the instruction is issued.
enum class Purpose {
  Compute,        // kernels, and copies that they need
  Relocate,       // puts bytes where a concat or a reduction wants them
  Reduce,         // reduces, or works on what is reduced
  Gather,         // fills a whole from the ranks' parts, or copies the own part to its place in it
  GatherFromHost, // the same for an own part in host memory
  Broadcast,
  CopyIn,  // from host memory
  CopyOut, // to host memory
  Transfer // a send or a receive: its maker sets the stream, too
};

struct DraftInstruction {
  InstructionKind kind = InstructionKind::Work;
  Purpose purpose = Purpose::Compute;
  unsigned stream = 0; // by the purpose, as `early`
  std::vector<MemoryAccess> uses;
  bool early = false; // hoistEarly may move it up
  unsigned event = 0; // Record, Wait
  size_t payload = 0; // what to emit; the maker's business, but no two instructions have the same
  // The number of the gather that this instruction is part of. The instructions of one gather need nothing but states
  // and each other, and no other instruction needs any of them before the last one.
  std::optional<unsigned> gather = {};
  // Payloads of instructions listed before that must be done before this one starts, though no bytes say so.
  std::vector<size_t> after = {};
};

// Stream 0 is where programs start and end.
inline constexpr unsigned kComputeStream = 0;
inline constexpr unsigned kReduceStream = 1;
inline constexpr unsigned kGatherStream = 2;
inline constexpr unsigned kCopyStream = 3;                     // between device and host memory
inline constexpr unsigned kSendStream = 4, kReceiveStream = 5; // between the stages of a pipeline
// Of gradients, that no activation waits for one: bodies name their stream (StagePrograms.h).
inline constexpr unsigned kSendGradientStream = 6, kReceiveGradientStream = 7;
inline constexpr unsigned kStreams = 8;

} // namespace cleave::plan

#endif
