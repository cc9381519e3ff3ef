// What an entry program of a plan leaves in states and outputs, from what its instructions do to bytes: the abstract
// run of PlanVerifier that knows what bytes are.
//
// It runs instructions in list order. That is one order of many, but where no two accesses race (Execution.h) every
// order reads the same.
#ifndef CLEAVE_COMPILER_PLANNING_PLANMEANING_H
#define CLEAVE_COMPILER_PLANNING_PLANMEANING_H

#include "compiler/Planning/Meaning.h"
#include "compiler/Planning/MeaningDiagnosis.h"
#include "compiler/Planning/MemoryContents.h"
#include "compiler/Planning/PlanText.h"
#include "runtime/plan/Frames.h"

#include <set>
#include <unordered_map>

namespace cleave::plan {

class PlanMeaning : public MeaningRun {
public:
  // Of an entry program, or of a body by itself, which reads the inputs of an entry that calls it.
  PlanMeaning(const rt::fb::Plan &plan, uint32_t entry);

  const Stop *advance() override;
  void deliver(const std::optional<Content> &result) override;

  // After the run:
  Meaning getMeaning();
  // Whether it runs more than is looked at.
  bool isTooLong() const { return expanded_ >= kMaxSteps; }
  // The states that the program reads as an earlier program has left them.
  const std::set<std::string> &getReadFirst() const { return readFirst_; }
  // Bodies of which not all calls were run.
  const std::set<uint32_t> &getRepeated() const { return repeated_; }
  // What lies in frame 0.
  Content contentAt(unsigned region, uint64_t begin, uint64_t end) { return memory(region, 0).read(begin, end, &met_); }
  // Along which axes the bytes that receives have written may differ.
  const Received &getReceived() const { return received_; }
  Content stateAtStart(const rt::fb::State &state) const;

  // An instruction that reads bytes as a whole of which each rank has written its own part alone.
  struct PartRead {
    InstructionRef ref;
    uint16_t region;
    uint64_t begin, end;
    AxisMask axes; // over which they are parts
  };
  const std::vector<PartRead> &getPartReads() const { return partReads_; }
  // The first instruction that leaves what is not among the program's `expressions`.
  const std::optional<InstructionRef> &getFirstOther() const { return firstOther_; }
  // What is wrong there, as far as that can be told (MeaningDiagnosis.h); empty where it cannot.
  const std::string &getWhy() const { return why_; }
  // The same of a state that is left as `expected` is not.
  std::string whyNot(const rt::fb::State &state, uint64_t expected);
  // "dp and fsdp".
  std::string axesText(AxisMask axes) const;
  // The last that wrote to a state.
  std::optional<InstructionRef> getLastWriter(const rt::fb::State &state) const;

private:
  static constexpr uint64_t kMaxSteps = 1u << 22;
  struct Step {
    InstructionRef ref;
    rt::Frames frames;
  };
  void expand(uint32_t program, const rt::Frames &frames);
  MemoryContents &memory(unsigned region, uint64_t place);
  // Of the frame that a buffer lies in.
  MemoryContents &memory(const rt::fb::Buffer &buffer, const Step &step) {
    return memory(buffer.region(), placeOf(*plan_.regions()->Get(buffer.region()), buffer, step.frames));
  }
  Content read(const rt::fb::Buffer &buffer, const Step &step);
  Content readOwnPart(const rt::InstructionView &view, const Step &step);
  // What is read: `wholes`, as all ranks have it, or a share of that.
  void note(const std::vector<Piece> &wholes, bool hasParts, const rt::fb::Buffer &buffer, const Step &step);
  void write(const rt::fb::Buffer &buffer, const Content &content, const Step &step);
  bool isModels(uint64_t expression) const;
  void leave(const Content &content, const Step &step);
  void explain(const Step &step);
  std::string explainParts(const MeaningDiagnosis &diagnosis, const Content &content) const;
  std::string explainRead(const MeaningDiagnosis &diagnosis, const rt::fb::Buffer &buffer, const Step &step);
  void runLaunch(const rt::InstructionView &view, const Step &step);
  void startCollective(const rt::InstructionView &view, const Step &step);
  void startTransfer(const rt::InstructionView &view, const Step &step);
  void finishCollective(const std::optional<Content> &result);
  Cut cutOf(unsigned group, uint64_t stride) const;

  const rt::fb::Plan &plan_;
  uint32_t entry_, ports_; // ports_: the program whose inputs it reads
  std::vector<Step> steps_;
  size_t next_ = 0;
  uint64_t expanded_ = 0; // instructions and calls, of empty bodies as well
  Stop stop_;
  int64_t maxTimes_ = kMaxInterpretedTimes;
  std::string calls_;
  std::vector<AxesFacts> groups_;
  // Of a kernel of the table, the same at every launch.
  struct Known {
    std::vector<uint64_t> depends;
    uint64_t number = 0;
    std::vector<bool> isScratch; // by buffer
  };
  const Known &knownKernel(size_t number);
  std::vector<std::optional<Known>> kernels_;
  std::map<std::pair<unsigned, uint64_t>, MemoryContents> memories_;
  std::unordered_map<uint64_t, std::string> atStart_; // expression of a state's first content -> its name
  std::set<std::string> readFirst_;
  std::set<uint32_t> repeated_;
  std::vector<PartRead> partReads_;
  std::optional<InstructionRef> firstOther_;
  std::string why_;
  RunCollectives collectives_;
  std::unordered_map<uint64_t, Content> wholes_; // of which a part was read, by the part's expression
  std::map<std::pair<unsigned, uint64_t>, InstructionRef> writers_; // of persistent bytes, by the first
  Received received_;
  bool met_ = false;
};

} // namespace cleave::plan

#endif
