// The host as a device: actions compute on the calling thread and its OpenMP team.
//
// Stream 0 is the plan's compute stream, and runs on the thread that calls Rank::run. Each other stream has its own
// progress thread and communication channel, so a gather does not wait for a reduction. If there are more streams than
// threads, the remaining ones share the last thread, in issue order, which is a legal order of the whole program. The
// team splits the outermost loop of a generated kernel, which changes no bit of the result. Library kernels use the
// same team.
#ifndef CLEAVE_RUNTIME_DEVICE_HOST_HOSTDEVICE_H
#define CLEAVE_RUNTIME_DEVICE_HOST_HOSTDEVICE_H

#include "runtime/base/Gate.h"
#include "runtime/device/host/HostLaunch.h"

#include <array>
#include <deque>

namespace cleave::rt {

class HostDevice : public Device {
public:
  HostDevice(const std::string &target, const DeviceOptions &options) : options_(options) { keepHostKernelsTo(target); }
  ~HostDevice() override;

  Status allocate(fb::Space space, size_t bytes, std::byte **data) override;
  unsigned threadOf(unsigned stream) const override { return stream < kThreads ? stream : kThreads - 1; }
  Status enterThread(unsigned thread) override;
  void leaveThread(unsigned thread) override;

  Status launch(const LaunchRequest &request, ActionPtr *action) override;
  Status copy(unsigned stream, Address target, Address source, ActionPtr *action) override;
  Status fill(unsigned stream, Address target, uint64_t pattern, unsigned width, ActionPtr *action) override;
  Status collective(const CollectiveRequest &request, ActionPtr *action) override;
  Status transfer(const TransferRequest &request, ActionPtr *action) override;
  unsigned makeEvent() override;
  Status record(unsigned stream, unsigned event, ActionPtr *action) override;
  Status wait(unsigned stream, unsigned event, ActionPtr *action) override;

private:
  int threadsOf(unsigned stream) const { return threadOf(stream) == 0 ? options_.threads : 1; }

  struct Allocation {
    void *data;
    size_t bytes;
  };
  DeviceOptions options_;
  // The settings of the first thread outside of runs.
  int teamBefore_ = 1;
  bool wasDynamic_ = false;
  std::vector<Allocation> allocations_;
  std::array<NamedKernels, kThreads> kernels_; // by thread
  std::deque<Gate> events_;                    // a deque, because gates cannot move
};

} // namespace cleave::rt

#endif
