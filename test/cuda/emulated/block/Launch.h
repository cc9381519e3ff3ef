// Runs one kernel launch on the calling OS thread: the blocks of the grid one after the other, and each block's threads
// as fibers. This is the interface between the emulator and the driver. The emulator knows translated kernels, and sees
// global memory only through `GlobalMemory`.
#pragma once
#include <cstdint>
#include <string>

namespace cleave::emulated {

enum class Access { Read, Write, Atomic };

// A mistake that a launch made. `code` is the error of the driver that a real device would report. For a mistake that a
// real device lets pass (a race), it is CUDA_ERROR_LAUNCH_FAILED, because no finding may look like success.
struct Fault {
  int code = 0;
  std::string message;
};

// Global memory, as the driver stores it. Its addresses are not addresses of the host: the host must not access device
// memory.
class GlobalMemory {
public:
  virtual ~GlobalMemory() = default;
  // Checks and records an access of the block with the given linear index. Returns the host's address of the bytes. If
  // the access is not allowed, returns 0 and sets `fault`.
  virtual uint64_t access(uint64_t address, uint32_t bytes, Access kind, uint64_t block, Fault &fault) = 0;
};

struct Extent {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

struct Launch {
  std::string name;
  // The translated code. It reads its arguments from `arguments[i]`.
  void (*entry)(void **arguments) = nullptr;
  void **arguments = nullptr;
  // The address range of the arguments' bytes, because a kernel may take an argument's address.
  uint64_t argumentsBegin = 0, argumentsEnd = 0;
  Extent grid, block;
  uint32_t sharedStatic = 0, sharedDynamic = 0;
  uint64_t seed = 1;
  GlobalMemory *memory = nullptr;
  // Report reads of shared memory that no thread of the block wrote. This is off by default, because compilers may load
  // speculatively and not use the value.
  bool checkUninitializedShared = false;
};

constexpr uint32_t kMaxThreads = 1024;
constexpr uint32_t kMaxShared = 227 << 10;       // the opt-in limit of sm_90
constexpr uint32_t kMaxSharedDefault = 48 << 10; // without the function attribute

// Runs the launch. Returns false and the first fault if there is one. Writes before the fault remain in memory.
bool runLaunch(const Launch &launch, Fault &fault);

} // namespace cleave::emulated
