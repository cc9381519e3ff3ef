// Stream capture and graphs.
//
// A graph runs as one operation of the stream that it is launched on: its nodes run one after the other, in a random
// order that respects their dependencies. The race detector sees each node separately, ordered by its dependencies
// only.
#include "test/cuda/emulated/driver/Api.h"
#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

using namespace cleave::emulated;

namespace {

struct CapturedGraph {
  std::shared_ptr<Graph> graph;
  std::vector<int> nodeHandles; // one per node: their addresses are the handles
};

struct ExecutableGraph {
  std::shared_ptr<Graph> graph;
  std::vector<ClockId> clocks; // of each chain
  std::mutex mutex;
  std::vector<uint64_t> ticks; // of each chain, over all launches
  uint64_t launches = 0;
  uint64_t plainCopies = 0; // Machine::plainCopies at the last launch
};

// The stamps of all nodes of one launch. In the list, a node comes after the nodes that it depends on.
std::vector<Stamp> stampNodes(ExecutableGraph &e, const VectorClock &before) {
  const std::vector<GraphNode> &nodes = e.graph->nodes;
  std::vector<Stamp> stamps(nodes.size());
  for (size_t i = 0; i < nodes.size(); i++) {
    Stamp &s = stamps[i];
    s.known = before;
    for (size_t d : nodes[i].dependsOn)
      s.known.join(stamps[d].known);
    s.id = e.clocks[nodes[i].chain];
    s.tick = ++e.ticks[nodes[i].chain];
    s.known.set(s.id, s.tick);
  }
  return stamps;
}

void runNodes(const Graph &graph, const std::vector<Stamp> &stamps, uint64_t salt) {
  const std::vector<GraphNode> &nodes = graph.nodes;
  std::vector<size_t> missing(nodes.size()), ready;
  std::vector<std::vector<size_t>> users(nodes.size());
  for (size_t i = 0; i < nodes.size(); i++) {
    std::set<size_t> unique(nodes[i].dependsOn.begin(), nodes[i].dependsOn.end());
    missing[i] = unique.size();
    for (size_t d : unique)
      users[d].push_back(i);
    if (unique.empty())
      ready.push_back(i);
  }
  while (!ready.empty()) {
    salt = scramble(salt);
    size_t pick = salt % ready.size(), node = ready[pick];
    ready[pick] = ready.back();
    ready.pop_back();
    perform(nodes[node].operation, stamps[node], salt);
    for (size_t user : users[node])
      if (!--missing[user])
        ready.push_back(user);
  }
}

// True if all captured work is followed by the origin stream's last nodes.
bool isJoined(const Capture &c) {
  std::vector<bool> reached(c.graph->nodes.size());
  std::vector<size_t> open = c.origin->captureLast;
  while (!open.empty()) {
    size_t n = open.back();
    open.pop_back();
    if (reached[n])
      continue;
    reached[n] = true;
    for (size_t d : c.graph->nodes[n].dependsOn)
      open.push_back(d);
  }
  for (Stream *member : c.members)
    for (size_t last : member->captureLast)
      if (!reached[last])
        return false;
  return true;
}

void endFor(Capture &c) {
  for (Stream *member : c.members) {
    member->captureLast.clear();
    member->capture.reset();
  }
}

} // namespace

CLEAVE_EMULATED_API int cuStreamBeginCapture_v2(Handle stream, int mode) {
  if (int error = needContext())
    return error;
  std::shared_ptr<Stream> s = Streams::get().find(stream);
  if (!s)
    return code::InvalidHandle;
  if (mode < 0 || mode > 2)
    return code::InvalidValue;
  if (reinterpret_cast<uintptr_t>(stream) <= 1)
    return code::CaptureUnsupported;
  if (s->capture)
    return code::IllegalState;
  auto c = std::make_shared<Capture>();
  c->origin = s.get();
  c->thread = std::this_thread::get_id();
  c->mode = mode;
  c->members = {s.get()};
  s->captureChain = c->graph->chains++;
  s->captureLast.clear();
  s->capture = c;
  Streams::get().begin(c);
  return code::Success;
}

CLEAVE_EMULATED_API int cuStreamIsCapturing(Handle stream, int *status) {
  if (int error = needContext())
    return error;
  std::shared_ptr<Stream> s = Streams::get().find(stream);
  if (!s)
    return code::InvalidHandle;
  *status = !s->capture ? 0 : s->capture->invalid ? 2 : 1;
  return code::Success;
}

CLEAVE_EMULATED_API int cuThreadExchangeStreamCaptureMode(int *mode) {
  static thread_local int current = 0;
  std::swap(current, *mode);
  return code::Success;
}

CLEAVE_EMULATED_API int cuStreamEndCapture(Handle stream, Handle *graph) {
  if (int error = needContext())
    return error;
  std::shared_ptr<Stream> s = Streams::get().find(stream);
  if (!s || !graph)
    return s ? code::InvalidValue : code::InvalidHandle;
  *graph = nullptr;
  if (!s->capture)
    return code::IllegalState;
  std::shared_ptr<Capture> c = s->capture;
  if (c->origin != s.get())
    return code::CaptureUnmatched;
  if (c->mode != 2 && c->thread != std::this_thread::get_id())
    return code::CaptureWrongThread;
  bool joined = isJoined(*c);
  endFor(*c);
  Streams::get().finish(c);
  std::shared_ptr<Graph> made = std::move(c->graph); // captured events do not keep the graph alive
  if (c->invalid)
    return code::CaptureInvalidated;
  if (!joined)
    return code::CaptureUnjoined;
  auto *result = new CapturedGraph{made, std::vector<int>(made->nodes.size())};
  Machine::get().addHandle(result, "graph");
  *graph = result;
  return code::Success;
}

CLEAVE_EMULATED_API int cuGraphGetNodes(Handle graph, Handle *nodes, size_t *count) {
  if (int error = needHandle(graph, "graph"))
    return error;
  auto *g = static_cast<CapturedGraph *>(graph);
  if (!nodes) {
    *count = g->nodeHandles.size();
    return code::Success;
  }
  *count = std::min(*count, g->nodeHandles.size());
  for (size_t i = 0; i < *count; i++) {
    g->nodeHandles[i] = int(g->graph->nodes[i].kind);
    nodes[i] = &g->nodeHandles[i];
  }
  return code::Success;
}

CLEAVE_EMULATED_API int cuGraphNodeGetType(Handle node, int *type) {
  *type = *static_cast<int *>(node);
  return code::Success;
}

CLEAVE_EMULATED_API int cuGraphInstantiateWithFlags(Handle *executable, Handle graph, unsigned long long) {
  if (int error = needContext())
    return error;
  if (int error = needHandle(graph, "graph"))
    return error;
  std::string fit = getenv("CLEAVE_EMULATED_GRAPHS_FIT") ? getenv("CLEAVE_EMULATED_GRAPHS_FIT") : ""; // read each time
  if (!fit.empty() && fit[std::min(fit.size() - 1, size_t(currentDevice()))] == '0')
    return code::OutOfMemory;
  auto *e = new ExecutableGraph;
  e->graph = static_cast<CapturedGraph *>(graph)->graph;
  for (size_t i = 0; i < e->graph->chains; i++)
    e->clocks.push_back(Machine::get().newClock());
  e->ticks.resize(e->graph->chains);
  Machine::get().addHandle(e, "graph executable");
  *executable = e;
  return code::Success;
}

CLEAVE_EMULATED_API int cuGraphUpload(Handle executable, Handle) { return needHandle(executable, "graph executable"); }

CLEAVE_EMULATED_API int cuGraphLaunch(Handle executable, Handle stream) {
  if (int error = needContext())
    return error;
  if (int error = needHandle(executable, "graph executable"))
    return error;
  std::shared_ptr<Stream> s = Streams::get().find(stream);
  if (!s)
    return code::InvalidHandle;
  auto *e = static_cast<ExecutableGraph *>(executable);
  if (s->capture)
    return code::NotSupported; // graphs in graphs are not emulated
  Machine &machine = Machine::get();
  Streams::get().orderWithDefault(*s);
  std::lock_guard<std::mutex> lock(e->mutex);
  std::lock_guard<std::mutex> order(s->order);
  s->known.join(machine.hostClock());
  s->known.tick(s->clock);
  auto stamps = std::make_shared<std::vector<Stamp>>(stampNodes(*e, s->known));
  for (const Stamp &stamp : *stamps)
    s->known.join(stamp.known);
  uint64_t plain = machine.plainCopies - std::exchange(e->plainCopies, machine.plainCopies.load());
  if (machine.options.plainCopies && e->launches && plain)
    machine.report(code::LaunchFailed, std::to_string(plain) +
                                           " copies between the device and memory that is not pinned "
                                           "stand between two launches of a graph");
  uint64_t salt = (uint64_t(s->clock) << 40) + (++e->launches << 20);
  s->push([graph = e->graph, stamps, salt] {
    Machine::get().hesitate(salt);
    runNodes(*graph, *stamps, salt ^ Machine::get().options.seed);
  });
  return code::Success;
}

CLEAVE_EMULATED_API int cuGraphDestroy(Handle graph) {
  if (!Machine::get().removeHandle(graph, "graph"))
    return code::InvalidHandle;
  delete static_cast<CapturedGraph *>(graph);
  return code::Success;
}

CLEAVE_EMULATED_API int cuGraphExecDestroy(Handle executable) {
  if (!Machine::get().removeHandle(executable, "graph executable"))
    return code::InvalidHandle;
  delete static_cast<ExecutableGraph *>(executable);
  return code::Success;
}
