// Streams, events and captures.
//
// A stream is a thread with a queue. Work is stamped when it is enqueued. So the order that the program asked for is
// known, independent of the timing of the threads. The legacy default stream (handle 0) waits for all blocking streams,
// and they wait for it.
//
// Capture: a stream that captures adds its work to a graph instead of running it. An event recorded on it stands for
// the nodes that the stream's next work depends on. If another stream waits for that event, it joins the capture.
#pragma once
#include "test/cuda/emulated/driver/Operation.h"
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <optional>
#include <thread>

namespace cleave::emulated {

class Stream;

enum class NodeKind : int { Kernel = 0, Copy = 1, Fill = 2, Host = 3, ChildGraph = 4, Empty = 5 }; // as CUgraphNodeType

struct GraphNode {
  Operation operation;
  NodeKind kind;
  std::vector<size_t> dependsOn;
  size_t chain; // the stream that it was captured from. Nodes of one chain run in order
};

struct Graph {
  std::vector<GraphNode> nodes;
  size_t chains = 0;
};

// A graph that is being captured.
struct Capture {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Stream *origin = nullptr;
  std::thread::id thread;
  int mode = 0; // CUstreamCaptureMode: 0 global, 1 thread-local, 2 relaxed
  std::vector<Stream *> members;
  bool invalid = false;
};

struct Event {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t recorded = 0, done = 0;
  VectorClock known;
  bool timed = true;
  std::chrono::steady_clock::time_point time;
  std::shared_ptr<Capture> capture; // the capture that the record is part of, or null
  std::vector<size_t> captureNodes;
};

class Stream {
public:
  Stream(int device, bool blocking);
  ~Stream(); // runs the work that is left

  // Adds work to the stream's order. In a capture it becomes a node. Returns a code.
  int enqueue(Operation operation, NodeKind kind);
  // Advances the stream's clock by one operation, and returns it.
  uint64_t tick();
  // Adds a task to the queue that is not an operation of the program: event records and waits.
  void push(std::function<void()> task);
  void synchronize(); // waits. The host's clock does not change
  bool isIdle();

  VectorClock known; // all that the stream's next operation is ordered after. `order` guards it
  std::mutex order;  // held while work is enqueued, so that stamps and queue have the same order
  // The knowledge that an ignored wait (Options::ignoredWait) would have given. At the next operation or record,
  // tellIgnored() reports whether other waits have given it by then. `order` guards it.
  std::optional<VectorClock> untold;
  void tellIgnored(const std::string &before);
  const ClockId clock;
  const int device;
  const bool blocking;
  std::shared_ptr<Capture> capture;
  std::vector<size_t> captureLast;
  size_t captureChain = 0;

  uint64_t pushedCount();
  void waitFor(uint64_t count);

private:
  void work();
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  uint64_t pushed = 0, done = 0, operations = 0;
  bool stopping = false;
  std::thread thread;
};

// All streams of the machine, by handle. The default stream of a device is made when it is first used.
class Streams {
public:
  static Streams &get();
  // The stream of a handle, or null. Handles 0, 1 (legacy) and 2 (per thread) are the current device's default stream.
  std::shared_ptr<Stream> find(void *handle);
  void *create(int device, bool blocking);
  bool destroy(void *handle);
  std::vector<std::shared_ptr<Stream>> all();
  bool isDefault(const Stream *s);
  // Enqueues the waits between the default stream and blocking streams that the legacy semantics require.
  void orderWithDefault(Stream &s);
  void synchronizeAll(int device); // and adds them to the host's clock
  void finishAll();                // of all devices

  // ---- captures
  std::atomic<int> captures{0};
  // Returns the code for a call that must not happen during a capture. Invalidates the captures that forbid it.
  int unsafeCall();
  void begin(const std::shared_ptr<Capture> &c);
  void finish(const std::shared_ptr<Capture> &c);

private:
  std::mutex mutex;
  std::map<void *, std::shared_ptr<Stream>> streams;
  std::map<int, std::shared_ptr<Stream>> defaults;
  std::vector<std::shared_ptr<Capture>> open;
};

// The device of the calling thread's current context, or -1 if there is none.
int &currentDevice();

} // namespace cleave::emulated
