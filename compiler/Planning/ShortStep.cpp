#include "compiler/Planning/ShortStep.h"

#include "compiler/Planning/PlanText.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

namespace cleave::plan {

using namespace rt;

namespace {

// Collects what the short step must be longer than.
class Form {
public:
  explicit Form(int64_t microBatches) : microBatches_(microBatches), most_(microBatches / 8) {}

  void addKind(const fb::Plan &kind, std::string_view entry) {
    for (uint32_t i = 0; i < lengthOf(kind.regions()); ++i)
      addFrames(kind.regions()->Get(i)->counter(), kind.regions()->Get(i)->frames());
    for (uint32_t i = 0; i < lengthOf(kind.events()); ++i)
      addFrames(kind.events()->Get(i)->counter(), kind.events()->Get(i)->frames());
    std::set<uint32_t> seen;
    for (uint32_t i = 0; i < lengthOf(kind.programs()); ++i)
      if (kind.programs()->Get(i)->entry() && textOf(kind.programs()->Get(i)->name()) == entry)
        addProgram(kind, i, seen);
    ++kinds_;
  }

  // How many micro-batches to leave out; 0: none.
  int64_t cut() const {
    if (!fits_)
      return 0;
    // A wait reaches `reach_` frames, twice for the way back, and from one kind to the next; rounds as in Execution.
    int64_t least = 4 * (reach_ + 2) * kinds_ + 4 * round_ + 16;
    int64_t cut = (microBatches_ - least) / round_ * round_;
    return cut < microBatches_ / 4 ? 0 : cut;
  }

private:
  bool isSmall(int64_t number) {
    if (std::abs(number) > most_)
      return false;
    reach_ = std::max(reach_, std::abs(number));
    return true;
  }
  bool isOfAll(int64_t number) { return isSmall(microBatches_ - number); }
  void need(bool holds) { fits_ = fits_ && holds; }
  void addToRound(int64_t number) {
    if (fits_)
      round_ = std::lcm(round_, number);
    need(round_ <= most_);
  }

  void addFrames(fb::Counter counter, int64_t frames) {
    if (counter != fb::Counter::micro_batch || isOfAll(frames))
      return;
    need(isSmall(frames));
    addToRound(frames);
  }

  void addProgram(const fb::Plan &kind, uint32_t program, std::set<uint32_t> &seen) {
    if (!seen.insert(program).second)
      return;
    const auto *instructions = kind.programs()->Get(program)->instructions();
    for (uint32_t i = 0; i < lengthOf(instructions) && fits_; ++i) {
      InstructionView view(*instructions->Get(i));
      for (size_t b = 0; b < view.bufferCount(); ++b)
        if (kind.regions()->Get(view.buffer(b).region())->counter() == fb::Counter::micro_batch)
          need(isSmall(view.buffer(b).frame()));
      if (view.opcode() == Opcode::Record || view.opcode() == Opcode::Wait)
        need(isSmall(view["frame"]));
      if (view.opcode() != Opcode::Call)
        continue;
      auto callee = static_cast<uint32_t>(view["program"]);
      need(!kind.programs()->Get(callee)->entry());
      if (static_cast<fb::Counter>(view["counter"]) == fb::Counter::micro_batch)
        addCall(view, kind.programs()->Get(program)->entry());
      addProgram(kind, callee, seen);
    }
  }

  void addCall(const InstructionView &call, bool isOfEntry) {
    int64_t stride = call["skip"] + 1, first = call["first_frame"], times = call["times"];
    need(isSmall(stride) && times <= 2 * microBatches_);
    if (!fits_)
      return;
    if (!isOfEntry)
      return need(isSmall(times * stride) && isSmall(first));
    if (isSmall(times * stride))
      return need(isSmall(first) || isOfAll(first));
    need(isOfAll(times * stride) && isSmall(first));
    addToRound(stride);
  }

  int64_t microBatches_, most_;
  int64_t reach_ = 1, round_ = 1, kinds_ = 0;
  bool fits_ = true;
};

} // namespace

ShortStep ShortStep::of(const std::vector<const fb::Plan *> &kinds, std::string_view entry, Steps steps) {
  ShortStep step;
  if (steps == Steps::Whole)
    return step;
  Form form(kinds[0]->micro_batches());
  for (const fb::Plan *kind : kinds)
    form.addKind(*kind, entry);
  step.cut_ = form.cut();
  step.half_ = kinds[0]->micro_batches() / 2;
  return step;
}

int64_t ShortStep::timesOf(const InstructionView &call) const {
  int64_t stride = call["skip"] + 1, times = call["times"];
  bool isLong = cut_ != 0 && static_cast<fb::Counter>(call["counter"]) == fb::Counter::micro_batch &&
                times * stride >= half_;
  return isLong ? times - cut_ / stride : times;
}

int64_t ShortStep::firstFrameOf(const InstructionView &call) const {
  int64_t first = call["first_frame"];
  bool isLate =
      cut_ != 0 && static_cast<fb::Counter>(call["counter"]) == fb::Counter::micro_batch && first >= half_;
  return isLate ? first - cut_ : first;
}

} // namespace cleave::plan
