// One rank of a running plan: its memory, and the execution of its programs.
//
// A Rank is made from a plan, the machine code beside it and a communicator; it allocates every region once, at
// the sizes the plan says, and from then on only runs programs. It decides nothing: the order of instructions,
// their streams and their addresses are the plan's. What to feed and when to stop is the business of runtime/train.
//
//   Rank rank;
//   CLEAVE_TRY(Rank::create(plan, kernels, options, comm, &rank));
//   memcpy(rank.portBytes(port, frame).data(), batch, ...);
//   CLEAVE_TRY(rank.run(trainStep));
#ifndef CLEAVE_RUNTIME_DEVICE_RANK_H
#define CLEAVE_RUNTIME_DEVICE_RANK_H

#include "cleave/model.h"
#include "runtime/base/Status.h"
#include "runtime/plan/Mesh.h"

#include <cstddef>
#include <memory>
#include <string_view>

namespace cleave::rt {

class Communicator; // runtime/comm/Communicator.h
class Device;       // runtime/device/Device.h
class TraceSink;    // runtime/base/Trace.h: begin/end of an instruction on (rank, stream); may be null

// A byte range owned by someone else.
struct Bytes {
  std::byte *data = nullptr;
  size_t size = 0;
};

struct RankOptions {
  int rank = 0;    // of `Communicator::size()`
  int threads = 1; // compute threads of this rank; progress threads come on top
  TraceSink *trace = nullptr;
  // Code for a device, where the plan's target is not the host (cleave_model); null otherwise.
  std::string_view deviceImage;
  const cleave_device_kernel *deviceKernels = nullptr;
};

// What was really used, beside what the plan predicted.
struct RankCounters {
  size_t plannedBytes = 0; // sum of regions in the device's memory
  size_t hostBytes = 0;    // and in the host's, with what allocateFeed() has given
  uint64_t bytesSent = 0;  // counted by the communicator where bytes move, since creation
};

class Rank {
public:
  Rank();
  ~Rank();
  Rank(Rank &&) noexcept;
  Rank &operator=(Rank &&) noexcept;

  // Allocates the regions of the rank's kind (64-byte aligned, zeroed), checks hashes and that every kernel exists on
  // the device. `plan` and `kernels` must outlive the rank.
  static Status create(const fb::Plan &plan, const cleave_kernel_fn *kernels, const RankOptions &options,
                       Communicator &comm, Rank *result);

  // Runs one entry program to its end.
  Status run(const fb::Program &program);

  // The host reads and writes ports and states in *images*: where the device's memory is the host's, they are that
  // memory itself, and the two functions do nothing. Elsewhere run() brings ports and scalars to the device before a
  // program and back after it; all else is brought by these. The bytes are those of one image, as the functions below
  // give them.
  Status push(Bytes image);
  Status pull(Bytes image);
  // All states.
  Status pushStates();
  Status pullStates();

  // The inputs of a run without their images: each input and frame that it reads is fed before it, and the run takes no
  // input from an image. On a host the bytes are copied into the port. Elsewhere their copy to the device begins, and
  // `source` must stay as it is until the run has ended.
  Status feed(const fb::Port &port, unsigned frame, const std::byte *source);
  // Memory of the host from which feed() brings bytes to the device without a copy by the host (page-locked, for a GPU);
  // it lives as long as the rank. None where ports are in the host's memory; an error where the system gives none.
  Status allocateFeed(size_t bytes, std::byte **data);

  // Programs, ports and states may be those of any kind of the plan: this rank's of that name are meant.
  // The bytes of an input or output for micro-batch `frame`; none where the rank's kind has none of it.
  Bytes portBytes(const fb::Port &port, unsigned frame) const;
  // A whole region; of frame 0 where it has several.
  Bytes regionBytes(unsigned region) const;
  // The bytes of a state as this rank stores it (the whole, or its even cut); none where its kind has no such state.
  Bytes stateBytes(const fb::State &state) const;
  // The element range [first, first + count) of the whole state that this rank stores.
  using Range = StateRange;
  Range stateRange(const fb::State &state) const;

  // This rank's coordinate on an axis of the mesh (row-major rank order, the last axis fastest).
  unsigned coordinate(unsigned axis) const;

  // The plan of this rank's kind, and the one that holds all kinds.
  const fb::Plan &plan() const;
  const fb::Plan &allKinds() const;
  RankCounters counters() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The entry program of that name; null when the plan has none. Only entries are proved as the host runs them.
const fb::Program *findProgram(const fb::Plan &plan, std::string_view name);
// The state of that name, of the first kind that has it; null when none has.
const fb::State *findState(const fb::Plan &plan, std::string_view name);

} // namespace cleave::rt

#endif
