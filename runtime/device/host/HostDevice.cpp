#include "runtime/device/host/HostDevice.h"

#include "runtime/base/HumanUnits.h"
#include "runtime/device/host/HostLaunch.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <omp.h>
#include <sys/mman.h>

namespace cleave::rt {

HostDevice::~HostDevice() {
  for (const Allocation &allocation : allocations_)
    ::munmap(allocation.data, allocation.bytes);
}

// mmap() gives pages that are zeroed and aligned. Pages that nobody touches use no memory. Both spaces are memory of
// this machine.
Status HostDevice::allocate(fb::Space, size_t bytes, std::byte **data) {
  size_t size = std::max<size_t>(bytes, 1);
  void *memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return {Code::OutOfMemory, "cannot allocate " + exactBytesText(bytes) + ": " + std::strerror(errno)};
  allocations_.push_back({memory, size});
  *data = static_cast<std::byte *>(memory);
  return Status::ok();
}

namespace {

int sizeOfTeam() {
  int size = 1;
#pragma omp parallel
  if (omp_get_thread_num() == 0)
    size = omp_get_num_threads();
  return size;
}

} // namespace

// Fails if the team is smaller than asked for. Library kernels are built for a number of threads: a smaller team would
// leave parts of their results unwritten, without an error.
Status HostDevice::enterThread(unsigned thread) {
  if (thread != 0) {
    omp_set_num_threads(1);
    return Status::ok();
  }
  teamBefore_ = omp_get_max_threads();
  wasDynamic_ = omp_get_dynamic() != 0;
  omp_set_dynamic(0); // otherwise OpenMP makes teams smaller if the machine is busy
  omp_set_num_threads(options_.threads);
  int size = options_.threads > 1 ? sizeOfTeam() : 1;
  if (size == options_.threads)
    return Status::ok();
  return invalidArgument("OpenMP gives " + std::to_string(size) + " of " + std::to_string(options_.threads) +
                         " compute threads (OMP_THREAD_LIMIT is lower, or the call comes from a parallel region); use "
                         "--threads " +
                         std::to_string(size));
}

void HostDevice::leaveThread(unsigned thread) {
  if (thread != 0)
    return;
  omp_set_num_threads(teamBefore_);
  omp_set_dynamic(wasDynamic_);
}

Status HostDevice::launch(const LaunchRequest &request, ActionPtr *action) {
  if (request.kernel.kind() == fb::KernelKind::generated)
    return bindGenerated(request, threadsOf(request.stream), action);
  return bindNamed(request, std::min(threadsOf(request.stream), options_.plannedThreads),
                   kernels_[threadOf(request.stream)], action);
}

namespace {

class CopyAction : public Action {
public:
  CopyAction(Address target, Address source) : target_(target), source_(source) {}
  Status run(const Frames &frames, uint32_t) override {
    std::memcpy(target_.at(frames), source_.at(frames), target_.bytes);
    return Status::ok();
  }

private:
  Address target_, source_;
};

class FillAction : public Action {
public:
  FillAction(Address target, uint64_t pattern, unsigned width) : target_(target), pattern_(pattern), width_(width) {}
  Status run(const Frames &frames, uint32_t) override {
    std::byte *data = target_.at(frames);
    switch (width_) {
    case 1:
      std::memset(data, static_cast<int>(pattern_ & 0xff), target_.bytes);
      break;
    case 2:
      std::fill_n(reinterpret_cast<uint16_t *>(data), target_.bytes / 2, static_cast<uint16_t>(pattern_));
      break;
    case 4:
      std::fill_n(reinterpret_cast<uint32_t *>(data), target_.bytes / 4, static_cast<uint32_t>(pattern_));
      break;
    default:
      std::fill_n(reinterpret_cast<uint64_t *>(data), target_.bytes / 8, pattern_);
    }
    return Status::ok();
  }

private:
  Address target_;
  uint64_t pattern_;
  unsigned width_;
};

class CollectiveAction : public Action {
public:
  explicit CollectiveAction(const CollectiveRequest &request) : request_(request) {}
  Status run(const Frames &frames, uint32_t) override {
    if (request_.group.size() == 1)
      return Status::ok();
    RingData ring{request_.data.at(frames), request_.staging.at(frames), request_.count, request_.dtype,
                  request_.reduction};
    return runRing(request_, ring);
  }

private:
  CollectiveRequest request_;
};

class TransferAction : public Action {
public:
  explicit TransferAction(const TransferRequest &request) : request_(request) {}
  Status run(const Frames &frames, uint32_t) override { return runTransfer(request_, request_.data.at(frames)); }

private:
  TransferRequest request_;
};

class RecordAction : public Action {
public:
  explicit RecordAction(Gate &gate) : gate_(gate) {}
  Status run(const Frames &, uint32_t run) override {
    gate_.open(run);
    return Status::ok();
  }

private:
  Gate &gate_;
};

class WaitAction : public Action {
public:
  WaitAction(Gate &gate, const std::atomic<bool> &failed) : gate_(gate), failed_(failed) {}
  Status run(const Frames &, uint32_t run) override {
    if (gate_.waitFor(run, [&] { return failed_.load(std::memory_order_relaxed); }))
      return Status::ok();
    return peerLost("another stream of this rank has failed");
  }

private:
  Gate &gate_;
  const std::atomic<bool> &failed_;
};

} // namespace

Status HostDevice::copy(unsigned, Address target, Address source, ActionPtr *action) {
  *action = std::make_unique<CopyAction>(target, source);
  return Status::ok();
}

Status HostDevice::fill(unsigned, Address target, uint64_t pattern, unsigned width, ActionPtr *action) {
  *action = std::make_unique<FillAction>(target, pattern, width);
  return Status::ok();
}

Status HostDevice::collective(const CollectiveRequest &request, ActionPtr *action) {
  *action = std::make_unique<CollectiveAction>(request);
  return Status::ok();
}

Status HostDevice::transfer(const TransferRequest &request, ActionPtr *action) {
  *action = std::make_unique<TransferAction>(request);
  return Status::ok();
}

unsigned HostDevice::makeEvent() {
  events_.emplace_back();
  return static_cast<unsigned>(events_.size() - 1);
}

Status HostDevice::record(unsigned, unsigned event, ActionPtr *action) {
  *action = std::make_unique<RecordAction>(events_[event]);
  return Status::ok();
}

Status HostDevice::wait(unsigned, unsigned event, ActionPtr *action) {
  *action = std::make_unique<WaitAction>(events_[event], *options_.failed);
  return Status::ok();
}

} // namespace cleave::rt
