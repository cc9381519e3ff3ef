// Allocation, copies, fills.
//
// The addresses of a copy give its direction. The driver stages plain (pageable) host memory: its bytes are read during
// the call, and a copy to it is complete when the call returns. Pinned memory is copied when the stream reaches the
// copy. It has a NaN pattern from the start of the copy to its end.
#include "test/cuda/emulated/driver/Api.h"
#include <atomic>
#include <cstring>

using namespace cleave::emulated;

namespace {

struct End {
  uint64_t address;
  std::shared_ptr<Allocation> allocation; // null: plain host memory
};

End endOf(uint64_t address) { return {address, Machine::get().memory.find(address)}; }

// A range that starts inside of an allocation must also end in it.
bool fits(const End &e, uint64_t bytes) { return !e.allocation || e.allocation->contains(e.address, bytes); }

bool isDevice(const End &e) { return e.allocation && e.allocation->kind != Allocation::Kind::Pinned; }

void copyBytes(Recorder &r, uint64_t target, uint64_t source, uint64_t bytes) {
  Machine &m = Machine::get();
  std::shared_ptr<Allocation> to = m.memory.find(target), from = m.memory.find(source);
  const void *src = from ? r.read(source, bytes, false) : reinterpret_cast<const void *>(source);
  void *dst = to ? r.write(target, bytes) : reinterpret_cast<void *>(target);
  if (!src || !dst)
    return;
  if (to && to->kind == Allocation::Kind::Pinned) {
    memset(dst, 0xff, bytes);
    m.hesitate(r.seed);
  }
  memmove(dst, src, bytes);
  if (from && to)
    to->copyWritten(*from, source, target, bytes);
  else if (from && !to && m.options.uninitialized && bytes && from->firstUnwritten(source, 1) == source &&
           from->firstUnwritten(source + bytes - 1, 1) == source + bytes - 1)
    m.report(code::LaunchFailed,
             r.name + " gives the host " + m.memory.describe(source, bytes) + ", which nothing wrote");
}

// Records the upload if the last operation of the stream copies from pinned memory.
void keepUpload(Stream &s, const End &from, uint64_t bytes, uint64_t deviceWrites) {
  Machine &m = Machine::get();
  if (!m.options.races)
    return;
  m.checkUploads();
  const char *begin = reinterpret_cast<const char *>(from.address);
  m.uploads.add(from.allocation, from.address, {begin, begin + bytes}, deviceWrites, s.clock, s.tick());
}

int copy(uint64_t target, uint64_t source, uint64_t bytes, Handle stream, bool synchronous) {
  if (int error = synchronous ? needContextOutsideCapture() : needContext())
    return error;
  std::shared_ptr<Stream> s = Streams::get().find(stream);
  if (!s)
    return code::InvalidHandle;
  if (!bytes)
    return code::Success;
  End to = endOf(target), from = endOf(source);
  if (!target || !source || !fits(to, bytes) || !fits(from, bytes))
    return code::InvalidValue;
  std::string name = isDevice(to) ? (isDevice(from) ? "a copy on the device" : "an upload")
                                  : (isDevice(from) ? "a download" : "a copy on the host");
  name += " of " + std::to_string(bytes) + " bytes";
  Operation operation{name, nullptr};
  if (!from.allocation && !s->capture) { // staged
    auto staged = std::make_shared<std::vector<char>>(reinterpret_cast<const char *>(source),
                                                      reinterpret_cast<const char *>(source) + bytes);
    operation.run = [=](Recorder &r) { copyBytes(r, target, reinterpret_cast<uint64_t>(staged->data()), bytes); };
  } else {
    operation.run = [=](Recorder &r) { copyBytes(r, target, source, bytes); };
  }
  Machine::get().plainCopies += isDevice(to) ? !from.allocation : isDevice(from) && !to.allocation;
  uint64_t deviceWrites = from.allocation ? from.allocation->deviceWrites.load() : 0;
  if (int error = s->enqueue(std::move(operation), NodeKind::Copy))
    return error;
  if (from.allocation && from.allocation->kind == Allocation::Kind::Pinned && !s->capture)
    keepUpload(*s, from, bytes, deviceWrites);
  if (s->capture || (!synchronous && to.allocation))
    return code::Success;
  VectorClock known;
  {
    std::lock_guard<std::mutex> lock(s->order);
    known = s->known;
  }
  s->synchronize();
  Machine::get().hostLearns(known);
  return Machine::get().stickyError();
}

template <class T> int fill(uint64_t target, T value, size_t count, Handle stream, bool synchronous) {
  if (int error = synchronous ? needContextOutsideCapture() : needContext())
    return error;
  std::shared_ptr<Stream> s = Streams::get().find(stream);
  if (!s)
    return code::InvalidHandle;
  if (!count)
    return code::Success;
  End to = endOf(target);
  if (!to.allocation || !fits(to, count * sizeof(T)) || target % sizeof(T))
    return code::InvalidValue;
  Operation operation{"a fill of " + std::to_string(count * sizeof(T)) + " bytes", [=](Recorder &r) {
                        if (auto *p = static_cast<T *>(r.write(target, count * sizeof(T))))
                          std::fill(p, p + count, value);
                      }};
  if (int error = s->enqueue(std::move(operation), NodeKind::Fill))
    return error;
  if (synchronous)
    s->synchronize();
  return Machine::get().stickyError();
}

} // namespace

CLEAVE_EMULATED_API int cuMemGetInfo_v2(size_t *free, size_t *total) {
  if (int error = needContext())
    return error;
  *free = Machine::get().freeMemory(currentDevice());
  *total = Machine::get().options.memoryBytes;
  return code::Success;
}

CLEAVE_EMULATED_API int cuMemAlloc_v2(DevicePointer *memory, size_t bytes) {
  if (int error = needContextOutsideCapture())
    return error;
  if (!memory || !bytes)
    return code::InvalidValue;
  Machine &m = Machine::get();
  if (!m.takeMemory(currentDevice(), bytes))
    return code::OutOfMemory;
  std::shared_ptr<Allocation> a = m.memory.allocate(Allocation::Kind::Device, bytes, currentDevice());
  if (!a) {
    m.returnMemory(currentDevice(), bytes);
    return code::OutOfMemory;
  }
  m.races.forget(a->address, bytes);
  *memory = a->address;
  return code::Success;
}

CLEAVE_EMULATED_API int cuMemFree_v2(DevicePointer memory) {
  if (int error = needContextOutsideCapture())
    return error;
  if (!memory)
    return code::Success;
  Machine &m = Machine::get();
  Streams::get().synchronizeAll(currentDevice());
  std::shared_ptr<Allocation> a = m.memory.release(memory, Allocation::Kind::Device);
  if (!a)
    return code::InvalidValue;
  m.returnMemory(a->device, a->bytes);
  m.races.forget(a->address, a->bytes);
  return m.stickyError();
}

static std::atomic<uint64_t> pinnedBytes{0};

CLEAVE_EMULATED_API int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  if (int error = needContextOutsideCapture())
    return error;
  if (!memory || !bytes || flags > 7)
    return code::InvalidValue;
  if (pinnedBytes.fetch_add(bytes) + bytes > Machine::get().options.pinnedBytes) {
    pinnedBytes -= bytes;
    return code::OutOfMemory;
  }
  std::shared_ptr<Allocation> a = Machine::get().memory.allocate(Allocation::Kind::Pinned, bytes, currentDevice());
  if (!a) {
    pinnedBytes -= bytes;
    return code::OutOfMemory;
  }
  Machine::get().races.forget(a->address, bytes);
  *memory = reinterpret_cast<void *>(a->address);
  return code::Success;
}

CLEAVE_EMULATED_API int cuMemAllocHost_v2(void **memory, size_t bytes) { return cuMemHostAlloc(memory, bytes, 0); }

CLEAVE_EMULATED_API int cuMemFreeHost(void *memory) {
  if (int error = needContextOutsideCapture())
    return error;
  Streams::get().synchronizeAll(currentDevice());
  Machine::get().uploads.forget(reinterpret_cast<uint64_t>(memory));
  std::shared_ptr<Allocation> a =
      Machine::get().memory.release(reinterpret_cast<uint64_t>(memory), Allocation::Kind::Pinned);
  if (!a)
    return code::InvalidValue;
  pinnedBytes -= a->bytes;
  Machine::get().races.forget(a->address, a->bytes);
  return code::Success;
}

CLEAVE_EMULATED_API int cuMemcpyAsync(DevicePointer target, DevicePointer source, size_t bytes, Handle stream) {
  return copy(target, source, bytes, stream, false);
}
CLEAVE_EMULATED_API int cuMemcpy(DevicePointer target, DevicePointer source, size_t bytes) {
  return copy(target, source, bytes, nullptr, true);
}
CLEAVE_EMULATED_API int cuMemcpyHtoDAsync_v2(DevicePointer target, const void *source, size_t bytes, Handle stream) {
  return copy(target, reinterpret_cast<uint64_t>(source), bytes, stream, false);
}
CLEAVE_EMULATED_API int cuMemcpyDtoHAsync_v2(void *target, DevicePointer source, size_t bytes, Handle stream) {
  return copy(reinterpret_cast<uint64_t>(target), source, bytes, stream, false);
}
CLEAVE_EMULATED_API int cuMemcpyDtoDAsync_v2(DevicePointer target, DevicePointer source, size_t bytes, Handle stream) {
  return copy(target, source, bytes, stream, false);
}
CLEAVE_EMULATED_API int cuMemcpyHtoD_v2(DevicePointer target, const void *source, size_t bytes) {
  return copy(target, reinterpret_cast<uint64_t>(source), bytes, nullptr, true);
}
CLEAVE_EMULATED_API int cuMemcpyDtoH_v2(void *target, DevicePointer source, size_t bytes) {
  return copy(reinterpret_cast<uint64_t>(target), source, bytes, nullptr, true);
}
CLEAVE_EMULATED_API int cuMemcpyDtoD_v2(DevicePointer target, DevicePointer source, size_t bytes) {
  return copy(target, source, bytes, nullptr, true);
}

CLEAVE_EMULATED_API int cuMemsetD8Async(DevicePointer target, unsigned char value, size_t count, Handle stream) {
  return fill<uint8_t>(target, value, count, stream, false);
}
CLEAVE_EMULATED_API int cuMemsetD16Async(DevicePointer target, unsigned short value, size_t count, Handle stream) {
  return fill<uint16_t>(target, value, count, stream, false);
}
CLEAVE_EMULATED_API int cuMemsetD32Async(DevicePointer target, unsigned value, size_t count, Handle stream) {
  return fill<uint32_t>(target, value, count, stream, false);
}
CLEAVE_EMULATED_API int cuMemsetD8_v2(DevicePointer target, unsigned char value, size_t count) {
  return fill<uint8_t>(target, value, count, nullptr, true);
}
CLEAVE_EMULATED_API int cuMemsetD32_v2(DevicePointer target, unsigned value, size_t count) {
  return fill<uint32_t>(target, value, count, nullptr, true);
}
