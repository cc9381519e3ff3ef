#include "runtime/comm/LocalWorld.h"

#include "runtime/base/Clock.h"
#include "runtime/base/Gate.h"
#include "runtime/base/WaitClock.h"

#include <cstring>
#include <mutex>
#include <vector>

namespace cleave::rt {

namespace {

// The messages of one channel from one rank to another. `posted` counts the messages that the sender has published, and
// `taken` those that the receiver has copied. A sender waits for `taken` before it continues, so one description is
// enough.
struct alignas(64) Mailbox {
  const void *data = nullptr;
  size_t bytes = 0;
  Gate posted, taken;
};

} // namespace

struct LocalWorld::Shared {
  explicit Shared(int ranks) : size(ranks), boxes(static_cast<size_t>(ranks) * ranks * kAllChannels) {}

  Mailbox &box(int from, int to, unsigned channel) {
    return boxes[(static_cast<size_t>(from) * size + to) * kAllChannels + channel];
  }

  int size;
  std::vector<Mailbox> boxes;
  std::vector<std::unique_ptr<Communicator>> communicators;
  std::atomic<bool> aborted{false};
  mutable std::mutex mutex; // guards reason
  std::string reason;
};

namespace {

class LocalCommunicator : public Communicator {
public:
  LocalCommunicator(LocalWorld::Shared &world, int rank) : Communicator(rank, world.size), world_(world) {}

  const char *transport() const override { return "local"; }

  void abort(const Status &reason) override {
    std::lock_guard<std::mutex> lock(world_.mutex);
    if (world_.aborted)
      return;
    world_.reason = "rank " + std::to_string(rank()) + " failed: " + reason.message();
    world_.aborted = true;
  }

  Status health() const override {
    if (!world_.aborted)
      return Status::ok();
    std::lock_guard<std::mutex> lock(world_.mutex);
    return peerLost(world_.reason);
  }

protected:
  Status doExchange(const Exchange &step) override {
    if (world_.aborted)
      return health();
    Mailbox *outgoing = step.to >= 0 ? &world_.box(rank(), step.to, step.channel) : nullptr;
    uint32_t sequence = 0;
    if (outgoing) {
      outgoing->data = step.sendData;
      outgoing->bytes = step.sendBytes;
      sequence = outgoing->posted.value() + 1; // only this thread posts here
      outgoing->posted.open(sequence);
    }
    if (step.from >= 0)
      CLEAVE_TRY(take(step));
    if (outgoing)
      CLEAVE_TRY(await(outgoing->taken, sequence, step.to, "to take what was sent"));
    return Status::ok();
  }

private:
  Status take(const Exchange &step) {
    Mailbox &box = world_.box(step.from, rank(), step.channel);
    uint32_t sequence = box.taken.value() + 1; // only this thread takes here
    CLEAVE_TRY(await(box.posted, sequence, step.from, "to send"));
    if (box.bytes != step.receiveBytes)
      return internal("rank " + std::to_string(rank()) + " expects " + std::to_string(step.receiveBytes) +
                      " bytes from rank " + std::to_string(step.from) + "; got: " + std::to_string(box.bytes) +
                      "; the ranks' plans disagree");
    if (box.bytes)
      std::memcpy(step.receiveData, box.data, box.bytes);
    box.taken.open(sequence);
    return Status::ok();
  }

  Status await(Gate &gate, uint32_t sequence, int peer, const char *what) {
    WaitClock clock;
    bool late = false;
    bool arrived = gate.waitFor(sequence, [&] {
      late = clock.look(secondsNow()) > timeoutSeconds();
      return late || world_.aborted.load();
    });
    if (arrived)
      return Status::ok();
    if (!late)
      return health();
    return peerLost("rank " + std::to_string(rank()) + " waited " + secondsText(timeoutSeconds()) + " s for rank " +
                    std::to_string(peer) + " " + what + "; CLEAVE_COMM_TIMEOUT_S sets the limit");
  }

  LocalWorld::Shared &world_;
};

} // namespace

LocalWorld::LocalWorld(int ranks) : shared_(std::make_unique<Shared>(ranks)) {
  for (int rank = 0; rank < ranks; ++rank)
    shared_->communicators.push_back(std::make_unique<LocalCommunicator>(*shared_, rank));
}

LocalWorld::~LocalWorld() = default;

int LocalWorld::size() const { return shared_->size; }

Communicator &LocalWorld::communicator(int rank) { return *shared_->communicators[static_cast<size_t>(rank)]; }

} // namespace cleave::rt
