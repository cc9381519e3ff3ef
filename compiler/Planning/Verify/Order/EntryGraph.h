// The instructions that all kinds of ranks run in an entry program, with the order that they must keep. Calls are
// replaced by the instructions that they run. An edge says which instruction begins after which.
//
// Each stream runs its instructions in order, also through calls. A wait begins after the record that it waits for. A
// send and its receive are a meeting of two ranks. One rank stands for all of its kind.
//
//   c0.fwd: launch, record 0 | wait 0, send        nodes 0 1 2 3, edges 0->1 (stream), 2->3 (stream), 1->2 (event)
//
// KindMatching.cpp uses this graph to find whether ranks hang, Meetings.cpp to find which sends meet which receives,
// and StepTimeline.cpp to find when each body runs. They know what an instruction costs, and what is wrong with a
// graph.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_ORDER_ENTRYGRAPH_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_ORDER_ENTRYGRAPH_H

#include "compiler/Planning/Verify/Facts/Meaning.h"
#include "compiler/Planning/Verify/Facts/TransferChannel.h"
#include "compiler/Planning/Verify/PlanText.h"
#include "runtime/plan/Frames.h"

#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace cleave::plan {

// Returns the number of the program with this name, if there is one.
std::optional<uint32_t> programOf(const rt::fb::Plan &kind, std::string_view name);
// True if the kind sends or receives anything.
bool hasTransfers(const rt::fb::Plan &kind);

class EntryGraph {
public:
  // One run of a program: a call, or the entry itself.
  struct Call {
    size_t kind;
    uint32_t program;
    int64_t microBatch;
  };
  // One of the runs that a call makes of its program, if the graph has only some of them: run `index` of `times`, in a
  // run of the program around it. Equal runs have one number, whichever kind makes them. So if two sequences of nodes
  // have the same numbers, the sequences that they stand for are equally long.
  struct Run {
    size_t around; // number of the run around it; 0: none
    int64_t times, index;
    bool operator<(const Run &other) const {
      return std::tie(around, times, index) < std::tie(other.around, other.times, other.index);
    }
  };
  struct Node {
    InstructionRef ref;
    size_t call;
    size_t run; // 0: the graph has all runs
  };
  // The node of a wait for an event that its body never records.
  using LostWait = size_t;
  // The sends of a kind in order, and the receives of a kind that they reach. Either may be empty.
  using Meeting =
      std::function<void(const TransferChannel &, const std::vector<size_t> &sent, const std::vector<size_t> &taken)>;

  // Nodes are the instructions for which `takes` is true; these must include all that transfer, wait or record. If a
  // call runs its program more than `maxTimes` times, the graph has only this many runs.
  EntryGraph(const std::vector<const rt::fb::Plan *> &kinds, bool (*takes)(rt::Opcode), int64_t maxTimes = kAllTimes);

  // Adds what a kind runs in a program. Returns false if programs run more than kMaxInstructions instructions, calls
  // counted; the graph is then incomplete.
  bool add(size_t kind, uint32_t program);

  const std::vector<const rt::fb::Plan *> &kinds() const { return kinds_; }
  const std::vector<Node> &nodes() const { return nodes_; }
  const std::vector<Call> &calls() const { return calls_; }
  const std::vector<std::pair<size_t, size_t>> &edges() const { return edges_; }
  const std::vector<LostWait> &lostWaits() const { return lostWaits_; }
  size_t kindOf(size_t node) const { return calls_[nodes_[node].call].kind; }
  rt::InstructionView viewOf(size_t node) const { return plan::viewOf(*kinds_[kindOf(node)], nodes_[node].ref); }

  // How often the calls around a node run it, if the graph has only some of these runs; else 1.
  uint64_t timesOf(size_t node) const;

  // All sends and all receives of a kind, by channel.
  const std::map<TransferChannel, std::vector<size_t>> &sentBy(size_t kind) const { return sent_[kind]; }
  const std::map<TransferChannel, std::vector<size_t>> &takenBy(size_t kind) const { return taken_[kind]; }
  // Visits, for each channel, each pair of kinds such that the messages of the first go to ranks of the second. A kind
  // may send to itself.
  void forEachMeeting(const Meeting &visit) const;

private:
  // The last node of every stream, and the last record of each place of the plan's events.
  struct Last {
    std::vector<int64_t> ofStream;
    std::map<std::pair<int64_t, uint64_t>, size_t> recorded;
  };
  // The events of a body: which node records each, and which nodes wait.
  struct OwnEvents {
    std::map<int64_t, size_t> recorded;
    std::vector<std::pair<int64_t, size_t>> waits;
  };
  bool visit() { return ++visited_ <= kMaxInstructions; }
  const std::vector<uint32_t> &takenIn(size_t kind, uint32_t program);
  bool expand(size_t kind, uint32_t program, size_t run, const rt::Frames &frames, Last &last);
  bool expandCall(size_t kind, const rt::InstructionView &call, size_t around, const rt::Frames &frames, Last &last);
  size_t numberOf(const Run &run);
  void addEvent(const rt::InstructionView &view, size_t call, const rt::Frames &frames, OwnEvents &own, Last &last);
  void addTransfer(const rt::InstructionView &view, size_t kind);
  void joinOwn(const OwnEvents &own);
  void edge(int64_t from, size_t to) {
    if (from >= 0)
      edges_.push_back({static_cast<size_t>(from), to});
  }

  std::vector<const rt::fb::Plan *> kinds_;
  bool (*takes_)(rt::Opcode);
  int64_t maxTimes_;
  std::vector<Node> nodes_;
  std::vector<Call> calls_;
  std::map<Run, size_t> numbers_;
  std::vector<Run> runs_ = {{0, 1, 0}}; // by number
  std::vector<std::pair<size_t, size_t>> edges_;
  std::vector<LostWait> lostWaits_;
  std::vector<std::map<TransferChannel, std::vector<size_t>>> sent_, taken_;  // [kind]
  std::map<std::pair<size_t, uint32_t>, std::vector<uint32_t>> instructions_; // by kind and program: calls, nodes
  size_t visited_ = 0;
};

} // namespace cleave::plan

#endif
