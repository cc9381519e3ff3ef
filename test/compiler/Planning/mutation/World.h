// A plan with all its ranks: the kind of each rank, the groups, and the instructions of each stream of an entry
// program, with calls expanded.
//
// Calls are expanded as the runtime binds them (runtime/device/BoundPlan.h): the callee's instructions replace the
// call. Each run of a program has its own events. A place of one of the plan's events counts its records. A wait waits
// for as many as come before it in issue order, and so also takes a later record, of whatever stream, for the last one
// of these. If there is none, it does not wait.
#ifndef CLEAVE_TEST_PLANNING_MUTATION_WORLD_H
#define CLEAVE_TEST_PLANNING_MUTATION_WORLD_H

#include "runtime/plan/InstructionView.h"

#include <map>
#include <string>
#include <vector>

namespace cleave::mutation {

namespace fb = rt::fb;

struct Step {
  enum Kind { Record, Wait, Act } kind;
  unsigned stream;
  uint32_t event = 0; // of Record and Wait: unique in the expansion
  const fb::Instruction *instruction = nullptr;
  uint32_t program = 0, index = 0;
  std::vector<int64_t> frames; // frames of the running program, by counter
  uint64_t number = 0;         // position in issue order
  uint32_t records = 1;        // of Record and Wait: records of the event up to here, in issue order
};

struct Expansion {
  std::vector<std::vector<Step>> streams;
  uint32_t events = 0;
  bool isTooLong = false;
};

// The place of the frame that is `by` after the program's frame, of something that follows `counter` and has `count`
// frames.
uint64_t placeOf(const std::vector<int64_t> &frames, fb::Counter counter, int64_t by, uint64_t count);

Expansion expand(const fb::Plan &kind, uint32_t program);
// The same program for a host with two threads: all streams but the first share one thread, in issue order.
Expansion onTwoThreads(const Expansion &expansion);

struct RankPlace {
  const fb::Plan *kind;
  unsigned kindIndex;
  std::vector<unsigned> coordinates;
};

// The ranks of a group in its order, and the index of this rank.
struct Members {
  std::vector<unsigned> ranks;
  unsigned index = 0;
};

class World {
public:
  // The plan must have passed rt::openPlan().
  explicit World(const fb::Plan &plan);

  const std::vector<RankPlace> &ranks() const { return ranks_; }
  const std::vector<const fb::Plan *> &kinds() const { return kinds_; }
  // The rank that is `offset` further along an axis. The axis is a ring.
  unsigned peerOf(unsigned rank, unsigned axis, int64_t offset) const;
  // The members of group number `group` of the rank's kind.
  const Members &members(unsigned rank, unsigned group) const { return members_[rank][group]; }
  Members membersOver(unsigned rank, const flatbuffers::Vector<uint32_t> *axes) const;
  Members membersOf(unsigned rank, const fb::Group &group) const;
  // The index of a rank among the ranks that differ from it only on these axes.
  unsigned indexOver(unsigned rank, const flatbuffers::Vector<uint32_t> *axes) const {
    return membersOver(rank, axes).index;
  }
  // The index of a generated kernel in the machine code that belongs to the plan.
  size_t codeIndex(unsigned kind, size_t kernel) const { return firstKernels_[kind] + kernel; }
  // Names of the entry programs of all kinds.
  std::vector<std::string> entries() const;

private:
  std::vector<uint32_t> mesh_;
  std::vector<const fb::Plan *> kinds_;
  std::vector<size_t> firstKernels_;
  std::vector<RankPlace> ranks_;
  std::vector<std::vector<Members>> members_;
};

// "program[index] mnemonic on stream"
std::string describe(const fb::Plan &kind, const Step &step);

} // namespace cleave::mutation

#endif
