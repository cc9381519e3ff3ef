// Functions that the emulated driver exports besides the driver's API: for its tests, and for the other emulated
// libraries.
#pragma once
#include <cstddef>
#include <cstdint>

#define CLEAVE_EMULATED_CONTROL extern "C" __attribute__((visibility("default")))

// ---- findings since the start, or since the last clear (which also makes a lost context usable again)
CLEAVE_EMULATED_CONTROL int cleave_emulated_finding_count();
CLEAVE_EMULATED_CONTROL const char *
cleave_emulated_finding(int index); // valid until the next call; null: no such finding
CLEAVE_EMULATED_CONTROL void cleave_emulated_clear();
CLEAVE_EMULATED_CONTROL void cleave_emulated_seed(uint64_t seed);
// Reports everything that is allocated now as a leak, as the end of the process does.
CLEAVE_EMULATED_CONTROL void cleave_emulated_report_leaks();

// ---- work of another library on a stream
// While the work runs, `read` and `write` check and record an access, and return the host's pointer to the device
// memory. They return null after an error, which has been reported.
struct cleave_emulated_memory {
  void *self;
  const void *(*read)(void *self, uint64_t address, uint64_t bytes);
  void *(*write)(void *self, uint64_t address, uint64_t bytes);
  void (*fail)(void *self, int code, const char *message);
};
// Enqueues work. On a stream, `work` runs once. In a graph, it runs once for each launch. `drop` is called when `data`
// is not needed any more. Returns a code of the driver.
CLEAVE_EMULATED_CONTROL int cleave_emulated_enqueue(void *stream, const char *name,
                                                    void (*work)(void *data, const cleave_emulated_memory *memory),
                                                    void *data, void (*drop)(void *data));
// Reports a finding of another library. `code` is a code of the driver that becomes sticky, or 0.
CLEAVE_EMULATED_CONTROL void cleave_emulated_report(int code, const char *message);
CLEAVE_EMULATED_CONTROL int cleave_emulated_has_context();
