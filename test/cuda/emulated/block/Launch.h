// Running one kernel launch on the calling OS thread: the blocks of the grid one after the other, each block's threads
// as fibers. This is the emulator's border to the driver: it knows translated kernels, and global memory by an
// interface.
#pragma once
#include <cstdint>
#include <string>

namespace cleave::emulated {

enum class Access { Read, Write, Atomic };

// What a launch did wrong. `code` is the error of the driver that a real device would report, or, for findings that a
// real device lets pass (races), CUDA_ERROR_LAUNCH_FAILED: a finding must never pass for success.
struct Fault {
  int code = 0;
  std::string message;
};

// Global memory, as the driver keeps it. Its addresses are none of the host's: the host must not touch device memory.
class GlobalMemory {
public:
  virtual ~GlobalMemory() = default;
  // Checks and records an access of the block with the given linear index. Returns where the bytes are for the host; 0
  // and a fault if the access is not allowed.
  virtual uint64_t access(uint64_t address, uint32_t bytes, Access kind, uint64_t block, Fault &fault) = 0;
};

struct Extent {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

struct Launch {
  std::string name;
  // Translated code: reads its arguments from `arguments[i]`.
  void (*entry)(void **arguments) = nullptr;
  void **arguments = nullptr;
  // The bytes that hold the arguments: a kernel may take an argument's address.
  uint64_t argumentsBegin = 0, argumentsEnd = 0;
  Extent grid, block;
  uint32_t sharedStatic = 0, sharedDynamic = 0;
  uint64_t seed = 1;
  GlobalMemory *memory = nullptr;
  // Report reads of shared memory that no thread of the block wrote. Compilers may load speculatively and drop the
  // value.
  bool checkUninitializedShared = false;
};

constexpr uint32_t kMaxThreads = 1024;
constexpr uint32_t kMaxShared = 227 << 10;       // the opt-in limit of sm_90
constexpr uint32_t kMaxSharedDefault = 48 << 10; // without the function attribute

// Runs the launch. Returns false and the first fault; what the launch wrote before stays.
bool runLaunch(const Launch &launch, Fault &fault);

} // namespace cleave::emulated
