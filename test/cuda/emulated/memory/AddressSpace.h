// All memory that the driver allocates: device memory, variables of modules, pinned host memory.
//
// A device address is not an address of the host. The memory of device address A is at A + kDeviceOffset, and A itself
// is reserved without access. So a host that dereferences a device pointer crashes here, as with a GPU. Fresh memory is
// filled with NaN patterns, and the space knows which bytes have been written since.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

namespace cleave::emulated {

struct Allocation {
  enum class Kind { Device, Variable, Pinned };
  uint64_t address = 0, bytes = 0;
  Kind kind = Kind::Device;
  int device = 0;
  std::unique_ptr<std::atomic<uint64_t>[], void (*)(void *)> written {
    nullptr, nullptr
  };                                             // a bit for each byte; null for pinned memory
  mutable std::atomic<uint64_t> deviceWrites{0}; // number of writes of the device to pinned memory

  bool contains(uint64_t a, uint64_t n) const { return a >= address && n <= bytes && a - address <= bytes - n; }
  uint64_t host() const;
  void markWritten(uint64_t a, uint64_t n) const;
  // Returns the first byte of the range that nothing wrote, or `a + n` if all were written.
  uint64_t firstUnwritten(uint64_t a, uint64_t n) const;
  void copyWritten(const Allocation &from, uint64_t source, uint64_t target, uint64_t n) const;
};

class AddressSpace {
public:
  // Null if the host has no memory left.
  std::shared_ptr<Allocation> allocate(Allocation::Kind kind, uint64_t bytes, int device);
  // Removes the allocation that starts at `address`, and returns it. Null if there is none of this kind.
  std::shared_ptr<Allocation> release(uint64_t address, Allocation::Kind kind);
  // Returns the allocation that contains `address`, or null.
  std::shared_ptr<Allocation> find(uint64_t address) const;
  std::vector<std::shared_ptr<Allocation>> all() const;
  // Describes the position of an address: "64 bytes at 0x... , 16 bytes after an allocation of 128 bytes".
  std::string describe(uint64_t address, uint64_t bytes) const;
  uint64_t generation() const { return changes.load(); } // changes with each allocation and release

  static constexpr uint64_t kDeviceOffset = uint64_t(0x2000) << 32;

private:
  mutable std::shared_mutex mutex;
  std::map<uint64_t, std::shared_ptr<Allocation>> allocations;
  std::atomic<uint64_t> changes{1};
};

} // namespace cleave::emulated
