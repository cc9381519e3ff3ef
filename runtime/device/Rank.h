// One rank of a running plan: its memory, and the execution of its programs.
//
// A Rank is made from a plan, the machine code that belongs to it, and a communicator. It allocates every region once,
// with the sizes that the plan states. From then on it only runs programs. The plan decides the order of instructions,
// their streams and their addresses. runtime/train decides what to feed and when to stop.
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
class TraceSink;    // runtime/base/Trace.h: records when instructions begin and end

// A byte range owned by someone else.
struct Bytes {
  std::byte *data = nullptr;
  size_t size = 0;
};

struct RankOptions {
  int rank = 0;    // in [0, Communicator::size())
  int threads = 1; // compute threads of this rank, without progress threads
  TraceSink *trace = nullptr;
  // Code for a device, if the plan's target is not the host (cleave_model). Otherwise null.
  std::string_view deviceImage;
  const cleave_device_kernel *deviceKernels = nullptr;
};

// The resources that the rank has really used.
struct RankCounters {
  size_t plannedBytes = 0; // sum of regions in the device's memory
  size_t hostBytes = 0;    // sum of regions in the host's memory, and the memory of allocateFeed()
  uint64_t bytesSent = 0;  // since creation; the communicator counts it when bytes move
};

class Rank {
public:
  Rank();
  ~Rank();
  Rank(Rank &&) noexcept;
  Rank &operator=(Rank &&) noexcept;

  // Allocates the regions of the rank's kind (64-byte aligned, zeroed). Checks hashes, and that the device has every
  // kernel. `plan` and `kernels` must outlive the rank.
  static Status create(const fb::Plan &plan, const cleave_kernel_fn *kernels, const RankOptions &options,
                       Communicator &comm, Rank *result);

  // Where a run takes its inputs from: all from their images, or all from what feed() has given it.
  enum class Inputs { OfImages, Fed };
  // Runs one entry program to its end.
  Status run(const fb::Program &program, Inputs inputs = Inputs::OfImages);

  // The host reads and writes ports and states in *images*. If the host may touch the device's memory, an image is that
  // memory itself, and push() and pull() do nothing. Otherwise run() copies inputs and scalars to the device before a
  // program, and scalars and outputs back after it. Everything else is copied by push() to the device, and by pull()
  // from it. `image` is what one of the functions below returns.
  Status push(Bytes image);
  Status pull(Bytes image);
  // Push or pull all states.
  Status pushStates();
  Status pullStates();

  // Gives an input of the next run its bytes, without the image. That run must be one of fed inputs, and each input and
  // frame that it reads must be fed. On a host, the bytes are copied into the port. Otherwise their copy to the device
  // begins, and `source` must not change until the run has ended.
  Status feed(const fb::Port &port, unsigned frame, const std::byte *source);
  // Allocates memory of the host from which feed() reaches the device without a copy by the host (page-locked, for a
  // GPU). It lives as long as the rank. `*data` is null if ports are in the host's memory. Fails if the system gives
  // none.
  Status allocateFeed(size_t bytes, std::byte **data);

  // The program, port or state may be of any kind of the plan. It stands for the one of that name in this rank's kind.
  // Returns the bytes of an input or output for micro-batch `frame`, or none if the rank's kind does not have it.
  Bytes portBytes(const fb::Port &port, unsigned frame) const;
  // Returns a whole region, or its frame 0 if it has several.
  Bytes regionBytes(unsigned region) const;
  // Returns the bytes of a state that this rank stores (all, or its even share), or none if its kind does not have the
  // state.
  Bytes stateBytes(const fb::State &state) const;
  // Returns the range of elements [first, first + count) of the whole state that this rank stores.
  using Range = StateRange;
  Range stateRange(const fb::State &state) const;

  // This rank's coordinate on an axis of the mesh (ranks are numbered row-major, the last axis is the fastest).
  unsigned coordinate(unsigned axis) const;

  // The plan of this rank's kind, and the one that holds all kinds.
  const fb::Plan &plan() const;
  const fb::Plan &allKinds() const;
  RankCounters counters() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Returns the entry program of that name, or null if the plan has none. Only entry programs are proved as the host runs
// them.
const fb::Program *findProgram(const fb::Plan &plan, std::string_view name);
// Returns the state of that name, of the first kind that has it. Null if no kind has it.
const fb::State *findState(const fb::Plan &plan, std::string_view name);

} // namespace cleave::rt

#endif
