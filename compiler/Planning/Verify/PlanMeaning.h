// What an entry program of a plan leaves in states and outputs, from what its instructions do to bytes: the abstract
// run of PlanVerifier that knows what bytes are.
//
// It runs instructions in list order. That is one order of many, but where no two accesses race (Execution.h) every
// order reads the same.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_PLANMEANING_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_PLANMEANING_H

#include "compiler/Planning/Verify/Bodies.h"
#include "compiler/Planning/Verify/Meaning.h"
#include "compiler/Planning/Verify/MeaningDiagnosis.h"
#include "compiler/Planning/Verify/MemoryContents.h"
#include "compiler/Planning/Verify/PlanText.h"
#include "runtime/plan/Frames.h"

#include <set>
#include <unordered_map>

namespace cleave::plan {

// The programs that a program calls, those of its callees among them, in the order in which they are first called.
std::vector<uint32_t> calledBy(const rt::fb::Plan &plan, uint32_t program);

class PlanMeaning : public MeaningRun {
public:
  // Of an entry program, or of a body by itself, which reads the inputs of an entry that calls it. With `bodies` calls
  // are not run: bodies are proved by themselves (Bodies.h).
  PlanMeaning(const rt::fb::Plan &plan, uint32_t entry, const BodyFacts *bodies = nullptr);

  const Stop *advance() override;
  void deliver(const std::optional<Content> &result) override;

  // After the run:
  Meaning getMeaning();
  // Of a state of this plan, as it is left: that of getMeaning(), which asks for all states.
  ValueNumber numberOf(const rt::fb::State &state);
  // Whether it runs more than is looked at.
  bool isTooLong() const { return expanded_ >= kMaxInstructions; }
  // The states that the program reads as an earlier program has left them.
  const std::set<std::string> &getReadFirst() const { return readFirst_; }
  // States that it reads as the bodies that it has called have left them.
  const std::set<std::string> &getReadAfter() const { return readAfter_; }
  // What it does to states; those that it states are not lost.
  BodyFacts::Effect getEffect();
  const Messages &getMessages() const { return messages_; }
  // Of an entry: its calls, in order.
  const std::string &getCalls() const { return calls_; }
  // The ranges of cross-body regions that it has read.
  struct CrossBodyRead {
    unsigned region;
    uint64_t begin, end;
  };
  const std::vector<CrossBodyRead> &getCrossBodyReads() const { return crossBodyReads_; }
  // Tells what it has left in cross-body regions, piece by piece: (region, begin, end, axes along which it may differ).
  template <typename Visit> void forEachCrossBodyWrite(Visit visit);
  // Bodies of which not all calls were run.
  const std::set<uint32_t> &getRepeated() const { return repeated_; }
  // What lies in frame 0.
  Content contentAt(unsigned region, uint64_t begin, uint64_t end) { return memory(region, 0).read(begin, end, &met_); }
  // Along which axes the bytes that receives have written may differ.
  const Received &getReceived() const { return received_; }
  // The same of what a body has sent.
  const Received &getSent() const { return sent_; }
  // Of a state of this plan.
  const Content &stateAtStart(const rt::fb::State &state) const;

  // An instruction that reads bytes as a whole of which each rank has written its own part alone.
  struct PartRead {
    InstructionRef ref;
    uint16_t region;
    uint64_t begin, end;
    AxisMask axes; // over which they are parts
  };
  const std::vector<PartRead> &getPartReads() const { return partReads_; }
  // What it does that no number stands for, whatever the plan states: it reads what nobody has written, or does what
  // the proof of bodies does not cover (Rationale.md, "Bodies by themselves").
  std::vector<std::string> getUnproved() const;
  // The first instruction that leaves what is not among the program's `expressions`.
  const std::optional<InstructionRef> &getFirstOther() const { return firstOther_; }
  // What is wrong there, as far as that can be told (MeaningDiagnosis.h); empty where it cannot.
  const std::string &getWhy() const { return why_; }
  // The same of a state that is left as `expected` is not.
  std::string whyNot(const rt::fb::State &state, const ValueNumber &expected);
  // "dp and fsdp".
  std::string axesText(AxisMask axes) const;
  // The last that wrote to a state.
  std::optional<InstructionRef> getLastWriter(const rt::fb::State &state) const;

private:
  struct InstructionRun {
    InstructionRef ref;
    rt::Frames frames;
  };
  void expand(uint32_t program, const rt::Frames &frames);
  bool isBody() const { return bodies_ && !plan_.programs()->Get(entry_)->entry(); }
  bool isCrossBody(unsigned region) const;
  void fillCrossBody(unsigned region, uint64_t place, MemoryContents &contents) const;
  ValueNumber crossBodySymbolOf(unsigned region, uint64_t place) const;
  void runCall(const rt::InstructionView &view);
  void addReadFirst(uint32_t program);
  void leaveAfterCalls(const rt::fb::State &state, bool isStated);
  void addToHistory();
  void transferAlone(const rt::InstructionView &view, const InstructionRun &run);
  void meetAlone();
  void addCrossBody(Meaning &meaning);
  std::string entryOfOtherPorts() const;
  bool isLeftAnew(unsigned region, uint64_t place, const MemoryContents &contents) const;
  MemoryContents &memory(unsigned region, uint64_t place);
  // Of the frame that a buffer lies in.
  MemoryContents &memory(const rt::fb::Buffer &buffer, const InstructionRun &run) {
    return memory(buffer.region(), placeOf(*plan_.regions()->Get(buffer.region()), buffer, run.frames));
  }
  Content read(const rt::fb::Buffer &buffer, const InstructionRun &run);
  Content readOwnPart(const rt::InstructionView &view, const InstructionRun &run);
  // What is read: `wholes`, as all ranks have it, or a share of that.
  void note(const std::vector<Piece> &wholes, bool hasParts, const rt::fb::Buffer &buffer, const InstructionRun &run);
  void noteWrite(const rt::fb::Buffer &buffer, const InstructionRun &run);
  void write(const rt::fb::Buffer &buffer, const Content &content, const InstructionRun &run);
  void forget(const rt::fb::Buffer &buffer, const InstructionRun &run);
  bool isModels(const ValueNumber &expression) const;
  void leave(const Content &content, const InstructionRun &run);
  void explain(const InstructionRun &run);
  std::string explainParts(const MeaningDiagnosis &diagnosis, const Content &content) const;
  std::string explainRead(const MeaningDiagnosis &diagnosis, const rt::fb::Buffer &buffer, const InstructionRun &run);
  void runLaunch(const rt::InstructionView &view, const InstructionRun &run);
  void startCollective(const rt::InstructionView &view, const InstructionRun &run);
  void startTransfer(const rt::InstructionView &view, const InstructionRun &run);
  void finishCollective(const std::optional<Content> &result);
  ShareLayout shareLayoutOf(unsigned group, uint64_t stride) const;

  const rt::fb::Plan &plan_;
  const BodyFacts *bodies_;
  uint32_t entry_, ports_; // ports_: the program whose inputs it reads
  std::vector<InstructionRun> runs_;
  size_t next_ = 0;
  uint64_t expanded_ = 0; // instructions and calls, of empty bodies as well
  Stop stop_;
  std::string calls_;
  ValueNumber history_; // of calls (Bodies.h)
  Messages messages_;
  bool crossesKinds_ = false;                  // a body does, in a broadcast
  bool hasCalls_ = false, hasOthers_ = false;  // a body that has both calls others, and does something itself
  std::optional<InstructionRef> readsNothing_; // the first that reads bytes which hold no value
  std::optional<InstructionRef>
      intruder_; // it writes where only others may: to inputs, or an entry to what bodies leave each other
  std::unordered_map<std::string, const rt::fb::State *> states_;
  std::unordered_map<const rt::fb::State *, Content> starts_;
  std::vector<CrossBodyRead> crossBodyReads_;
  std::set<std::string> overwritten_, readAfter_;
  std::unordered_map<std::string, ValueNumber> leftByCalls_; // number of what the last call has left in a state
  std::unordered_map<ValueNumber, std::string, ValueNumberHash>
      afterCalls_; // expression of a state after calls -> its name
  std::vector<AxesFacts> groups_;
  // Of a kernel of the table, the same at every launch.
  struct Known {
    std::vector<uint64_t> depends;
    ValueNumber number;
    std::vector<bool> isScratch; // by buffer
  };
  const Known &knownKernel(size_t number);
  std::vector<std::optional<Known>> kernels_;
  std::map<std::pair<unsigned, uint64_t>, MemoryContents> memories_;
  std::unordered_map<ValueNumber, std::string, ValueNumberHash>
      atStart_; // expression of a state's first content -> its name
  std::set<std::string> readFirst_;
  std::set<uint32_t> repeated_;
  std::vector<PartRead> partReads_;
  std::optional<InstructionRef> firstOther_;
  std::string why_;
  RunCollectives collectives_;
  std::unordered_map<ValueNumber, Content, ValueNumberHash>
      wholes_; // of which a part was read, by the part's expression
  std::map<std::pair<unsigned, uint64_t>, InstructionRef> writers_; // of persistent bytes, by the first
  Received received_, sent_;
  bool met_ = false;
};

template <typename Visit> void PlanMeaning::forEachCrossBodyWrite(Visit visit) {
  for (auto &[where, contents] : memories_) {
    if (!isCrossBody(where.first))
      continue;
    uint64_t begin = 0;
    ValueNumber found = crossBodySymbolOf(where.first, where.second);
    Content left = contents.read(0, plan_.regions()->Get(where.first)->bytes(), &met_);
    for (const Piece &piece : left.pieces()) {
      if (piece.expression != found)
        visit(where.first, begin, begin + piece.bytes, piece.varies);
      begin += piece.bytes;
    }
  }
}

} // namespace cleave::plan

#endif
