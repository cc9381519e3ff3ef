// Streams, events and captures.
//
// A stream is a thread with a queue. Work is stamped when it is enqueued, so the order that the program asked for is
// known whatever the threads do. The legacy default stream (handle 0) waits for all blocking streams, and they for it.
//
// Capture: a stream that captures puts its work into a graph instead. An event recorded on it stands for the nodes that
// the stream's next work depends on; another stream that waits for that event joins the capture.
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
  size_t chain; // the stream that it was captured from: nodes of one chain follow each other
};

struct Graph {
  std::vector<GraphNode> nodes;
  size_t chains = 0;
};

// A graph being captured.
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
  std::shared_ptr<Capture> capture; // the record was captured
  std::vector<size_t> captureNodes;
};

class Stream {
public:
  Stream(int device, bool blocking);
  ~Stream(); // runs what is left

  // Work as part of the stream's order. In a capture it becomes a node. Returns a code.
  int enqueue(Operation operation, NodeKind kind);
  // How far the stream's clock is.
  uint64_t tick();
  // A task of the queue that is no operation of the program: event records and waits.
  void push(std::function<void()> task);
  void synchronize(); // waits, without learning
  bool isIdle();

  VectorClock known; // what the stream's next operation comes after; guarded by `order`
  std::mutex order;  // of enqueuing: stamps and queue agree
  // What an ignored wait (Options::ignoredWait) would have taught; tellIgnored() says at the next
  // operation or record whether it is known by then. Under `order`.
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

// All streams of the machine; index of handles. The default stream of a device is made when it is used first.
class Streams {
public:
  static Streams &get();
  // The stream of a handle, or null. Handles 0, 1 (legacy) and 2 (per thread) are the current device's default stream.
  std::shared_ptr<Stream> find(void *handle);
  void *create(int device, bool blocking);
  bool destroy(void *handle);
  std::vector<std::shared_ptr<Stream>> all();
  bool isDefault(const Stream *s);
  // Enqueues the waits between the default stream and the blocking ones that legacy semantics ask for.
  void orderWithDefault(Stream &s);
  void synchronizeAll(int device); // and lets the host learn it
  void finishAll();                // of all devices

  // ---- captures
  std::atomic<int> captures{0};
  // The code for a call that must not happen while something captures; invalidates the captures that forbid it.
  int unsafeCall();
  void begin(const std::shared_ptr<Capture> &c);
  void finish(const std::shared_ptr<Capture> &c);

private:
  std::mutex mutex;
  std::map<void *, std::shared_ptr<Stream>> streams;
  std::map<int, std::shared_ptr<Stream>> defaults;
  std::vector<std::shared_ptr<Capture>> open;
};

// The device of the calling thread's current context; -1: none.
int &currentDevice();

} // namespace cleave::emulated
