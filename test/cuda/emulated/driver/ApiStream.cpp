// Streams, events, host functions.
#include "test/cuda/emulated/driver/Api.h"
#include <cstdio>

using namespace cleave::emulated;

namespace {

// An event lives longer than its handle if a stream still has work for it.
std::mutex eventMutex;
std::map<void *, std::shared_ptr<Event>> &events() {
  static auto *all = new std::map<void *, std::shared_ptr<Event>>;
  return *all;
}

std::shared_ptr<Event> findEvent(Handle handle) {
  std::lock_guard<std::mutex> lock(eventMutex);
  auto found = events().find(handle);
  return found == events().end() ? nullptr : found->second;
}

// Finds the stream and the event of a call below.
int find(Handle stream, Handle event, std::shared_ptr<Stream> &s, std::shared_ptr<Event> &e) {
  if (int error = needContext())
    return error;
  s = Streams::get().find(stream);
  e = findEvent(event);
  return s && e ? code::Success : code::InvalidHandle;
}

// Counts the waits of each thread. True if this wait is to be ignored.
bool isIgnored() {
  static thread_local uint64_t waits = 0;
  if (++waits != Machine::get().options.ignoredWait)
    return false;
  fprintf(stderr, "emulated CUDA device: wait %llu of a thread is ignored\n", (unsigned long long)waits);
  return true;
}

// A wait for an event that was recorded in a capture. The stream joins that capture.
int waitCaptured(Stream &s, const Event &e) {
  if (s.capture && s.capture != e.capture)
    return code::CaptureMerge;
  if (e.capture->invalid)
    return code::CaptureInvalidated;
  if (!e.capture->graph) // the capture has ended; the code is that of driver 580.159
    return code::InvalidValue;
  if (!s.capture) {
    s.capture = e.capture;
    s.captureLast.clear();
    s.captureChain = e.capture->graph->chains++;
    e.capture->members.push_back(&s);
  }
  for (size_t node : e.captureNodes)
    s.captureLast.push_back(node);
  return code::Success;
}

} // namespace

CLEAVE_EMULATED_API int cuStreamCreate(Handle *stream, unsigned flags) {
  if (int error = needContextOutsideCapture())
    return error;
  if (!stream || flags > 1)
    return code::InvalidValue;
  *stream = Streams::get().create(currentDevice(), flags == 0);
  return code::Success;
}

CLEAVE_EMULATED_API int cuStreamCreateWithPriority(Handle *stream, unsigned flags, int) {
  return cuStreamCreate(stream, flags);
}

CLEAVE_EMULATED_API int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  if (int error = needContext())
    return error;
  if (least)
    *least = 0;
  if (greatest)
    *greatest = -5;
  return code::Success;
}

CLEAVE_EMULATED_API int cuStreamDestroy_v2(Handle stream) {
  if (int error = needInitialized())
    return error;
  return Streams::get().destroy(stream) ? code::Success : code::InvalidHandle;
}

CLEAVE_EMULATED_API int cuStreamSynchronize(Handle stream) {
  if (int error = needContext())
    return error;
  std::shared_ptr<Stream> s = Streams::get().find(stream);
  if (!s)
    return code::InvalidHandle;
  if (s->capture) {
    s->capture->invalid = true;
    return code::CaptureUnsupported;
  }
  VectorClock known;
  {
    std::lock_guard<std::mutex> lock(s->order);
    known = s->known;
  }
  s->synchronize();
  Machine::get().hostLearns(known);
  return Machine::get().stickyError();
}

CLEAVE_EMULATED_API int cuStreamQuery(Handle stream) {
  if (int error = needContext())
    return error;
  std::shared_ptr<Stream> s = Streams::get().find(stream);
  if (!s)
    return code::InvalidHandle;
  if (s->capture) {
    s->capture->invalid = true;
    return code::CaptureUnsupported;
  }
  Machine::HostWaits waits; // a host that polls waits, too
  if (!s->isIdle())
    return code::NotReady;
  std::lock_guard<std::mutex> lock(s->order);
  Machine::get().hostLearns(s->known);
  return Machine::get().stickyError();
}

CLEAVE_EMULATED_API int cuLaunchHostFunc(Handle stream, void (*function)(void *), void *data) {
  if (int error = needContext())
    return error;
  std::shared_ptr<Stream> s = Streams::get().find(stream);
  if (!s)
    return code::InvalidHandle;
  return s->enqueue({"a host function", [=](Recorder &) { function(data); }}, NodeKind::Host);
}

CLEAVE_EMULATED_API int cuEventCreate(Handle *event, unsigned flags) {
  if (int error = needContext())
    return error;
  if (!event)
    return code::InvalidValue;
  auto e = std::make_shared<Event>();
  e->timed = !(flags & 2); // CU_EVENT_DISABLE_TIMING
  *event = e.get();
  Machine::get().addHandle(*event, "event");
  std::lock_guard<std::mutex> lock(eventMutex);
  events()[*event] = e;
  return code::Success;
}

CLEAVE_EMULATED_API int cuEventDestroy_v2(Handle event) {
  std::lock_guard<std::mutex> lock(eventMutex);
  Machine::get().removeHandle(event, "event");
  return events().erase(event) ? code::Success : code::InvalidHandle;
}

CLEAVE_EMULATED_API int cuEventRecord(Handle event, Handle stream) {
  std::shared_ptr<Stream> s;
  std::shared_ptr<Event> e;
  if (int error = find(stream, event, s, e))
    return error;
  if (s->capture) {
    if (s->capture->invalid)
      return code::CaptureInvalidated;
    e->capture = s->capture;
    e->captureNodes = s->captureLast;
    return code::Success;
  }
  Streams::get().orderWithDefault(*s);
  std::lock_guard<std::mutex> order(s->order);
  s->tellIgnored("a record");
  uint64_t count;
  {
    std::lock_guard<std::mutex> lock(e->mutex);
    count = ++e->recorded;
    e->known = s->known;
    e->capture.reset();
  }
  s->push([e, count] {
    {
      std::lock_guard<std::mutex> lock(e->mutex);
      e->done = std::max(e->done, count);
      e->time = std::chrono::steady_clock::now();
    }
    e->changed.notify_all();
  });
  return code::Success;
}

CLEAVE_EMULATED_API int cuStreamWaitEvent(Handle stream, Handle event, unsigned) {
  std::shared_ptr<Stream> s;
  std::shared_ptr<Event> e;
  if (int error = find(stream, event, s, e))
    return error;
  bool ignored = isIgnored();
  if (e->capture)
    return ignored ? int(code::Success) : waitCaptured(*s, *e);
  if (s->capture) {
    std::lock_guard<std::mutex> lock(e->mutex);
    if (!e->recorded)
      return code::Success; // never recorded: nothing to wait for
    s->capture->invalid = true;
    return code::CaptureIsolation;
  }
  std::lock_guard<std::mutex> order(s->order);
  uint64_t count;
  {
    std::lock_guard<std::mutex> lock(e->mutex);
    if (ignored) {
      s->untold = e->known;
      return code::Success;
    }
    count = e->recorded;
    s->known.join(e->known);
  }
  s->push([e, count] {
    std::unique_lock<std::mutex> lock(e->mutex);
    e->changed.wait(lock, [&] { return e->done >= count; });
  });
  return code::Success;
}

CLEAVE_EMULATED_API int cuEventSynchronize(Handle event) {
  if (int error = needContext())
    return error;
  std::shared_ptr<Event> e = findEvent(event);
  if (!e)
    return code::InvalidHandle;
  if (e->capture)
    return code::CapturedEvent;
  Machine::HostWaits waits;
  std::unique_lock<std::mutex> lock(e->mutex);
  uint64_t count = e->recorded;
  VectorClock known = e->known;
  e->changed.wait(lock, [&] { return e->done >= count; });
  Machine::get().hostLearns(known);
  return Machine::get().stickyError();
}

CLEAVE_EMULATED_API int cuEventQuery(Handle event) {
  if (int error = needContext())
    return error;
  std::shared_ptr<Event> e = findEvent(event);
  if (!e)
    return code::InvalidHandle;
  if (e->capture)
    return code::CapturedEvent;
  Machine::HostWaits waits;
  std::lock_guard<std::mutex> lock(e->mutex);
  if (e->done < e->recorded)
    return code::NotReady;
  Machine::get().hostLearns(e->known);
  return Machine::get().stickyError();
}

// The time that the emulation took on this host. It only has the property that it is positive.
static int elapsed(float *milliseconds, Handle start, Handle end) {
  std::shared_ptr<Event> a = findEvent(start), b = findEvent(end);
  if (!a || !b || !a->timed || !b->timed || !a->recorded || !b->recorded)
    return code::InvalidHandle;
  if (a->done < a->recorded || b->done < b->recorded)
    return code::NotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(b->time - a->time).count();
  return code::Success;
}
CLEAVE_EMULATED_API int cuEventElapsedTime(float *milliseconds, Handle start, Handle end) {
  return elapsed(milliseconds, start, end);
}
CLEAVE_EMULATED_API int cuEventElapsedTime_v2(float *milliseconds, Handle start, Handle end) {
  return elapsed(milliseconds, start, end);
}
