#include "compiler/Planning/Verify/Rules/MicroBatchCoverage.h"

#include "compiler/Planning/Verify/Facts/Meaning.h"
#include "compiler/Planning/Verify/Facts/PlanFacts.h"
#include "compiler/Planning/Verify/PlanText.h"
#include "runtime/plan/FeedMemory.h"
#include "runtime/plan/KernelOperands.h"
#include "runtime/plan/RankKinds.h"

#include <map>
#include <set>

namespace cleave::plan {

using namespace rt;

namespace {

// The micro-batches in which one entry program of a kind does something.
class UsedFrames {
public:
  UsedFrames(const fb::Plan &kind, uint32_t entry, int64_t fed)
      : kind_(kind), inputs_(kind.programs()->Get(entry)->inputs()), fed_(fed) {
    run(entry, 0);
  }

  bool isTooLong() const { return executed_ > kMaxInstructions; }
  // True if a call of the kind follows micro-batches.
  bool follows() const { return follows_; }
  const std::set<int64_t> &ran() const { return ran_; }
  // The frames in which an input is read, by its number.
  const std::map<uint32_t, std::set<int64_t>> &read() const { return read_; }

private:
  // What a program does, in frames of micro-batches relative to its own.
  struct Uses {
    std::set<std::pair<uint32_t, int64_t>> reads; // inputs by their number, and frames
    std::vector<InstructionView> calls;           // that are made at least once
    bool hasWork = false;                         // more than calls and events
  };

  void run(uint32_t program, int64_t frame) {
    if (isTooLong() || !visited_.insert({program, frame}).second)
      return;
    const Uses &uses = usesOf(program);
    if (uses.hasWork)
      note(frame, ran_);
    for (auto [input, by] : uses.reads)
      note(frame + by, read_[input]);
    for (const InstructionView &call : uses.calls) {
      bool counts = static_cast<fb::Counter>(call["counter"]) == fb::Counter::micro_batch;
      follows_ |= counts;
      for (int64_t i = 0; i < (counts ? call["times"] : 1) && ++executed_ <= kMaxInstructions; ++i)
        run(static_cast<uint32_t>(call["program"]), counts ? frame + frameOfCall(call, i) : frame);
    }
  }

  void note(int64_t frame, std::set<int64_t> &frames) const {
    if (frame >= 0 && frame < fed_)
      frames.insert(frame);
  }

  const Uses &usesOf(uint32_t program) {
    auto [known, isNew] = uses_.try_emplace(program);
    const auto *instructions = kind_.programs()->Get(program)->instructions();
    for (uint32_t i = 0; isNew && i < lengthOf(instructions); ++i) {
      InstructionView view(*instructions->Get(i));
      if (view.opcode() == Opcode::Call && view["times"] > 0)
        known->second.calls.push_back(view);
      known->second.hasWork |= view.bufferCount() != 0;
      for (size_t b = 0; b < view.bufferCount(); ++b)
        addReads(view.buffer(b), known->second);
    }
    return known->second;
  }

  void addReads(const fb::Buffer &buffer, Uses &uses) const {
    for (uint32_t input = 0; reads(buffer.access()) && input < lengthOf(inputs_); ++input)
      if (const fb::Port &port = *inputs_->Get(input); !port.absent() && port.region() == buffer.region() &&
                                                       port.offset() < bufferEnd(kind_, buffer) &&
                                                       buffer.offset() < port.offset() + portBytes(port))
        uses.reads.insert({input, buffer.frame()});
  }

  const fb::Plan &kind_;
  const flatbuffers::Vector<flatbuffers::Offset<fb::Port>> *inputs_;
  int64_t fed_;
  bool follows_ = false;
  uint64_t executed_ = 0;
  std::set<std::pair<uint32_t, int64_t>> visited_; // programs and frames
  std::map<uint32_t, Uses> uses_;
  std::set<int64_t> ran_;
  std::map<uint32_t, std::set<int64_t>> read_;
};

// "3 of the 5 micro-batches that the host feeds; expected all of them; left out: 1, 2"
std::string textOfFrames(const std::set<int64_t> &used, int64_t fed) {
  constexpr size_t kMost = 8;
  std::string left;
  size_t count = 0;
  for (int64_t frame = 0; frame < fed && count <= kMost; ++frame)
    if (!used.count(frame))
      left += ++count > kMost ? ", ..." : (left.empty() ? "" : ", ") + std::to_string(frame);
  return std::to_string(used.size()) + " of the " + std::to_string(fed) +
         " micro-batches that the host feeds; expected all of them; left out: " + left;
}

} // namespace

void checkMicroBatchCoverage(const fb::Plan &plan, std::vector<Finding> *findings) {
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  for (uint32_t i = 0; i < lengthOf(plan.programs()); ++i) {
    const fb::Program &program = *plan.programs()->Get(i);
    int64_t fed = program.entry() ? inputFrames(plan, program) : 0;
    if ((isEntry(program, "init") || isEntry(program, "snapshot")) && lengthOf(program.inputs()) != 0)
      findings->push_back({"port", program.name()->str() + " has input " + quoted(program.inputs()->Get(0)->name()) +
                                       ", which the host feeds to no such program; expected no inputs"});
    bool isAnyFollowing = false;
    for (const fb::Plan *kind : kinds)
      for (uint32_t p = 0; fed > 1 && p < lengthOf(kind->programs()); ++p) {
        const fb::Program &entry = *kind->programs()->Get(p);
        if (!entry.entry() || textOf(entry.name()) != textOf(program.name()))
          continue;
        UsedFrames used(*kind, p, fed);
        isAnyFollowing |= used.follows();
        if (used.isTooLong()) // the other parts say so
          continue;
        auto find = [&](const std::string &what, const std::set<int64_t> &frames) {
          if (static_cast<int64_t>(frames.size()) < fed)
            findings->push_back({"frame", (kinds.size() > 1 ? "kind " + quoted(kind->kind()) + ": " : "") +
                                              entry.name()->str() + " " + what + textOfFrames(frames, fed)});
        };
        if (used.follows())
          find("runs for ", used.ran());
        for (const auto &[input, frames] : used.read())
          if (entry.inputs()->Get(input)->batch_dim() >= 0)
            find("reads input " + quoted(entry.inputs()->Get(input)->name()) + " of ", frames);
      }
    if (fed > 1 && !isAnyFollowing)
      findings->push_back({"frame", program.name()->str() + " runs for " + textOfFrames({0}, fed)});
  }
}

} // namespace cleave::plan
