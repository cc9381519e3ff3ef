// Runs one entry program symbolically on all ranks at once, in one interleaving.
//
// Every stream of every rank is a thread. An instruction begins and ends. Between these times it reads and writes its
// bytes in any order. So two instructions of one rank that are in flight together must not touch the same bytes if one
// of them writes. A collective ends after all its members have begun it on the same stream. A send and its receive end
// after both have begun. The policy chooses the next thread. Policies are adversarial: one keeps all instructions of a
// stream in flight as long as anything else can move, another starts them as late as possible, and a third delays a
// rank.
//
// The outcome is the bytes in memory, or a failure: a race, an access outside of a region, a kernel that reads bytes
// that nothing wrote, a hang, members that run different collectives, a launch that does not match its code.
#ifndef CLEAVE_TEST_PLANNING_MUTATION_MACHINE_H
#define CLEAVE_TEST_PLANNING_MUTATION_MACHINE_H

#include "test/compiler/Planning/mutation/Kernels.h"

#include <functional>
#include <set>

namespace cleave::mutation {

// A possible next step of a thread.
struct Move {
  unsigned rank, thread;
  bool isEnd; // the end of an instruction in flight; else the next step
  const Step *step;
};

struct Policy {
  std::string name;
  // The move of the lowest cost is made. Of several, the first one.
  std::function<double(const Move &)> cost;
  bool onTwoThreads = false;
};

class Machine {
public:
  // `code` and `world` must outlive it. Runs program `entry` (by name) of each kind that has it.
  Machine(const World &world, const Code &code, std::string entry);

  Memory &memory(unsigned rank, unsigned region, uint64_t place);
  // Clears the contents of memory, and the checks.
  void clear() {
    for (Rank &rank : ranks_) {
      rank.memory.clear();
      rank.checks.clear();
    }
  }
  // What the rank's kernels have checked (Code::check).
  const std::set<Id> &checks(unsigned rank) const { return ranks_[rank].checks; }
  // Returns an empty text, or a description of the failure.
  std::string run(const Policy &policy);

private:
  struct Range {
    unsigned region;
    uint64_t frame, begin, end;
    bool writes;
  };
  struct Flight {
    const Step *step = nullptr;
    std::vector<Range> ranges;
    std::vector<std::pair<Range, Bytes>> results;
    Bytes data;    // of a collective: its data before it
    Range place{}; // of a collective: its data
    bool isReady = false;
  };
  struct Thread {
    const std::vector<Step> *steps = nullptr;
    size_t next = 0;
    Flight flight;
    bool isDone() const { return !flight.step && next == steps->size(); }
  };
  struct Rank {
    std::vector<Thread> threads;
    std::vector<uint32_t> records; // by event: a count that never goes back
    std::map<std::pair<unsigned, uint64_t>, Memory> memory;
    std::set<Id> checks;
  };

  void start(bool onTwoThreads);
  void addMoves(std::vector<Move> &moves) const;
  void make(const Move &move);
  void begin(unsigned rank, Thread &thread, const Step &step);
  void beginLaunch(unsigned rank, Flight &flight, const rt::InstructionView &view);
  void beginCollective(unsigned rank, Flight &flight, const rt::InstructionView &view);
  void meet(unsigned rank, const Step &step);
  void beginTransfer(unsigned rank, Flight &flight, const rt::InstructionView &view);
  void handOver(unsigned rank, const Step &step);
  void end(unsigned rank, Thread &thread);
  std::optional<Range> resolve(unsigned rank, const Step &step, const fb::Buffer &buffer, bool writes);
  Bytes read(unsigned rank, const Range &range);
  void checkRaces(unsigned rank, const Thread &thread);
  void checkOwnRanges(unsigned rank, const Flight &flight, const std::vector<OperandUse> *uses);
  void fail(unsigned rank, const Step &step, const std::string &what);
  std::string hangText() const;

  const World &world_;
  const Code &code_;
  std::vector<Expansion> expansions_, joined_; // by kind; a run uses one of the two
  std::vector<Rank> ranks_;
  std::string failure_;
};

} // namespace cleave::mutation

#endif
