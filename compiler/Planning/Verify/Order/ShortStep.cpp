#include "compiler/Planning/Verify/Order/ShortStep.h"

#include "compiler/Planning/Verify/PlanText.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>

namespace cleave::plan {

using namespace rt;

namespace {

// Which streams wait for which, by the events of all programs.
class StreamGraph {
public:
  explicit StreamGraph(const fb::Plan &kind) : waiting_(kind.streams()->size()) {
    // By event, the program's own or shared: the streams that record it, and those that wait for it.
    std::map<std::pair<uint32_t, int64_t>, std::pair<std::set<unsigned>, std::set<unsigned>>> events;
    for (uint32_t p = 0; p < lengthOf(kind.programs()); ++p) {
      const fb::Program &program = *kind.programs()->Get(p);
      for (uint32_t i = 0; i < lengthOf(program.instructions()); ++i) {
        InstructionView view(*program.instructions()->Get(i));
        if (view.opcode() != Opcode::Record && view.opcode() != Opcode::Wait)
          continue;
        int64_t shared = view["event"] - int64_t{program.events()};
        auto &[recording, waiting] = events[shared < 0 ? std::pair(p + 1, view["event"]) : std::pair(0u, shared)];
        (view.opcode() == Opcode::Record ? recording : waiting).insert(view.stream());
      }
    }
    for (const auto &[event, streams] : events)
      for (unsigned from : streams.first)
        waiting_[from].insert(streams.second.begin(), streams.second.end());
  }

  // Returns the largest number of records with their waits on a path that goes along no stream twice.
  int64_t longestPath() const {
    constexpr size_t kFew = 8; // with more, there are too many paths
    if (waiting_.size() > kFew)
      return static_cast<int64_t>(waiting_.size()) - 1;
    int64_t longest = 0;
    for (unsigned stream = 0; stream < waiting_.size(); ++stream)
      longest = std::max(longest, longestFrom(stream, 1u << stream));
    return longest;
  }

private:
  int64_t longestFrom(unsigned stream, unsigned visited) const {
    int64_t longest = 0;
    for (unsigned next : waiting_[stream])
      if (!(visited >> next & 1))
        longest = std::max(longest, 1 + longestFrom(next, visited | 1u << next));
    return longest;
  }

  std::vector<std::set<unsigned>> waiting_; // for each stream, those that wait for it
};

// A range of frames, relative to the running program. It contains 0.
struct Span {
  int64_t low = 0, high = 0;
  void add(int64_t frame) { low = std::min(low, frame), high = std::max(high, frame); }
  void add(const Span &more) { add(more.low), add(more.high); }
};

// The frames that a program names, itself and in the programs that it calls.
struct Reach {
  Span ofEvents, ofBuffers;
  void add(const Reach &more) { ofEvents.add(more.ofEvents), ofBuffers.add(more.ofBuffers); }
  // The same, for a program that is called `first` to `last` frames further on.
  Reach movedOn(int64_t first, int64_t last) const {
    auto moved = [&](const Span &span) {
      Span result;
      result.add(span.low + std::min(first, last));
      result.add(span.high + std::max(first, last));
      return result;
    };
    return {moved(ofEvents), moved(ofBuffers)};
  }
  int64_t furthest() const { return std::max({-ofEvents.low, ofEvents.high, -ofBuffers.low, ofBuffers.high}); }
};

// Collects what decides how long the short step must be.
class Form {
public:
  explicit Form(const fb::Plan &kind) : kind_(kind), microBatches_(kind.micro_batches()), most_(microBatches_ / 8) {}

  void add(uint32_t entry) {
    need(hasLongCrossBody());
    for (uint32_t i = 0; i < lengthOf(kind_.regions()); ++i)
      addFrames(kind_.regions()->Get(i)->counter(), kind_.regions()->Get(i)->frames());
    for (uint32_t i = 0; i < lengthOf(kind_.events()); ++i)
      addFrames(kind_.events()->Get(i)->counter(), kind_.events()->Get(i)->frames());
    const auto *instructions = kind_.programs()->Get(entry)->instructions();
    for (uint32_t i = 0; i < lengthOf(instructions) && fits_; ++i)
      if (InstructionView view(*instructions->Get(i)); view.opcode() == Opcode::Call)
        addCall(view);
      else
        addAtEnds(framesNamedBy(view).furthest());
  }

  // Returns how many micro-batches can be left out; 0: none.
  int64_t cut() const {
    if (!fits_)
      return 0;
    int64_t steps = StreamGraph(kind_).longestPath();
    int64_t reach = reach_.furthest() + 1, apart = reach_.ofEvents.high - reach_.ofEvents.low;
    int64_t least = 2 * (atEnds_ + reach + round_) + 3 * (steps * (2 * apart + 1) + 2 * reach + round_);
    int64_t cut = (microBatches_ - least) / round_ * round_;
    return cut < microBatches_ / 4 ? 0 : cut;
  }

private:
  void need(bool holds) { fits_ = fits_ && holds; }
  bool isSmall(int64_t number) const { return std::abs(number) <= most_; }
  // Notes how far from the first or the last micro-batch something begins or ends.
  void addAtEnds(int64_t number) {
    need(isSmall(number));
    atEnds_ = std::max(atEnds_, std::abs(number));
  }
  void addToRound(int64_t number) {
    if (fits_)
      round_ = std::lcm(round_, number);
    need(round_ <= most_);
  }

  void addFrames(fb::Counter counter, int64_t frames) {
    if (counter != fb::Counter::micro_batch)
      return;
    if (isSmall(microBatches_ - frames))
      return addAtEnds(microBatches_ - frames);
    need(isSmall(frames));
    addToRound(frames);
  }

  // Without such a region, everything that follows micro-batches repeats within a step.
  bool hasLongCrossBody() const {
    for (uint32_t i = 0; i < lengthOf(kind_.regions()); ++i)
      if (const fb::Region &region = *kind_.regions()->Get(i); region.kind() != fb::RegionKind::input &&
                                                               region.counter() == fb::Counter::micro_batch &&
                                                               !isSmall(region.frames()))
        return true;
    return false;
  }

  // Returns the frames that an instruction names, relative to the running program.
  Reach framesNamedBy(const InstructionView &view) const {
    Reach named;
    for (size_t b = 0; b < view.bufferCount(); ++b)
      if (kind_.regions()->Get(view.buffer(b).region())->counter() == fb::Counter::micro_batch)
        named.ofBuffers.add(view.buffer(b).frame());
    if (view.opcode() == Opcode::Record || view.opcode() == Opcode::Wait)
      named.ofEvents.add(view["frame"]);
    return named;
  }

  // Returns the frames that a run of a body names, along all paths of calls. Programs do not call themselves, so this
  // ends.
  Reach reachOf(uint32_t program) {
    auto [known, isNew] = reaches_.try_emplace(program);
    if (!isNew)
      return known->second;
    need(!kind_.programs()->Get(program)->entry());
    Reach reach;
    const auto *instructions = kind_.programs()->Get(program)->instructions();
    for (uint32_t i = 0; i < lengthOf(instructions) && fits_; ++i) {
      InstructionView view(*instructions->Get(i));
      reach.add(framesNamedBy(view));
      if (view.opcode() != Opcode::Call)
        continue;
      int64_t first = view["first_frame"], length = spanOf(view);
      need(isMicroBatches(view) && isSmall(first) && isSmall(length));
      if (fits_)
        reach.add(reachOf(static_cast<uint32_t>(view["program"])).movedOn(first, first + length));
      need(isSmall(reach.furthest()));
    }
    return reaches_[program] = reach;
  }

  static bool isMicroBatches(const InstructionView &call) {
    return static_cast<fb::Counter>(call["counter"]) == fb::Counter::micro_batch;
  }
  // Returns the number of micro-batches that a call goes through.
  int64_t spanOf(const InstructionView &call) const {
    int64_t stride = call["skip"] + 1, times = call["times"];
    bool fits = times >= 0 && stride >= 1 && stride <= 2 * microBatches_ && times <= 2 * microBatches_;
    return fits ? times * stride : 4 * microBatches_;
  }

  void addCall(const InstructionView &call) {
    need(isMicroBatches(call));
    if (!fits_)
      return;
    reach_.add(reachOf(static_cast<uint32_t>(call["program"])));
    int64_t first = call["first_frame"], length = spanOf(call);
    if (isSmall(length)) {
      addAtEnds(isSmall(first) ? std::abs(first) + length : std::abs(microBatches_ - first) + length);
      return;
    }
    addAtEnds(first);
    addAtEnds(microBatches_ - first - length);
    addAtEnds(microBatches_ - length);
    addToRound(call["skip"] + 1);
  }

  const fb::Plan &kind_;
  int64_t microBatches_, most_;
  int64_t round_ = 1, atEnds_ = 0;
  Reach reach_;
  bool fits_ = true;
  std::map<uint32_t, Reach> reaches_; // by program
};

} // namespace

ShortStep ShortStep::of(const fb::Plan &kind, std::string_view entry, Steps steps) {
  ShortStep step;
  if (steps == Steps::Whole)
    return step;
  for (uint32_t i = 0; i < rt::lengthOf(kind.programs()); ++i)
    if (kind.programs()->Get(i)->entry() && textOf(kind.programs()->Get(i)->name()) == entry) {
      Form form(kind);
      form.add(i);
      step.cut_ = form.cut();
      step.half_ = kind.micro_batches() / 2;
    }
  return step;
}

int64_t ShortStep::timesOf(const InstructionView &call) const {
  int64_t stride = call["skip"] + 1, times = call["times"];
  bool isLong =
      cut_ != 0 && static_cast<fb::Counter>(call["counter"]) == fb::Counter::micro_batch && times * stride >= half_;
  return isLong ? times - cut_ / stride : times;
}

int64_t ShortStep::firstFrameOf(const InstructionView &call) const {
  int64_t first = call["first_frame"];
  bool isLate = cut_ != 0 && static_cast<fb::Counter>(call["counter"]) == fb::Counter::micro_batch && first >= half_;
  return isLate ? first - cut_ : first;
}

} // namespace cleave::plan
