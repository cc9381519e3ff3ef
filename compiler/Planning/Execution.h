// One abstract run of an entry program under vector clocks; the engine of PlanVerifier.
#ifndef CLEAVE_COMPILER_PLANNING_EXECUTION_H
#define CLEAVE_COMPILER_PLANNING_EXECUTION_H

#include "compiler/Planning/MemoryHistory.h"
#include "compiler/Planning/PlanVerifier.h"

#include <set>

namespace cleave::plan {

struct CollectiveMeaning;

AxisMask axisMask(const flatbuffers::Vector<uint32_t> *axes);

class Execution {
public:
  // Of one of the kinds of ranks.
  Execution(const rt::fb::Plan &plan, const std::vector<const rt::fb::Plan *> &kinds, std::vector<Finding> *findings);

  // Runs the program in frame 0, on states as they are declared and inputs as they are fed. A called program is run at
  // most two times more than there are frames for each call: what its third run in a frame meets is what its second
  // left, so that more would find nothing new.
  void run(uint32_t entry);
  // Finds states that ranks hold whole and may now hold differently: replicas (tied weights, the parameters of
  // data-parallel ranks) must stay equal. States begin as they are declared, so that this holds after every run.
  void expectReplicasEqual();
  // Finds bytes of frame 0 that nothing has written.
  void expectWritten(unsigned region, uint64_t begin, uint64_t end, const std::string &what);

private:
  static constexpr uint64_t kMaxSteps = 1u << 22;
  using Clock = std::vector<uint64_t>;

  // What a call needs to know of the call it is in.
  struct CallScope {
    unsigned stream;
    uint64_t tick;
    InstructionRef ref;
  };

  void runProgram(uint32_t program, uint64_t frame, const CallScope *caller = nullptr);
  void runCall(const rt::InstructionView &view, const Moment &moment);
  void checkJoinedAtStart(const Moment &moment, const CallScope &caller);
  void checkJoinedAtEnd(uint32_t program, const CallScope &caller);
  void runAccesses(const rt::InstructionView &view, const Moment &moment, uint64_t frame);
  void checkAccessModes(const rt::InstructionView &view, const Moment &moment);
  void checkSpaces(const rt::InstructionView &view, const Moment &moment);
  void checkOwnOverlaps(const rt::InstructionView &view, const Moment &moment);
  void checkInitialized(const rt::fb::Buffer &buffer, const MemoryHistory::Cells::value_type &cell,
                        const ShareRange &needed, const Moment &moment);
  void checkInsideState(const rt::fb::Buffer &buffer, const Moment &moment);
  void checkRead(const rt::fb::Buffer &buffer, const ShareRange &needed, const Moment &moment, uint64_t frame);
  void checkWrite(const rt::fb::Buffer &buffer, const Moment &moment, uint64_t frame);
  void recordWrites(const rt::InstructionView &view, const Moment &moment, uint64_t frame);
  void recordLeft(const rt::InstructionView &view, const CollectiveMeaning &meaning, MemoryHistory &memory,
                  AxisMask varies);
  ShareRange ownShare(const rt::InstructionView &view) const;
  ShareRange neededShare(const rt::InstructionView &view, const rt::fb::Buffer &buffer) const;
  bool isRootHere(const rt::InstructionView &view) const;
  std::vector<rt::fb::Access> expectedAccess(const rt::InstructionView &view) const;
  void checkRoot(const rt::InstructionView &view, const Moment &moment);
  // Differences between ranks (ExecutionReplicas.cpp).
  AxisMask variesAfter(const rt::InstructionView &view, uint64_t frame, uint64_t depends);
  std::vector<AxisMask> variesOfResults(const rt::InstructionView &view, uint64_t frame);
  AxisMask axesOf(unsigned group) const;
  AxisMask axesOfOwners(const rt::fb::State &state) const;
  AxisMask axesOfParts(const rt::fb::State &state) const; // those along which a state may differ
  void recordEqualized(const rt::InstructionView &view, uint64_t frame);
  void setInitial(unsigned region, MemoryHistory &memory) const;

  bool happensBefore(const Moment &earlier, const Moment &later) const {
    return earlier.stream == later.stream || clocks_[later.stream][earlier.stream] >= earlier.tick;
  }
  MemoryHistory &history(unsigned region, uint64_t frame);
  std::string text(InstructionRef ref) const { return describe(plan_, ref); }
  void find(const char *rule, std::string text);

  const rt::fb::Plan &plan_;
  const std::vector<const rt::fb::Plan *> &kinds_;
  std::vector<Finding> *findings_;
  std::set<std::string> found_;
  uint32_t entry_ = 0;
  uint64_t steps_ = 0;
  int64_t maxTimes_ = 3;
  std::map<std::pair<unsigned, uint64_t>, uint64_t> stateEnds_; // (region, first byte) -> behind the last
  std::vector<Clock> clocks_;                                   // [stream][stream]
  std::map<std::pair<unsigned, uint64_t>, MemoryHistory> histories_;
};

} // namespace cleave::plan

#endif
