#include "compiler/Planning/Draft/StreamOrder.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

namespace cleave::plan {

bool conflict(const DraftInstruction &a, const DraftInstruction &b, bool countScratch) {
  if (a.kind == InstructionKind::Barrier || b.kind == InstructionKind::Barrier)
    return true;
  for (const MemoryAccess &use : a.uses)
    for (const MemoryAccess &other : b.uses)
      if (use.conflictsWith(other) && (countScratch || !use.scratch || !other.scratch))
        return true;
  return false;
}

namespace {

// The uses of one allocation so far, found by their bytes. They are sorted by their begin, in classes of length.
// Without the classes, one instruction that uses the whole allocation would make every search look at its thousand
// small parts, too.
class UsesByBytes {
public:
  void add(uint64_t begin, uint64_t end, size_t run) { classes_[classOf(end - begin)].emplace(begin, Entry{end, run}); }
  // Returns the last run of a use that shares a byte with [begin, end), or `run` if that is later.
  size_t lastRun(uint64_t begin, uint64_t end, size_t run) const {
    for (const auto &[length, uses] : classes_)
      for (auto at = firstNear(uses, begin, length); at != uses.end() && at->first < end; ++at)
        if (begin < at->second.end)
          run = std::max(run, at->second.run);
    return run;
  }
  // Drops uses within these bytes that are in no later run: an instruction that conflicts with one of them also
  // conflicts with the use that covers all of them.
  void drop(uint64_t begin, uint64_t end, size_t run) {
    for (auto &[length, uses] : classes_)
      for (auto at = uses.lower_bound(begin); at != uses.end() && at->first < end;)
        at = at->second.end <= end && at->second.run <= run ? uses.erase(at) : std::next(at);
  }

private:
  struct Entry {
    uint64_t end;
    size_t run;
  };
  using Uses = std::multimap<uint64_t, Entry>;

  // Returns the exponent of the smallest power of two that is not smaller than `length`.
  static unsigned classOf(uint64_t length) {
    unsigned exponent = 0;
    while (exponent < 63 && (uint64_t(1) << exponent) < length)
      ++exponent;
    return exponent;
  }
  static Uses::const_iterator firstNear(const Uses &uses, uint64_t begin, unsigned length) {
    uint64_t longest = uint64_t(1) << length;
    return uses.lower_bound(begin > longest ? begin - longest : 0);
  }

  std::map<unsigned, Uses> classes_;
};

// The uses of an allocation so far. Reads do not conflict with reads, nor scratch with scratch.
class AllocationUsers {
public:
  size_t lastConflict(const MemoryAccess &use, size_t run) const {
    for (bool scratch : {false, true})
      for (bool writes : {false, true})
        if ((writes || use.writes) && !(scratch && use.scratch))
          run = uses_[scratch][writes].lastRun(use.offset, use.end(), run);
    return run;
  }
  void add(const MemoryAccess &use, size_t run) {
    auto &uses = uses_[use.scratch];
    uses[false].drop(use.offset, use.end(), run);
    if (use.writes)
      uses[true].drop(use.offset, use.end(), run);
    uses[use.writes].add(use.offset, use.end(), run);
  }

private:
  UsesByBytes uses_[2][2]; // [scratch][writes]
};

// The order is a sequence of runs. A run is an instruction that is not early, followed by early ones. An early
// instruction is added at the end of the run of the last instruction that it must follow. Its allocations and `after`
// tell which run that is. Walking up to that instruction would take quadratic time if all instructions are early, as in
// a plan of many units and offloaded states.
class Hoisting {
public:
  explicit Hoisting(std::vector<DraftInstruction> &instructions) : instructions_(instructions) {}

  void run() {
    for (size_t i = 0; i < instructions_.size(); ++i) {
      if (!instructions_[i].early)
        runs_.emplace_back();
      add(i, instructions_[i].early && instructions_[i].kind != InstructionKind::Barrier ? runFor(instructions_[i])
                                                                                         : runs_.size() - 1);
    }
    std::vector<DraftInstruction> ordered;
    ordered.reserve(instructions_.size());
    for (const std::vector<size_t> &run : runs_)
      for (size_t i : run)
        ordered.push_back(std::move(instructions_[i]));
    instructions_ = std::move(ordered);
  }

private:
  size_t runFor(const DraftInstruction &instruction) const {
    size_t run = lastBarrier_;
    for (const MemoryAccess &use : instruction.uses)
      if (auto users = usersOf_.find(use.allocation); users != usersOf_.end())
        run = users->second.lastConflict(use, run);
    for (size_t payload : instruction.after)
      if (auto found = runOf_.find(payload); found != runOf_.end())
        run = std::max(run, found->second);
    return run;
  }

  void add(size_t i, size_t run) {
    runs_[run].push_back(i);
    runOf_[instructions_[i].payload] = run;
    if (instructions_[i].kind == InstructionKind::Barrier)
      lastBarrier_ = run;
    for (const MemoryAccess &use : instructions_[i].uses)
      usersOf_[use.allocation].add(use, run);
  }

  std::vector<DraftInstruction> &instructions_;
  std::vector<std::vector<size_t>> runs_ =
      std::vector<std::vector<size_t>>(1); // the first run has only early instructions
  std::unordered_map<unsigned, AllocationUsers> usersOf_;
  std::unordered_map<size_t, size_t> runOf_; // by payload
  size_t lastBarrier_ = 0;
};

} // namespace

void hoistEarly(std::vector<DraftInstruction> &instructions) { Hoisting(instructions).run(); }

namespace {

// Decides which instructions must wait for which. Positions are those of the draft before events are added.
class Synchronizer {
public:
  Synchronizer(const std::vector<DraftInstruction> &instructions, unsigned streams)
      : instructions_(instructions), known_(streams, Clock(streams, 0)), clockAt_(instructions.size()),
        ordinal_(streams, 0), waits_(instructions.size() + 1) {}

  unsigned run();
  std::vector<DraftInstruction> takeInstructions();

private:
  using Clock = std::vector<uint64_t>; // [stream] -> how many of its instructions are known to be done

  // Makes `stream` wait, at position `at`, for instruction `earlier` (-1: the program's start), unless it is already
  // known to be done.
  void waitFor(unsigned stream, size_t at, int64_t earlier);
  void waitForConflicts(size_t at);
  void advance(size_t at);

  std::vector<size_t> mayConflict(size_t at) const;

  const std::vector<DraftInstruction> &instructions_;
  std::map<size_t, size_t> positionOf_; // by payload
  // The instructions that have used an allocation so far, by stream, ascending. Only these can conflict, and barriers,
  // which conflict with all.
  std::map<unsigned, std::vector<std::vector<size_t>>> usersOf_;
  std::vector<size_t> barriers_;
  std::vector<Clock> known_;   // of each stream, at present
  std::vector<Clock> clockAt_; // directly after each instruction
  std::vector<uint64_t> ordinal_;
  std::map<int64_t, unsigned> recordOf_; // instruction -> event that is recorded after it
  struct Wait {
    unsigned stream, event;
  };
  std::vector<std::vector<Wait>> waits_; // before each instruction; the last entry is for the program's end
};

void Synchronizer::waitFor(unsigned stream, size_t at, int64_t earlier) {
  unsigned other = earlier < 0 ? kComputeStream : instructions_[earlier].stream;
  const Clock *clock = earlier < 0 ? nullptr : &clockAt_[earlier];
  if (other == stream || (clock && known_[stream][other] >= (*clock)[other]))
    return;
  auto [record, isNew] = recordOf_.try_emplace(earlier, static_cast<unsigned>(recordOf_.size()));
  waits_[at].push_back({stream, record->second});
  for (size_t s = 0; clock && s < known_.size(); ++s)
    known_[stream][s] = std::max(known_[stream][s], (*clock)[s]);
}

// Returns earlier instructions that may conflict, latest first.
std::vector<size_t> Synchronizer::mayConflict(size_t at) const {
  const DraftInstruction &instruction = instructions_[at];
  std::vector<size_t> found = barriers_;
  if (instruction.kind == InstructionKind::Barrier) {
    found.resize(at);
    std::iota(found.begin(), found.end(), size_t{0});
  }
  for (const MemoryAccess &use : instruction.uses)
    if (auto users = usersOf_.find(use.allocation); users != usersOf_.end())
      for (unsigned stream = 0; stream < users->second.size(); ++stream)
        if (stream != instruction.stream)
          found.insert(found.end(), users->second[stream].begin(), users->second[stream].end());
  std::sort(found.begin(), found.end(), std::greater<>());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// Goes through them latest first: the clock of a stream's later instruction makes waits for earlier ones unnecessary.
void Synchronizer::waitForConflicts(size_t at) {
  for (size_t earlier : mayConflict(at))
    if (instructions_[earlier].stream != instructions_[at].stream &&
        conflict(instructions_[earlier], instructions_[at], /*countScratch=*/true))
      waitFor(instructions_[at].stream, at, static_cast<int64_t>(earlier));
  std::set<size_t, std::greater<>> named;
  for (size_t payload : instructions_[at].after)
    if (auto earlier = positionOf_.find(payload); earlier != positionOf_.end())
      named.insert(earlier->second);
  for (size_t earlier : named)
    waitFor(instructions_[at].stream, at, static_cast<int64_t>(earlier));
}

void Synchronizer::advance(size_t at) {
  unsigned stream = instructions_[at].stream;
  known_[stream][stream] = ++ordinal_[stream];
  clockAt_[at] = known_[stream];
  positionOf_[instructions_[at].payload] = at;
  if (instructions_[at].kind == InstructionKind::Barrier)
    barriers_.push_back(at);
  for (const MemoryAccess &use : instructions_[at].uses) {
    auto &users = usersOf_.try_emplace(use.allocation, known_.size()).first->second[stream];
    if (users.empty() || users.back() != at)
      users.push_back(at);
  }
}

unsigned Synchronizer::run() {
  for (size_t at = 0; at < instructions_.size(); ++at) {
    unsigned stream = instructions_[at].stream;
    waitForConflicts(at);
    // A stream's first instruction waits for the program's start, unless another wait ties it to that already.
    if (ordinal_[stream] == 0 && stream != kComputeStream && waits_[at].empty())
      waitFor(stream, at, -1);
    advance(at);
  }
  std::vector<char> joined(known_.size(), 0);
  for (size_t at = instructions_.size(); at-- > 0;)
    if (!std::exchange(joined[instructions_[at].stream], 1))
      waitFor(kComputeStream, instructions_.size(), static_cast<int64_t>(at));
  return static_cast<unsigned>(recordOf_.size());
}

std::vector<DraftInstruction> Synchronizer::takeInstructions() {
  std::vector<DraftInstruction> result;
  auto addEvent = [&](InstructionKind kind, unsigned stream, unsigned event) {
    DraftInstruction instruction;
    instruction.kind = kind;
    instruction.stream = stream;
    instruction.event = event;
    result.push_back(std::move(instruction));
  };
  if (auto start = recordOf_.find(-1); start != recordOf_.end())
    addEvent(InstructionKind::Record, kComputeStream, start->second);
  for (size_t at = 0; at <= instructions_.size(); ++at) {
    for (const Wait &wait : waits_[at])
      addEvent(InstructionKind::Wait, wait.stream, wait.event);
    if (at == instructions_.size())
      break;
    result.push_back(instructions_[at]);
    if (auto record = recordOf_.find(static_cast<int64_t>(at)); record != recordOf_.end())
      addEvent(InstructionKind::Record, instructions_[at].stream, record->second);
  }
  return result;
}

} // namespace

unsigned synchronize(std::vector<DraftInstruction> &instructions, unsigned streams) {
  Synchronizer synchronizer(instructions, streams);
  unsigned events = synchronizer.run();
  instructions = synchronizer.takeInstructions();
  return events;
}

} // namespace cleave::plan
