#include "test/cuda/emulated/driver/Machine.h"
#include <chrono>
#include <cstdio>
#include <thread>
#include <unistd.h>

namespace cleave::emulated {

uint64_t scramble(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

namespace {
// Leaks are reported when the library is unloaded. The machine itself is never destroyed, because threads of streams
// may still run.
struct AtExit {
  ~AtExit() {
    Machine &m = Machine::get();
    size_t before = m.findings().size();
    if (m.initialized && !m.stickyError())
      m.reportLeaks("at exit");
    if (m.options.leaksFail && m.findings().size() > before) {
      fflush(nullptr);
      _exit(99);
    }
  }
} atExit;
} // namespace

Machine &Machine::get() {
  static auto *machine = new Machine;
  return *machine;
}

Machine::Machine() : options(readOptions()), used(size_t(options.devices > 0 ? options.devices : 0), 0) {}

void Machine::report(int code, const std::string &message) {
  std::lock_guard<std::mutex> lock(mutex);
  found.push_back(message);
  fprintf(stderr, "emulated CUDA device: %s\n", message.c_str());
  if (!options.report.empty())
    if (FILE *f = fopen(options.report.c_str(), "a")) {
      fprintf(f, "%s\n", message.c_str());
      fclose(f);
    }
  int none = 0;
  if (code && sticky.compare_exchange_strong(none, code))
    stickyText = message;
}

std::vector<std::string> Machine::findings() const {
  std::lock_guard<std::mutex> lock(mutex);
  return found;
}

void Machine::clearFindings() {
  std::lock_guard<std::mutex> lock(mutex);
  found.clear();
  stickyText.clear();
  sticky = 0;
}

const char *Machine::textOf(int code) {
  std::lock_guard<std::mutex> lock(mutex);
  return sticky == code && code ? stickyText.c_str() : nullptr;
}

VectorClock Machine::hostClock() {
  std::lock_guard<std::mutex> lock(mutex);
  return host;
}

void Machine::hostLearns(const VectorClock &clock) {
  checkUploads();
  VectorClock now;
  {
    std::lock_guard<std::mutex> lock(mutex);
    host.join(clock);
    now = host;
  }
  uploads.forgetEnded(now);
}

void Machine::checkUploads() {
  if (options.races)
    if (std::string found = uploads.check(); !found.empty())
      report(code::LaunchFailed, found);
}

Machine::HostWaits::HostWaits() {
  Machine &m = Machine::get();
  {
    std::lock_guard<std::mutex> lock(m.waitMutex);
    m.hostWaits++;
  }
  m.waitChanged.notify_all();
}

Machine::HostWaits::~HostWaits() {
  Machine &m = Machine::get();
  std::lock_guard<std::mutex> lock(m.waitMutex);
  m.hostWaits--;
}

void Machine::hesitate(uint64_t salt) {
  if (!options.delayMicroseconds)
    return;
  uint64_t r = scramble(salt ^ scramble(options.seed));
  auto delay = std::chrono::microseconds((r >> 8) % options.delayMicroseconds);
  if (r % 8 < 2) {
    std::this_thread::sleep_for(delay);
  } else if (r % 8 == 2) {
    std::unique_lock<std::mutex> lock(waitMutex);
    waitChanged.wait_for(lock, 20 * delay, [&] { return hostWaits > 0; });
  }
}

void Machine::addHandle(const void *handle, const char *kind) {
  std::lock_guard<std::mutex> lock(mutex);
  handles.insert({handle, kind});
}

bool Machine::removeHandle(const void *handle, const char *kind) {
  std::lock_guard<std::mutex> lock(mutex);
  return handles.erase({handle, kind}) > 0;
}

bool Machine::isHandle(const void *handle, const char *kind) const {
  std::lock_guard<std::mutex> lock(mutex);
  return handles.count({handle, kind}) > 0;
}

bool Machine::takeMemory(int device, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  if (used[size_t(device)] + bytes > options.memoryBytes)
    return false;
  used[size_t(device)] += bytes;
  return true;
}

void Machine::returnMemory(int device, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  used[size_t(device)] -= bytes;
}

uint64_t Machine::freeMemory(int device) const {
  std::lock_guard<std::mutex> lock(mutex);
  return options.memoryBytes - used[size_t(device)];
}

void Machine::reportLeaks(const char *when) {
  for (const auto &a : memory.all())
    if (a->kind != Allocation::Kind::Variable)
      report(0, std::string("leak ") + when + ": " + std::to_string(a->bytes) + " bytes of " +
                    (a->kind == Allocation::Kind::Device ? "device memory" : "pinned host memory") + " were not freed");
  std::set<std::pair<const void *, std::string>> left;
  {
    std::lock_guard<std::mutex> lock(mutex);
    left = handles;
  }
  for (const auto &[handle, kind] : left)
    if (kind != "context" && kind != "function")
      report(0, std::string("leak ") + when + ": a " + kind + " was not destroyed");
}

} // namespace cleave::emulated
