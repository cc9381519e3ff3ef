// The options of the emulated device. They are read once from the environment; these are the defaults:
//
//   CLEAVE_EMULATED_SEED=1            orders of threads and streams, delays
//   CLEAVE_EMULATED_DELAY_US=50      longest delay before an operation of a stream; 0: none
//   CLEAVE_EMULATED_DEVICES=1         number of devices
//   CLEAVE_EMULATED_CAPABILITY=9.0    compute capability
//   CLEAVE_EMULATED_MEMORY=4294967296 bytes of memory of each device
//   CLEAVE_EMULATED_DRIVER=13000      version of the driver
//   CLEAVE_EMULATED_PINNED=BYTES      how much pinned memory the program gets (default: no limit)
//   CLEAVE_EMULATED_RACES=1           find races between streams, and with the host's use of pinned memory
//   CLEAVE_EMULATED_PLAIN_COPIES=0    find copies between the device and host memory that is not pinned, between two
//                                     launches of one graph, because the host waits for each of them
//   CLEAVE_EMULATED_BLOCKS=1          find blocks of one launch that touch the same bytes
//   CLEAVE_EMULATED_UNINITIALIZED=1   find reads of device memory that nothing wrote
//   CLEAVE_EMULATED_SHARED_UNINITIALIZED=0   the same for shared memory
//   CLEAVE_EMULATED_IGNORE_WAIT=0     N: skip the Nth wait for an event of each thread
//   CLEAVE_EMULATED_FAIL_LAUNCH=N     refuse the Nth launch of each thread (ApiModule.cpp reads it)
//   CLEAVE_EMULATED_LOOKUPS=0         find functions of a module that are looked up more than once
//   CLEAVE_EMULATED_GRAPHS_FIT=1      a digit for each device, the last one for all further ones: 0 if it has no memory
//                                     for executable graphs (read for each graph)
//   CLEAVE_EMULATED_LEAKS=report      at exit: report what was not freed; `fail` also ends the process with code 99
//   CLEAVE_EMULATED_REPORT=FILE       append every finding to FILE, besides stderr
#pragma once
#include <cstdint>
#include <string>

namespace cleave::emulated {

struct Options {
  uint64_t seed = 1;
  uint32_t delayMicroseconds = 50;
  uint64_t ignoredWait = 0; // 0: none
  int devices = 1;
  int capabilityMajor = 9, capabilityMinor = 0;
  uint64_t memoryBytes = uint64_t(4) << 30;
  uint64_t pinnedBytes = UINT64_MAX;
  int driverVersion = 13000;
  bool races = true, blocks = true, uninitialized = true, sharedUninitialized = false, lookups = false;
  bool plainCopies = false;
  bool leaksFail = false;
  std::string report;
};

Options readOptions();

} // namespace cleave::emulated
