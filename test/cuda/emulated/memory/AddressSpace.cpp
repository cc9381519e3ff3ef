#include "test/cuda/emulated/memory/AddressSpace.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sys/mman.h>

namespace cleave::emulated {
namespace {

constexpr uint64_t kPage = 4096;
uint64_t pages(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage + kPage; } // and a page that guards the end

} // namespace

uint64_t Allocation::host() const { return kind == Kind::Pinned ? address : address + AddressSpace::kDeviceOffset; }

void Allocation::markWritten(uint64_t a, uint64_t n) const {
  if (!written) {
    deviceWrites++;
    return;
  }
  for (uint64_t at = a - address, end = at + n; at < end;) {
    uint64_t low = at % 64, count = std::min<uint64_t>(64 - low, end - at);
    uint64_t mask = (count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1) << low;
    if ((written[at / 64].load(std::memory_order_relaxed) & mask) != mask)
      written[at / 64].fetch_or(mask, std::memory_order_relaxed);
    at += count;
  }
}

uint64_t Allocation::firstUnwritten(uint64_t a, uint64_t n) const {
  if (!written)
    return a + n;
  for (uint64_t at = a - address, end = at + n; at < end;) {
    uint64_t low = at % 64, count = std::min<uint64_t>(64 - low, end - at);
    uint64_t mask = (count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1) << low;
    uint64_t missing = ~written[at / 64].load(std::memory_order_relaxed) & mask;
    if (missing)
      return address + at / 64 * 64 + uint64_t(__builtin_ctzll(missing));
    at += count;
  }
  return a + n;
}

void Allocation::copyWritten(const Allocation &from, uint64_t source, uint64_t target, uint64_t n) const {
  if (!written)
    return;
  for (uint64_t k = 0; k < n; k++) {
    uint64_t s = source + k - from.address, t = target + k - address;
    bool known = !from.written || (from.written[s / 64].load(std::memory_order_relaxed) >> (s % 64) & 1);
    uint64_t bit = uint64_t(1) << (t % 64);
    if (known)
      written[t / 64].fetch_or(bit, std::memory_order_relaxed);
    else
      written[t / 64].fetch_and(~bit, std::memory_order_relaxed);
  }
}

std::shared_ptr<Allocation> AddressSpace::allocate(Allocation::Kind kind, uint64_t bytes, int device) {
  uint64_t size = pages(bytes);
  void *host = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (host == MAP_FAILED)
    return nullptr;
  auto at = reinterpret_cast<uint64_t>(host);
  if (kind != Allocation::Kind::Pinned) {
    auto *wanted = reinterpret_cast<void *>(at - kDeviceOffset);
    void *reserved =
        mmap(wanted, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (reserved != wanted) {
      if (reserved != MAP_FAILED)
        munmap(reserved, size);
      munmap(host, size);
      return nullptr;
    }
  }
  memset(host, 0xff, bytes);
  mprotect(static_cast<char *>(host) + size - kPage, kPage, PROT_NONE);
  auto a = std::make_shared<Allocation>();
  a->kind = kind;
  a->bytes = bytes;
  a->device = device;
  a->address = kind == Allocation::Kind::Pinned ? at : at - kDeviceOffset;
  if (kind != Allocation::Kind::Pinned)
    a->written = {static_cast<std::atomic<uint64_t> *>(calloc(bytes / 64 + 1, 8)), free};
  std::unique_lock lock(mutex);
  allocations[a->address] = a;
  changes++;
  return a;
}

std::shared_ptr<Allocation> AddressSpace::release(uint64_t address, Allocation::Kind kind) {
  std::shared_ptr<Allocation> a;
  {
    std::unique_lock lock(mutex);
    auto found = allocations.find(address);
    if (found == allocations.end() || found->second->kind != kind)
      return nullptr;
    a = found->second;
    allocations.erase(found);
    changes++;
  }
  munmap(reinterpret_cast<void *>(a->host()), pages(a->bytes));
  if (kind != Allocation::Kind::Pinned)
    munmap(reinterpret_cast<void *>(a->address), pages(a->bytes));
  return a;
}

std::shared_ptr<Allocation> AddressSpace::find(uint64_t address) const {
  std::shared_lock lock(mutex);
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin())
    return nullptr;
  const auto &a = std::prev(after)->second;
  return address - a->address < std::max<uint64_t>(a->bytes, 1) ? a : nullptr;
}

std::vector<std::shared_ptr<Allocation>> AddressSpace::all() const {
  std::shared_lock lock(mutex);
  std::vector<std::shared_ptr<Allocation>> list;
  for (const auto &[address, a] : allocations)
    list.push_back(a);
  return list;
}

std::string AddressSpace::describe(uint64_t address, uint64_t bytes) const {
  char text[200];
  snprintf(text, sizeof text, "%llu bytes at 0x%llx", (unsigned long long)bytes, (unsigned long long)address);
  std::string result = text;
  std::shared_lock lock(mutex);
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin())
    return result + ", before every allocation";
  const Allocation &a = *std::prev(after)->second;
  snprintf(text, sizeof text, ", at +%llu of an allocation of %llu bytes at 0x%llx",
           (unsigned long long)(address - a.address), (unsigned long long)a.bytes, (unsigned long long)a.address);
  return result + text;
}

} // namespace cleave::emulated
