// One abstract run of an entry program under vector clocks: the engine of PlanVerifier.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_ORDER_EXECUTION_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_ORDER_EXECUTION_H

#include "compiler/Planning/Verify/Facts/Meaning.h"
#include "compiler/Planning/Verify/Order/MemoryHistory.h"
#include "compiler/Planning/Verify/Order/ShortStep.h"
#include "compiler/Planning/Verify/PlanVerifier.h"
#include "runtime/plan/Frames.h"

#include <set>

namespace cleave::plan {

struct CollectiveMeaning;

AxisMask axisMask(const flatbuffers::Vector<uint32_t> *axes);
AxisMask axesOfParts(const rt::fb::State &state);

class Execution {
public:
  // Runs a program of one of the kinds of ranks. `received` is what PlanMeaning knows of the receives in this program;
  // other receives are assumed to differ along all axes. `shortStep` is that of the entry that is run.
  Execution(const rt::fb::Plan &plan, const std::vector<const rt::fb::Plan *> &kinds, const Received &received,
            const ShortStep &shortStep, std::vector<Finding> *findings);

  // Runs the program in frame 0, on states as they are declared and inputs as they are fed. If a call has many runs,
  // only the first ones and the last are made. The first ones go on until each place of each region and event that the
  // call can name has been met twice, and a round has changed nothing in what differs between ranks. Further rounds
  // would find what the round before has left, in later frames, and so nothing new.
  void run(uint32_t entry);
  // Finds states and outputs of the entry that ranks hold whole and may now hold differently. Replicas (tied weights,
  // the parameters of data-parallel ranks) must stay equal. States begin as they are declared, so this holds after
  // every run. The host takes a whole output from any rank.
  void expectReplicasEqual();
  // Finds states of checkpoints in which the entry has left no value.
  void expectStatesKept();
  // Finds bytes of frame 0 that nothing has written.
  void expectWritten(unsigned region, uint64_t begin, uint64_t end, const std::string &what);

private:
  using Clock = std::vector<uint64_t>;

  // The last record of an event, or of one place of a shared event.
  struct Recorded {
    Clock clock;
    InstructionRef ref;
    int64_t frame = 0;
    uint64_t step = 0;
    unsigned stream = 0;
  };
  using Own = std::map<int64_t, Recorded>; // events of one run of a program

  void runProgram(uint32_t program, const rt::Frames &frames);
  void runCall(const rt::InstructionView &view, bool isOfEntry, const rt::Frames &frames);
  uint64_t roundOf(rt::fb::Counter counter) const;
  ValueNumber differencesNow() const;
  void skip(rt::fb::Counter counter, int64_t frames, uint64_t since);
  void runEvent(const rt::InstructionView &view, const Moment &moment, Own &own, const rt::Frames &frames);
  void runOwnEvent(const rt::InstructionView &view, const Moment &moment, Own &own);
  void runSharedEvent(const rt::InstructionView &view, const Moment &moment, int64_t event, const rt::Frames &frames);
  void join(unsigned stream, const Clock &clock);
  void runAccesses(const rt::InstructionView &view, const Moment &moment, const rt::Frames &frames);
  void recordWrites(const rt::InstructionView &view, const Moment &moment, const rt::Frames &frames);
  void recordLeft(const rt::InstructionView &view, const CollectiveMeaning &meaning, MemoryHistory &memory,
                  AxisMask varies);
  bool leavesNoValue(const rt::InstructionView &view, size_t buffer);
  ShareRange ownShare(const rt::InstructionView &view) const;
  ShareRange neededShare(const rt::InstructionView &view, const rt::fb::Buffer &buffer) const;
  bool isRootHere(const rt::InstructionView &view) const;
  // The rules for one instruction (ExecutionChecks.cpp).
  void checkAlone(const rt::InstructionView &view, const Moment &moment);
  void checkRoot(const rt::InstructionView &view, const Moment &moment);
  std::vector<rt::fb::Access> expectedAccess(const rt::InstructionView &view) const;
  void checkAccessModes(const rt::InstructionView &view, const Moment &moment);
  void checkSpaces(const rt::InstructionView &view, const Moment &moment);
  void checkShares(const rt::InstructionView &view, const Moment &moment);
  void checkOwnOverlaps(const rt::InstructionView &view, const Moment &moment);
  void checkInitialized(const rt::fb::Buffer &buffer, const MemoryHistory::Cells::value_type &cell,
                        const ShareRange &needed, const Moment &moment);
  void checkInsideState(const rt::fb::Buffer &buffer, const Moment &moment);
  void checkRead(const rt::fb::Buffer &buffer, const ShareRange &needed, const Moment &moment,
                 const rt::Frames &frames);
  void checkFrame(const rt::fb::Buffer &buffer, const MemoryHistory::Cells::value_type &cell, const Moment &moment,
                  const rt::Frames &frames);
  void checkWrite(const rt::fb::Buffer &buffer, const Moment &moment, const rt::Frames &frames);
  // Differences between ranks (ExecutionReplicas.cpp).
  AxisMask variesAfter(const rt::InstructionView &view, const rt::Frames &frames, uint64_t depends);
  AxisMask variesOfReceived(InstructionRef ref) const;
  std::vector<AxisMask> variesOfResults(const rt::InstructionView &view, InstructionRef ref, const rt::Frames &frames);
  AxisMask axesOf(unsigned group) const;
  AxisMask allAxes() const; // that have several ranks
  AxisMask axesOfOtherKinds() const;
  // Bytes that may differ along these axes only.
  struct Replica {
    std::string what;
    unsigned region;
    uint64_t begin, end;
    AxisMask allowed;
  };
  void expectEqual(const Replica &replica);
  void recordEqualized(const rt::InstructionView &view, const rt::Frames &frames);
  void setInitial(unsigned region, MemoryHistory &memory) const;

  bool happensBefore(const Moment &earlier, const Moment &later) const {
    return earlier.stream == later.stream || clocks_[later.stream][earlier.stream] >= earlier.tick;
  }
  MemoryHistory &history(unsigned region, uint64_t place);
  // Returns the history of the frame in which a buffer lies.
  MemoryHistory &history(const rt::fb::Buffer &buffer, const rt::Frames &frames) {
    const rt::fb::Region &region = *plan_.regions()->Get(buffer.region());
    return history(buffer.region(), frames.place(region.counter(), buffer.frame(), shortStep_.framesOf(region)));
  }
  int64_t frameOf(const rt::fb::Buffer &buffer, const rt::Frames &frames) const {
    return frames.of(plan_.regions()->Get(buffer.region())->counter()) + buffer.frame();
  }
  std::string text(InstructionRef ref) const { return describe(plan_, ref); }
  void find(const char *rule, std::string text);

  const rt::fb::Plan &plan_;
  const std::vector<const rt::fb::Plan *> &kinds_;
  const Received &received_;
  const ShortStep shortStep_;
  std::vector<Finding> *findings_;
  std::set<std::string> found_;
  uint32_t entry_ = 0;
  uint32_t fedFrames_ = 1; // of the entry's inputs
  uint64_t executed_ = 0;
  std::set<std::pair<uint32_t, uint32_t>> checkedAlone_;        // instructions
  std::map<uint32_t, std::vector<bool>> scratch_;               // by kernel: which operands are scratch
  std::map<std::pair<unsigned, uint64_t>, uint64_t> stateEnds_; // (region, first byte) -> one past the last
  std::vector<Clock> clocks_;                                   // [stream][stream]
  std::map<std::pair<unsigned, uint64_t>, MemoryHistory> histories_;
  std::map<std::pair<int64_t, uint64_t>, Recorded> recorded_; // (shared event, place)
};

} // namespace cleave::plan

#endif
