#include "test/cuda/emulated/driver/Stream.h"
#include <algorithm>
#include <cstdio>
#include <set>

namespace cleave::emulated {

int &currentDevice() {
  static thread_local int device = -1;
  return device;
}

Stream::Stream(int device, bool blocking)
    : clock(Machine::get().newClock()), device(device), blocking(blocking), thread([this] { work(); }) {}

Stream::~Stream() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  thread.join();
}

void Stream::work() {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return stopping || !queue.empty(); });
      if (queue.empty())
        return;
      task = std::move(queue.front());
      queue.pop_front();
    }
    task();
    task = nullptr;
    {
      std::lock_guard<std::mutex> lock(mutex);
      done++;
    }
    changed.notify_all();
  }
}

void Stream::push(std::function<void()> task) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    queue.push_back(std::move(task));
    pushed++;
  }
  changed.notify_all();
}

uint64_t Stream::pushedCount() {
  std::lock_guard<std::mutex> lock(mutex);
  return pushed;
}

void Stream::waitFor(uint64_t count) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return done >= count; });
}

void Stream::synchronize() {
  Machine::HostWaits waits;
  waitFor(pushedCount());
}

bool Stream::isIdle() {
  std::lock_guard<std::mutex> lock(mutex);
  return done >= pushed;
}

void Stream::tellIgnored(const std::string &before) {
  if (untold)
    fprintf(stderr, "emulated CUDA device: before %s the ignored wait %s\n", before.c_str(),
            known.covers(*untold) ? "is made up for by others" : "is missing");
  untold.reset();
}

int Stream::enqueue(Operation operation, NodeKind kind) {
  Machine &machine = Machine::get();
  if (int error = machine.stickyError())
    return error;
  if (capture) {
    if (capture->invalid)
      return code::CaptureInvalidated;
    std::vector<GraphNode> &nodes = capture->graph->nodes;
    nodes.push_back({std::move(operation), kind, captureLast, captureChain});
    captureLast = {nodes.size() - 1};
    return code::Success;
  }
  // Under legacy semantics, the default stream implicitly takes part in every capture of a blocking stream.
  Streams &streams = Streams::get();
  if (streams.captures && streams.isDefault(this))
    if (streams.unsafeCall())
      return code::CaptureImplicit;
  streams.orderWithDefault(*this);
  std::lock_guard<std::mutex> lock(order);
  known.join(machine.hostClock());
  tellIgnored(operation.name);
  known.tick(clock);
  Stamp stamp{clock, known.at(clock), known};
  uint64_t salt = (uint64_t(clock) << 40) + operations++;
  push([operation = std::move(operation), stamp = std::move(stamp), salt] {
    Machine::get().hesitate(salt);
    perform(operation, stamp, salt);
  });
  return code::Success;
}

uint64_t Stream::tick() {
  std::lock_guard<std::mutex> lock(order);
  return known.at(clock);
}

// ------------------------------------------------------------------------------------------------- class Streams

Streams &Streams::get() {
  static auto *streams = new Streams;
  return *streams;
}

std::shared_ptr<Stream> Streams::find(void *handle) {
  std::lock_guard<std::mutex> lock(mutex);
  if (reinterpret_cast<uintptr_t>(handle) <= 2) {
    std::shared_ptr<Stream> &s = defaults[currentDevice()];
    if (!s)
      s = std::make_shared<Stream>(currentDevice(), true);
    return s;
  }
  auto found = streams.find(handle);
  return found == streams.end() ? nullptr : found->second;
}

void *Streams::create(int device, bool blocking) {
  auto s = std::make_shared<Stream>(device, blocking);
  void *handle = s.get();
  std::lock_guard<std::mutex> lock(mutex);
  streams[handle] = std::move(s);
  Machine::get().addHandle(handle, "stream");
  return handle;
}

bool Streams::destroy(void *handle) {
  std::shared_ptr<Stream> s;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = streams.find(handle);
    if (found == streams.end())
      return false;
    s = found->second;
    streams.erase(found);
  }
  Machine::get().removeHandle(handle, "stream");
  // The driver returns at once, and the work continues. Here the call waits for the work, which a program can notice
  // only by time. Other streams may hold this stream until their waits for it are over.
  s->synchronize();
  return true;
}

std::vector<std::shared_ptr<Stream>> Streams::all() {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<std::shared_ptr<Stream>> list;
  for (auto &[handle, s] : streams)
    list.push_back(s);
  for (auto &[device, s] : defaults)
    list.push_back(s);
  return list;
}

bool Streams::isDefault(const Stream *s) {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[device, d] : defaults)
    if (d.get() == s)
      return true;
  return false;
}

void Streams::orderWithDefault(Stream &s) {
  if (!s.blocking)
    return;
  bool self = isDefault(&s);
  for (const std::shared_ptr<Stream> &other : all()) {
    bool related =
        other.get() != &s && other->blocking && other->device == s.device && (self || isDefault(other.get()));
    if (!related)
      continue;
    VectorClock known;
    uint64_t count;
    {
      std::lock_guard<std::mutex> lock(other->order);
      known = other->known;
      count = other->pushedCount();
    }
    {
      std::lock_guard<std::mutex> lock(s.order);
      s.known.join(known);
    }
    s.push([other, count] { other->waitFor(count); });
  }
}

void Streams::synchronizeAll(int device) {
  Machine::HostWaits waits;
  for (const std::shared_ptr<Stream> &s : all()) {
    if (s->device != device)
      continue;
    VectorClock known;
    {
      std::lock_guard<std::mutex> lock(s->order);
      known = s->known;
    }
    s->synchronize();
    Machine::get().hostLearns(known);
  }
}

void Streams::finishAll() {
  std::set<int> devices;
  for (const std::shared_ptr<Stream> &s : all())
    devices.insert(s->device);
  for (int device : devices)
    synchronizeAll(device);
}

int Streams::unsafeCall() {
  if (!captures)
    return code::Success;
  std::lock_guard<std::mutex> lock(mutex);
  int result = code::Success;
  for (const std::shared_ptr<Capture> &c : open)
    if (c->mode == 0 || (c->mode == 1 && c->thread == std::this_thread::get_id())) {
      c->invalid = true;
      result = code::CaptureUnsupported;
    }
  return result;
}

void Streams::begin(const std::shared_ptr<Capture> &c) {
  std::lock_guard<std::mutex> lock(mutex);
  open.push_back(c);
  captures++;
}

void Streams::finish(const std::shared_ptr<Capture> &c) {
  std::lock_guard<std::mutex> lock(mutex);
  open.erase(std::remove(open.begin(), open.end(), c), open.end());
  captures--;
}

} // namespace cleave::emulated
