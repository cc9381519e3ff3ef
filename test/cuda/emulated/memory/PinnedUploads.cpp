#include "test/cuda/emulated/memory/PinnedUploads.h"
#include <algorithm>
#include <cstring>

namespace cleave::emulated {

void PinnedUploads::add(std::shared_ptr<Allocation> from, uint64_t source, std::vector<char> bytes,
                        uint64_t deviceWrites, ClockId clock, uint64_t tick) {
  std::lock_guard<std::mutex> lock(mutex);
  uploads.push_back({std::move(from), source, std::move(bytes), deviceWrites, clock, tick});
}

std::string PinnedUploads::check() {
  std::lock_guard<std::mutex> lock(mutex);
  for (size_t i = 0; i < uploads.size(); i++) {
    const Upload &u = uploads[i];
    const char *now = reinterpret_cast<const char *>(u.source);
    auto other = std::mismatch(u.bytes.begin(), u.bytes.end(), now);
    // The device counts a write before it writes. So the counter is read after the bytes.
    if (other.first == u.bytes.end() || u.from->deviceWrites != u.deviceWrites)
      continue;
    std::string message = "the host writes pinned memory, at +" +
                          std::to_string(u.source - u.from->address + uint64_t(other.first - u.bytes.begin())) +
                          " of an allocation of " + std::to_string(u.from->bytes) +
                          " bytes, from which it has enqueued a copy that it does not know to have ended";
    uploads.erase(uploads.begin() + long(i));
    return message;
  }
  return "";
}

void PinnedUploads::forgetEnded(const VectorClock &host) {
  std::lock_guard<std::mutex> lock(mutex);
  auto isEnded = [&](const Upload &u) { return host.at(u.clock) >= u.tick; };
  uploads.erase(std::remove_if(uploads.begin(), uploads.end(), isEnded), uploads.end());
}

void PinnedUploads::forget(uint64_t allocation) {
  std::lock_guard<std::mutex> lock(mutex);
  auto isOfIt = [&](const Upload &u) { return u.from->address == allocation; };
  uploads.erase(std::remove_if(uploads.begin(), uploads.end(), isOfIt), uploads.end());
}

} // namespace cleave::emulated
