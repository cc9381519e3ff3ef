#include "compiler/Planning/Draft/Liveness.h"

#include <algorithm>
#include <array>
#include <map>

namespace cleave::plan {

namespace {

// Tells which instructions are known to be done when another one runs, by vector clocks over records and waits.
class HappensBefore {
public:
  explicit HappensBefore(const std::vector<DraftInstruction> &instructions) : instructions_(instructions) {
    std::array<Clock, kStreams> streams{};
    std::map<unsigned, Clock> events;
    for (size_t at = 0; at < instructions.size(); ++at) {
      const DraftInstruction &instruction = instructions[at];
      Clock &clock = streams[instruction.stream];
      if (instruction.kind == InstructionKind::Wait)
        for (unsigned stream = 0; stream < kStreams; ++stream)
          clock[stream] = std::max(clock[stream], events[instruction.event][stream]);
      ++clock[instruction.stream];
      if (instruction.kind == InstructionKind::Record)
        events[instruction.event] = clock;
      clocks_.push_back(clock);
      if (instruction.stream == kComputeStream)
        compute_.push_back(at);
    }
  }

  bool precedes(size_t a, size_t b) const {
    unsigned stream = instructions_[a].stream;
    return clocks_[b][stream] >= clocks_[a][stream];
  }
  // Returns the position of the last compute instruction that is known to be done before `at` runs; 0 if there is none.
  size_t lastJoinBefore(size_t at) const {
    size_t known = clocks_[at][kComputeStream];
    return known == 0 ? 0 : compute_[known - 1];
  }
  // Returns the position from which the compute stream knows that `at` is done; the last position if it never does.
  size_t nextJoinAfter(size_t at) const {
    auto next = std::upper_bound(compute_.begin(), compute_.end(), at);
    auto knows =
        std::partition_point(next, compute_.end(), [&](size_t instruction) { return !precedes(at, instruction); });
    return knows == compute_.end() ? instructions_.size() - 1 : *knows;
  }

private:
  using Clock = std::array<size_t, kStreams>; // how many instructions of each stream are done
  const std::vector<DraftInstruction> &instructions_;
  std::vector<Clock> clocks_;
  std::vector<size_t> compute_; // positions of the compute stream's instructions
};

} // namespace

// Sets `begin` or `end` of each span whose first or last use is on another stream than the compute stream, if that use
// is ordered with all other uses.
static void findEnds(const std::vector<DraftInstruction> &instructions, const HappensBefore &order,
                     const std::vector<std::vector<size_t>> &uses, std::vector<std::optional<Span>> &spans) {
  for (size_t allocation = 0; allocation < spans.size(); ++allocation) {
    if (!spans[allocation])
      continue;
    size_t first = uses[allocation].front(), last = uses[allocation].back();
    auto all = [&](auto &&holds) { return std::all_of(uses[allocation].begin(), uses[allocation].end(), holds); };
    if (instructions[first].stream != kComputeStream && all([&](size_t at) { return order.precedes(first, at); }))
      spans[allocation]->begin = {instructions[first].stream, first};
    if (instructions[last].stream != kComputeStream && all([&](size_t at) { return order.precedes(at, last); }))
      spans[allocation]->end = {instructions[last].stream, last};
  }
}

std::vector<std::optional<Span>> liveSpans(const std::vector<DraftInstruction> &instructions, size_t allocations) {
  HappensBefore order(instructions);
  std::vector<std::optional<Span>> spans(allocations);
  std::vector<std::vector<size_t>> uses(allocations);
  for (size_t at = 0; at < instructions.size(); ++at) {
    if (instructions[at].uses.empty())
      continue;
    bool onCompute = instructions[at].stream == kComputeStream;
    Span use{onCompute ? at : order.lastJoinBefore(at), onCompute ? at : order.nextJoinAfter(at)};
    for (const MemoryAccess &touched : instructions[at].uses) {
      std::optional<Span> &span = spans[touched.allocation];
      span = span ? Span{std::min(span->first, use.first), std::max(span->last, use.last)} : use;
      uses[touched.allocation].push_back(at);
    }
  }
  findEnds(instructions, order, uses, spans);
  return spans;
}

} // namespace cleave::plan
