// A draft is a program while it is planned: instructions on streams, which use byte ranges of *allocations*. The
// addresses of the allocations are not decided yet.
//
// Build/DraftBuilder.h makes a draft from a function. Then these algorithms refine it, one after the other. Each is a function
// of its own header:
//   issue          (Issue.h)       chooses each instruction's stream, and whether it may move up
//   hoistEarly     (StreamOrder.h) moves reductions up to directly after the instructions that they wait for
//   prefetchGathers(Prefetch.h)    moves gathers, and copies from host memory, up by a bounded distance
//   boundReductions(Prefetch.h)    bounds the number of unreduced buffers at a time
//   boundCopiesOut (Prefetch.h)    does the same for buffers that are copied to host memory
//   synchronize    (StreamOrder.h) adds events between streams
//   liveSpans      (Liveness.h)    finds when the bytes of each allocation are in use
//   allocate       (Allocator.h)   chooses offsets in a region
// ProgramEmitter then writes the result as ops of the plan dialect. There is no MLIR here, so the test of an algorithm
// needs only a few lines.
//
// Example: a bucket is reduced while the backward pass goes on.
//   allocations   a0 state @g, a1 transient, a2 staging
//   instructions  0 compute launch a1=w            1 compute launch a1=r a0=w
//                 2 reduce all_reduce a0=rw a2=w   3 compute launch a0=r
//   synchronize adds: record event 0 after instruction 1, wait for event 0 before 2, record event 1 after 2,
//                     wait for event 1 before 3.
#ifndef CLEAVE_COMPILER_PLANNING_DRAFT_DRAFT_H
#define CLEAVE_COMPILER_PLANNING_DRAFT_DRAFT_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cleave::plan {

// The part of a range that belongs to one rank. The range has `ranks` parts, which begin `stride` bytes apart, and the
// rank's index in the group selects one of them. Group 0 is no group: all ranks use the same bytes.
struct Share {
  unsigned group = 0, ranks = 1;
  uint64_t stride = 0;

  explicit operator bool() const { return group != 0; }
  bool operator==(const Share &other) const { return group == other.group && stride == other.stride; }
};

// A byte range of an allocation, and how an instruction uses it.
struct MemoryAccess {
  unsigned allocation = 0;
  uint64_t offset = 0, bytes = 0;
  bool reads = false, writes = false;
  bool scratch = false; // no data passes through these bytes from one instruction to another
  Share share = {};

  // The end of the last rank's share, because any rank's share may be meant.
  uint64_t end() const { return offset + bytes + (share.ranks - 1) * share.stride; }
  bool conflictsWith(const MemoryAccess &other) const {
    return allocation == other.allocation && (writes || other.writes) && offset < other.end() && other.offset < end();
  }
};

enum class InstructionKind {
  Work,    // uses its allocations
  Barrier, // a call: it waits for every stream, and every stream waits for it
  Record,  // records `event`
  Wait     // waits for `event`
};

// The task of an instruction, set by the code that makes it. Issue.h derives from it how the instruction is issued.
enum class Purpose {
  Compute,        // kernels, and copies that they need
  Relocate,       // moves bytes to where a concat or a reduction needs them
  Reduce,         // a reduction, or work on a reduced value
  Gather,         // fills a whole from the ranks' parts, or copies this rank's part to its place in it
  GatherFromHost, // the same copy of a part that is in host memory
  Broadcast,
  CopyIn,  // from host memory
  CopyOut, // to host memory
  Transfer // a send, a receive, or an event of the plan: the maker sets the stream, too
};

struct DraftInstruction {
  InstructionKind kind = InstructionKind::Work;
  Purpose purpose = Purpose::Compute;
  unsigned stream = 0; // issue() sets it from the purpose, like `early`
  std::vector<MemoryAccess> uses;
  bool early = false; // hoistEarly may move it up
  unsigned event = 0; // only of Record and Wait
  size_t payload = 0; // index of what to emit, which only the maker knows; all instructions have different ones
  // The number of the gather that this instruction is part of. The instructions of a gather depend only on states, on
  // values in host memory, and on each other. Until the last of them is done, no other instruction needs any of them.
  std::optional<unsigned> gather = {};
  // Payloads of earlier instructions that must be done before this one starts, although their bytes do not require it.
  std::vector<size_t> after = {};
};

// Programs start and end on stream 0.
inline constexpr unsigned kComputeStream = 0;
inline constexpr unsigned kReduceStream = 1;
inline constexpr unsigned kGatherStream = 2;
inline constexpr unsigned kCopyStream = 3;                     // between device and host memory
inline constexpr unsigned kSendStream = 4, kReceiveStream = 5; // between the stages of a pipeline
// Gradients have streams of their own, so that no activation waits for a gradient. A body names its stream
// (StagePrograms.h).
inline constexpr unsigned kSendGradientStream = 6, kReceiveGradientStream = 7;
inline constexpr unsigned kStreams = 8;

} // namespace cleave::plan

#endif
