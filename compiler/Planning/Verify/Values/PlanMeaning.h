// Computes what an entry program of a plan leaves in states and outputs, from what its instructions do to bytes. This
// is the abstract run of PlanVerifier that knows the content of bytes.
//
// It runs instructions in list order. This is one order of many, but if no two accesses race (Execution.h), every order
// reads the same.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_PLANMEANING_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_PLANMEANING_H

#include "compiler/Planning/Verify/Facts/Meaning.h"
#include "compiler/Planning/Verify/PlanText.h"
#include "compiler/Planning/Verify/Values/Bodies.h"
#include "compiler/Planning/Verify/Values/MeaningDiagnosis.h"
#include "compiler/Planning/Verify/Values/MemoryContents.h"
#include "runtime/plan/Frames.h"

#include <functional>
#include <set>
#include <unordered_map>

namespace cleave::plan {

// Returns the programs that a program calls, directly or through others. Callees come before their callers.
std::vector<uint32_t> calledBy(const rt::fb::Plan &plan, uint32_t program);

class PlanMeaning : public MeaningRun {
public:
  // Runs an entry program, or a body by itself, which reads the inputs of an entry that calls it. With `bodies`, calls
  // are not run: bodies are proved by themselves (Bodies.h).
  PlanMeaning(const rt::fb::Plan &plan, uint32_t entry, const BodyFacts *bodies = nullptr);

  // Before the run: puts values into these inputs that are not those of any other input.
  // Checks that zeros in them pass are not noted.
  void replaceInputs(const std::set<std::string> &names) { replaced_ = names; }
  const Checks &getChecks() const { return checks_; }

  const Stop *advance() override;
  void deliver(const std::optional<Content> &result) override;

  // After the run:
  Meaning getMeaning();
  // Returns the number of what is left in a state of this plan. getMeaning() computes those of all states.
  ValueNumber numberOf(const rt::fb::State &state);
  // True if it runs more than is examined.
  bool isTooLong() const { return expanded_ >= kMaxInstructions; }
  // The states that the program reads as an earlier program has left them.
  const std::set<std::string> &getReadFirst() const { return readFirst_; }
  // The states that it reads as the bodies that it has called have left them.
  const std::set<std::string> &getReadAfter() const { return readAfter_; }
  // What it does to states. A state with a stated number is not lost.
  BodyFacts::Effect getEffect();
  const Messages &getMessages() const { return messages_; }
  // The calls of an entry, in order.
  const std::string &getCalls() const { return calls_; }
  // The ranges of cross-body regions that it has read.
  struct CrossBodyRange {
    unsigned region;
    uint64_t begin, end;
  };
  const std::vector<CrossBodyRange> &getCrossBodyReads() const { return crossBodyReads_; }
  // Visits what it has left in cross-body regions, piece by piece: (region, begin, end, axes along which it may
  // differ).
  template <typename Visit> void forEachCrossBodyWrite(Visit visit);
  // The ranges of cross-body regions in which it leaves no value.
  std::vector<CrossBodyRange> getCrossBodyLosses();
  // The bodies of which not all calls were run.
  const std::set<uint32_t> &getRepeated() const { return repeated_; }
  // The content of frame 0.
  Content contentAt(unsigned region, uint64_t begin, uint64_t end) { return memory(region, 0).read(begin, end, &met_); }
  // The axes along which the bytes that receives have written may differ.
  const Received &getReceived() const { return received_; }
  // The same for what a body has sent.
  const Received &getSent() const { return sent_; }
  // The content of a state of this plan when the program begins.
  const Content &stateAtStart(const rt::fb::State &state) const;

  // An instruction that reads bytes as a whole, although each rank has written only its own part of them.
  struct PartRead {
    InstructionRef ref;
    uint16_t region;
    uint64_t begin, end;
    AxisMask axes; // over which they are parts
  };
  const std::vector<PartRead> &getPartReads() const { return partReads_; }
  // The first instruction that reads bytes without a value.
  const std::optional<InstructionRef> &getReadOfNothing() const { return readsNothing_; }
  // Returns what the program does that no number covers, whatever the plan states: the proof of bodies does not cover
  // it (Rationale.md, "Bodies by themselves").
  std::vector<std::string> getUnproved() const;
  // The first instruction whose result is not among the program's `expressions`.
  const std::optional<InstructionRef> &getFirstOther() const { return firstOther_; }
  // What is wrong there, as far as this is known (MeaningDiagnosis.h); empty if not.
  const std::string &getWhy() const { return why_; }
  // The same for a state or an output in which the program does not leave `expected`.
  std::string whyNot(const rt::fb::State &state, const ValueNumber &expected);
  std::string whyNot(const rt::fb::Port &output, const ValueNumber &expected);
  // Returns the names of the axes: "dp and fsdp".
  std::string axesText(AxisMask axes) const;
  // The last instruction that wrote to a state.
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
  void checkHandedOver(const std::string &name, const rt::fb::State &state, const Content &now);
  void transferAlone(const rt::InstructionView &view, const InstructionRun &run);
  void meetAlone();
  void addCrossBody(Meaning &meaning);
  std::string entryOfOtherPorts() const;
  bool isLeftAnew(unsigned region, uint64_t place, const MemoryContents &contents) const;
  MemoryContents &memory(unsigned region, uint64_t place);
  // Returns the memory of the frame in which a buffer lies.
  MemoryContents &memory(const rt::fb::Buffer &buffer, const InstructionRun &run) {
    return memory(buffer.region(), placeOf(*plan_.regions()->Get(buffer.region()), buffer, run.frames));
  }
  Content read(const rt::fb::Buffer &buffer, const InstructionRun &run);
  Content readOwnPart(const rt::InstructionView &view, const InstructionRun &run);
  // Records a read of these pieces. They include the whole values of which the instruction reads its share.
  // `hasParts`: the bytes hold one part per rank, but are read as a whole.
  void note(const std::vector<Piece> &pieces, bool hasParts, const rt::fb::Buffer &buffer, const InstructionRun &run);
  void noteWrite(const rt::fb::Buffer &buffer, const InstructionRun &run);
  void write(const rt::fb::Buffer &buffer, const Content &content, const InstructionRun &run);
  void forget(const rt::fb::Buffer &buffer, const InstructionRun &run);
  bool isModels(const ValueNumber &expression) const;
  void leave(const Content &content, const InstructionRun &run);
  void explain(const InstructionRun &run);
  std::string whyNot(unsigned region, uint64_t begin, uint64_t end,
                     const std::function<bool(const Content &)> &isExpected);
  std::string explainParts(const MeaningDiagnosis &diagnosis, const Content &content) const;
  std::string explainRead(const MeaningDiagnosis &diagnosis, const rt::fb::Buffer &buffer, const InstructionRun &run);
  void runLaunch(const rt::InstructionView &view, const InstructionRun &run);
  void startCollective(const rt::InstructionView &view, const InstructionRun &run);
  void startTransfer(const rt::InstructionView &view, const InstructionRun &run);
  void finishCollective(const std::optional<Content> &result);
  ShareLayout shareLayoutOf(unsigned group, uint64_t stride) const;

  const rt::fb::Plan &plan_;
  const BodyFacts *bodies_;
  uint32_t entry_, ports_;         // ports_: the program whose inputs it reads
  std::set<std::string> replaced_; // inputs
  std::set<ValueNumber> notFed_;   // the expressions in them
  std::vector<InstructionRun> runs_;
  size_t next_ = 0;
  uint64_t expanded_ = 0; // instructions and calls, also of empty bodies
  Stop stop_;
  std::string calls_;
  ValueNumber history_; // of calls (Bodies.h)
  Messages messages_;
  bool crossesKinds_ = false;                  // a body broadcasts between kinds
  bool hasCalls_ = false, hasOthers_ = false;  // calls others; has instructions of its own
  std::optional<InstructionRef> readsNothing_; // the first that reads bytes without a value
  std::optional<InstructionRef> intruder_;     // the first to write to inputs, or as an entry to cross-body regions
  std::unordered_map<std::string, const rt::fb::State *> states_;
  std::unordered_map<const rt::fb::State *, Content> starts_;
  std::vector<CrossBodyRange> crossBodyReads_;
  std::set<std::string> overwritten_, readAfter_;
  std::set<std::string> handedOver_;                     // what is wrong with states that bodies find, in words
  std::unordered_map<std::string, Content> leftByCalls_; // by state: its content after the last call
  std::unordered_map<ValueNumber, std::string, ValueNumberHash>
      afterCalls_; // expression of a state after calls -> its name
  std::vector<AxesFacts> groups_;
  // Facts of a kernel of the table, the same at every launch.
  struct Known {
    std::vector<uint64_t> depends;
    ValueNumber number;
    std::vector<bool> isScratch;   // by buffer
    std::optional<size_t> checked; // the buffer that it checks
    bool acceptsZero;              // there
  };
  const Known &knownKernel(size_t number);
  bool isNotFed(const Content &content) const;
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
  Checks checks_;
  std::unordered_map<ValueNumber, Content, ValueNumberHash>
      wholes_; // wholes of which a part was read, by the part's expression
  std::map<std::pair<unsigned, uint64_t>, InstructionRef> writers_; // of persistent bytes, by region and first byte
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
