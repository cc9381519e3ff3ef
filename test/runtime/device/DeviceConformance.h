// The checks that every device of the runtime must pass: the contract of runtime/device/Device.h. A program instantiates
// them for its kinds of devices (DeviceConformanceTest.cpp here and in test/cuda).
//
// Kernels are not checked here, because a generated kernel is another object for each device. Tests of operators compare
// those.
#ifndef CLEAVE_TEST_RUNTIME_DEVICE_DEVICECONFORMANCE_H
#define CLEAVE_TEST_RUNTIME_DEVICE_DEVICECONFORMANCE_H

#include "runtime/device/Device.h"

#include <functional>
#include <gtest/gtest.h>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace cleave::rt::test {

struct DeviceKind {
  std::string name;   // of the test
  std::string target; // "host:generic"
  std::vector<std::pair<std::string, std::string>> variables =
      {}; // of the environment, while a device is made and used
};

inline void PrintTo(const DeviceKind &kind, std::ostream *out) { *out << kind.target << ' ' << kind.name; }
inline std::string nameOf(const testing::TestParamInfo<DeviceKind> &info) { return info.param.name; }

// A rank that has a device, and no plan.
class RankWithDevice {
public:
  RankWithDevice(Device &device, Communicator &comm, std::atomic<bool> &failed)
      : device_(device), comm_(comm), failed_(failed) {}

  Device &device() { return device_; }
  Communicator &comm() { return comm_; }
  std::atomic<bool> &failed() { return failed_; }

  Address memory(size_t bytes, fb::Space space = fb::Space::device, unsigned frames = 1);
  // The bytes of one frame.
  void put(const Address &at, const std::vector<std::byte> &bytes, unsigned frame = 0);
  std::vector<std::byte> get(const Address &at, unsigned frame = 0);

private:
  Device &device_;
  Communicator &comm_;
  std::atomic<bool> &failed_;
};

// The bound instructions of one entry program, in issue order. It runs them as Executor does: each thread of the rank
// runs the actions of its streams.
class DeviceProgram {
public:
  // `number` differs from that of the rank's other programs.
  DeviceProgram(RankWithDevice &rank, unsigned number) : rank_(rank), number_(number) {}

  void copy(unsigned stream, const Address &target, const Address &source, Frames frames = {});
  void fill(unsigned stream, const Address &target, uint64_t pattern, unsigned width);
  void record(unsigned stream, unsigned event);
  void wait(unsigned stream, unsigned event);
  void collective(const CollectiveRequest &request);
  void transfer(const TransferRequest &request);

  // Waits until the device has done all work.
  Status run();

private:
  struct Item {
    unsigned stream;
    Frames frames;
    ActionPtr action;
  };
  template <typename Bind> void add(unsigned stream, Bind bind, Frames frames = {});
  Status walk(unsigned thread);

  RankWithDevice &rank_;
  unsigned number_;
  uint32_t runs_ = 0;
  std::vector<Item> items_;
};

class DeviceConforms : public testing::TestWithParam<DeviceKind> {
protected:
  void SetUp() override;
  void TearDown() override;

  // Runs the body on every rank of a mesh at the same time. Each rank has a device, which is connected for the groups.
  void onRanks(const std::vector<uint32_t> &mesh, const std::vector<GroupShape> &groups,
               const std::function<void(RankWithDevice &)> &body) const;
  void onOneRank(const std::function<void(RankWithDevice &)> &body) const { onRanks({1}, {}, body); }
};

} // namespace cleave::rt::test

#endif
