#include "compiler/Planning/Verify/Rules/PackedBytes.h"

#include "compiler/Planning/Verify/Facts/Meaning.h"
#include "compiler/Planning/Verify/Facts/PlanFacts.h"
#include "compiler/Planning/Verify/PlanText.h"
#include "runtime/plan/Frames.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/KernelOperands.h"
#include "runtime/plan/PlanReader.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

namespace cleave::plan {

using namespace rt;

namespace {

// The form in which a kernel leaves bytes, or wants them.
struct Form {
  const KernelDef *packer; // matmul_pack_b
  std::vector<int64_t> params;
  bool operator==(const Form &other) const { return packer == other.packer && params == other.params; }
};
struct PackedRange {
  InstructionRef by;
  Form form;
  uint64_t end;
  bool operator==(const PackedRange &other) const {
    return std::tie(by.program, by.index, end) == std::tie(other.by.program, other.by.index, other.end) &&
           form == other.form;
  }
};

std::vector<int64_t> paramsOf(const fb::Kernel &kernel) {
  return kernel.params() ? std::vector<int64_t>(kernel.params()->begin(), kernel.params()->end())
                         : std::vector<int64_t>();
}

// Returns the form that the kernel wants in its operand; nothing if it wants the plain one.
std::optional<Form> wantedForm(const fb::Kernel &kernel, const KernelDef &def, size_t operand) {
  std::vector<int64_t> params = paramsOf(kernel);
  KernelArgs args;
  if (operand >= def.buffers.size() || !KernelArgs::read(def, params, &args).isOk())
    return std::nullopt;
  const KernelDef *packer = packerOf(def, def.buffers[operand]);
  if (!packer || args[def.buffers[operand].packedParam()] == 0)
    return std::nullopt;
  return Form{packer, std::move(params)};
}

// True if the plan has a kernel that packs, or one that wants packed bytes.
bool usesPacked(const fb::Plan &plan) {
  for (uint32_t i = 0; i < lengthOf(plan.kernels()); ++i) {
    const fb::Kernel &kernel = *plan.kernels()->Get(i);
    const KernelDef *def = kernel.kind() == fb::KernelKind::generated ? nullptr : findKernelDef(textOf(kernel.name()));
    for (size_t operand = 0; def && operand < def->buffers.size(); ++operand)
      if (def->packsFor || wantedForm(kernel, *def, operand))
        return true;
  }
  return false;
}

class PackedCheck {
public:
  PackedCheck(const fb::Plan &plan, std::vector<Finding> *findings) : plan_(plan), findings_(findings) {}

  void run() {
    for (bool isInit : {true, false})
      for (uint32_t program = 0; program < lengthOf(plan_.programs()); ++program)
        if (const fb::Program &entry = *plan_.programs()->Get(program);
            entry.entry() && isEntry(entry, "init") == isInit)
          runEntry(program, isInit);
  }

private:
  bool isKept(unsigned region) const { return plan_.regions()->Get(region)->kind() == fb::RegionKind::persistent; }

  void runEntry(uint32_t entry, bool isInit) {
    now_ = atStart_;
    isInit_ = isInit;
    executed_ = 0;
    runProgram(entry, {});
    if (executed_ > kMaxInstructions)
      findings_->push_back({"too long", textOfTooLong(textOf(plan_.programs()->Get(entry)->name()))});
    for (auto &[place, range] : now_)
      if (isInit && isKept(std::get<0>(place)))
        atStart_.emplace(place, range);
  }

  void runProgram(uint32_t program, const Frames &frames) {
    for (uint32_t i = 0; i < lengthOf(plan_.programs()->Get(program)->instructions()); ++i) {
      if (++executed_ > kMaxInstructions)
        return;
      if (InstructionView view = viewOf(plan_, {program, i}); view.opcode() == Opcode::Call) {
        runCall(view, frames);
      } else {
        frames_ = frames;
        runInstruction({program, i}, view);
      }
    }
  }

  // The bytes that are packed, and the places that are meant, decide what a round does. So if a round has changed
  // nothing, all later ones do the same again.
  void runCall(const InstructionView &view, const Frames &frames) {
    auto counter = static_cast<fb::Counter>(view["counter"]);
    int64_t times = view["times"], round = roundOf(counter);
    round /= std::gcd(round, view["skip"] + 1);
    Ranges before;
    for (int64_t i = 0; i < times && executed_ <= kMaxInstructions; ++i) {
      ++executed_; // counts bodies without instructions, too
      if (round != 0 && i % round == 0) {
        if (i != 0 && now_ == before)
          i += (times - i) / round * round;
        before = now_;
      }
      if (i < times)
        runProgram(static_cast<uint32_t>(view["program"]), frames.called(counter, frameOfCall(view, i)));
    }
  }

  // Returns after how many frames of a counter all regions that follow it are in the same place again; 0 if they are
  // too many to tell.
  int64_t roundOf(fb::Counter counter) const {
    int64_t round = 1;
    for (uint32_t i = 0; i < lengthOf(plan_.regions()); ++i)
      if (const fb::Region &region = *plan_.regions()->Get(i); region.counter() == counter && round != 0) {
        round = std::lcm(round, int64_t{region.frames()});
        round = round > static_cast<int64_t>(kMaxInstructions) ? 0 : round;
      }
    return round;
  }

  void runInstruction(InstructionRef ref, const InstructionView &view) {
    const fb::Kernel *kernel = libraryKernelOf(view);
    const KernelDef *def = kernel ? findKernelDef(textOf(kernel->name())) : nullptr;
    bool packs = def && def->packsFor;
    std::optional<PackedRange> moved; // packed bytes that a copy moves
    for (size_t b = 0; b < view.bufferCount() && !packs; ++b)
      if (const fb::Buffer &buffer = view.buffer(b); buffer.bytes() != 0 && reads(buffer.access())) {
        if (view.opcode() == Opcode::Copy)
          moved = wholeRangeOf(buffer);
        if (!moved)
          checkRead(ref, buffer, def ? wantedForm(*kernel, *def, b) : std::nullopt);
      }
    for (size_t b = 0; b < view.bufferCount(); ++b)
      if (const fb::Buffer &buffer = view.buffer(b); buffer.bytes() != 0 && writes(buffer.access()))
        write(ref, buffer, packs && b == 0);
    if (packs && view.bufferCount() != 0)
      pack(ref, view.buffer(0), {def, paramsOf(*kernel)});
    if (moved)
      move(ref, view.buffer(0), *moved);
  }

  const fb::Kernel *libraryKernelOf(const InstructionView &view) const {
    if (view.opcode() != Opcode::Launch)
      return nullptr;
    const fb::Kernel *kernel = plan_.kernels()->Get(static_cast<unsigned>(view["kernel"]));
    return kernel->kind() == fb::KernelKind::generated ? nullptr : kernel;
  }

  // Region, place of the frame in it, and first byte. Ranges do not overlap each other.
  using Place = std::tuple<unsigned, uint64_t, uint64_t>;
  using Ranges = std::map<Place, PackedRange>;

  Place placeOf(const fb::Buffer &buffer) const {
    return {buffer.region(), rt::placeOf(*plan_.regions()->Get(buffer.region()), buffer, frames_), buffer.offset()};
  }
  // The first packed range that the buffer overlaps.
  Ranges::iterator firstIn(const fb::Buffer &buffer) {
    auto [region, frame, offset] = placeOf(buffer);
    auto isInFrame = [region = region, frame = frame](const Place &place) {
      return std::get<0>(place) == region && std::get<1>(place) == frame;
    };
    auto found = now_.upper_bound({region, frame, offset});
    if (found != now_.begin())
      if (auto before = std::prev(found); isInFrame(before->first) && before->second.end > offset)
        return before;
    bool overlaps =
        found != now_.end() && isInFrame(found->first) && std::get<2>(found->first) < bufferEnd(plan_, buffer);
    return overlaps ? found : now_.end();
  }
  // Returns the packed range whose bytes are exactly the buffer's.
  std::optional<PackedRange> wholeRangeOf(const fb::Buffer &buffer) {
    auto found = firstIn(buffer);
    bool isWhole = found != now_.end() && found->first == placeOf(buffer) &&
                   found->second.end == bufferEnd(plan_, buffer) && buffer.share_of() == 0;
    return isWhole ? std::optional<PackedRange>(found->second) : std::nullopt;
  }

  void checkRead(InstructionRef ref, const fb::Buffer &buffer, const std::optional<Form> &wanted) {
    auto found = firstIn(buffer);
    std::optional<PackedRange> range = wholeRangeOf(buffer);
    if (wanted ? range && range->form == *wanted : found == now_.end())
      return;
    if (found != now_.end())
      return find(ref, buffer,
                  "uses bytes that " + describe(plan_, found->second.by) +
                      " has packed; expected a kernel that reads them as " +
                      std::string(found->second.form.packer->name) + " leaves them");
    find(ref, buffer,
         "wants bytes as " + std::string(wanted->packer->name) +
             " of its parameters leaves them; expected init to pack them");
  }

  // Erases the packed ranges that the buffer overwrites. What is left of one is still packed, but in no form that a
  // kernel wants.
  void write(InstructionRef ref, const fb::Buffer &buffer, bool packs) {
    std::vector<std::pair<Place, PackedRange>> rests;
    for (auto found = firstIn(buffer); found != now_.end(); found = firstIn(buffer)) {
      if (packs)
        find(ref, buffer, "packs bytes that are packed already; expected each to be packed once");
      else if (isKept(buffer.region()) && !isInit_)
        find(ref, buffer,
             "writes bytes that " + describe(plan_, found->second.by) + " has packed; expected them to stay");
      keepRest(*found, buffer, rests);
      now_.erase(found);
    }
    for (auto &[place, rest] : rests)
      now_.insert_or_assign(place, rest);
  }

  // A write to the rank's share leaves bytes of the range anywhere.
  static void keepRest(const std::pair<const Place, PackedRange> &range, const fb::Buffer &buffer,
                       std::vector<std::pair<Place, PackedRange>> &rests) {
    auto [region, frame, begin] = range.first;
    bool isShare = buffer.share_of() != 0;
    uint64_t end = range.second.end, from = isShare ? end : buffer.offset(), to = from + buffer.bytes();
    PackedRange rest = range.second;
    rest.form.params.clear();
    if (to < end)
      rests.emplace_back(Place{region, frame, to}, rest);
    rest.end = std::min(end, from);
    if (begin < from)
      rests.emplace_back(Place{region, frame, begin}, rest);
  }

  void pack(InstructionRef ref, const fb::Buffer &buffer, Form form) {
    if (!isInit_ || buffer.share_of() != 0)
      return find(ref, buffer, "packs bytes; only the program init does, and each rank all of its bytes");
    if (hasTrainingStep(plan_))
      find(ref, buffer,
           "packs bytes; expected none in a plan that trains, whose checkpoints hold states as the model does");
    now_.insert_or_assign(placeOf(buffer), PackedRange{ref, std::move(form), bufferEnd(plan_, buffer)});
  }

  // Notes packed bytes that a copy moves.
  void move(InstructionRef ref, const fb::Buffer &target, PackedRange range) {
    fb::RegionKind kind = plan_.regions()->Get(target.region())->kind();
    std::string what = "gets bytes that " + describe(plan_, range.by) + " has packed; ";
    if (kind != fb::RegionKind::persistent && isOfHost(kind))
      find(ref, target, what + "expected plain ones, because the host reads them");
    else if (kind == fb::RegionKind::persistent && !isInit_)
      find(ref, target, what + "expected only init to leave packed bytes in states");
    range.end = bufferEnd(plan_, target);
    now_.insert_or_assign(placeOf(target), std::move(range));
  }

  // Instructions may run more than once.
  void find(InstructionRef ref, const fb::Buffer &buffer, const std::string &what) {
    std::string text = describe(plan_, ref) + ": " +
                       describeBytes(plan_, buffer.region(), buffer.offset(), bufferEnd(plan_, buffer)) + ": " + what;
    if (found_.insert(text).second)
      findings_->push_back({"packed", std::move(text)});
  }

  const fb::Plan &plan_;
  std::vector<Finding> *findings_;
  std::set<std::string> found_;
  bool isInit_ = false;
  uint64_t executed_ = 0; // of the entry that runs
  Frames frames_;         // of the instruction that runs
  Ranges atStart_, now_;  // as init leaves them, and at the current instruction
};

} // namespace

void checkPackedBytes(const fb::Plan &plan, std::vector<Finding> *findings) {
  if (usesPacked(plan))
    PackedCheck(plan, findings).run();
}

} // namespace cleave::plan
