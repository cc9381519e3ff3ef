#include "compiler/Planning/Draft/Prefetch.h"

#include "compiler/Planning/Draft/StreamOrder.h"

#include <algorithm>
#include <map>

namespace cleave::plan {

namespace {

// One prefetched gather, or copies that are issued together. Positions count the instructions that remain without the
// gathers: position p is directly before instruction p.
struct Fetch {
  std::vector<DraftInstruction> instructions; // the first use of each is the bytes that it fills
  bool backward = false;
  size_t earliest = 0; // after the instructions that it must follow
  size_t first = 0;    // the first instruction that must come after it
  size_t last = 0;     // the last one that uses the gathered bytes
  size_t issue = 0;
  bool resident = false;

  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const DraftInstruction &instruction : instructions)
      sum += instruction.uses.front().bytes;
    return sum;
  }
};

class Prefetcher {
public:
  // Handles only copies if `copies`, and only other gathers if not.
  Prefetcher(std::vector<DraftInstruction> &instructions, const std::vector<Gather> &gathers,
             const PrefetchOptions &options, bool copies)
      : instructions_(instructions), gathers_(gathers), options_(options), copies_(copies), fetches_(gathers.size()) {
    for (size_t i = 0; i < gathers.size(); ++i)
      fetches_[i].backward = gathers[i].backward;
  }

  void run() {
    takeOut();
    std::stable_sort(fetches_.begin(), fetches_.end(),
                     [](const Fetch &a, const Fetch &b) { return a.first < b.first; });
    if (copies_)
      joinFetches();
    for (size_t k = 0; k + bound() < fetches_.size(); ++k)
      fetches_[k].resident = fetches_[k].last >= fetches_[k + bound()].first;
    choosePositions();
    putBack();
  }

private:
  size_t bound() const { return std::max(1u, options_.inFlight); }

  bool isTaken(const DraftInstruction &instruction) const {
    if (!instruction.gather)
      return false;
    const Gather &gather = gathers_[*instruction.gather];
    return gather.isPrefetched() && gather.isCopy == copies_;
  }
  void takeOut();
  std::vector<size_t> mayMeet(const Fetch &fetch) const;
  void findUses(Fetch &fetch, size_t position);
  void joinFetches();
  size_t wanted(size_t k) const;
  size_t computeBefore(size_t position) const;
  void choosePositions();
  void waitForEnd(Fetch &fetch, const Fetch &done);
  void putBack();

  std::vector<DraftInstruction> &instructions_;
  const std::vector<Gather> &gathers_;
  const PrefetchOptions &options_;
  bool copies_;
  std::vector<Fetch> fetches_;
  // Without this index, every gather would be compared with every instruction.
  std::map<unsigned, std::vector<size_t>> usersOf_; // allocation -> instructions
  std::vector<size_t> barriers_;
};

void Prefetcher::takeOut() {
  std::vector<DraftInstruction> rest;
  std::vector<size_t> position(fetches_.size(), 0); // the original position of each
  for (DraftInstruction &instruction : instructions_) {
    if (!isTaken(instruction)) {
      rest.push_back(std::move(instruction));
      continue;
    }
    std::vector<DraftInstruction> &instructions = fetches_[*instruction.gather].instructions;
    // A gather is at the position of its first instruction, because its part may be made long before it is gathered,
    // and the state may change in between. Copies are at the position of the last one, because each of them has been
    // moved up to directly after the instructions that it waits for.
    if (copies_ || instructions.empty())
      position[*instruction.gather] = rest.size();
    instructions.push_back(std::move(instruction));
  }
  instructions_ = std::move(rest);
  for (size_t at = 0; at < instructions_.size(); ++at) {
    if (instructions_[at].kind == InstructionKind::Barrier)
      barriers_.push_back(at);
    for (const MemoryAccess &use : instructions_[at].uses)
      usersOf_[use.allocation].push_back(at);
  }
  for (size_t i = 0; i < fetches_.size(); ++i)
    if (!fetches_[i].instructions.empty())
      findUses(fetches_[i], position[i]);
  fetches_.erase(
      std::remove_if(fetches_.begin(), fetches_.end(), [](const Fetch &fetch) { return fetch.instructions.empty(); }),
      fetches_.end());
}

// Returns the positions of instructions that may conflict with one of the fetch's instructions, in ascending order.
std::vector<size_t> Prefetcher::mayMeet(const Fetch &fetch) const {
  std::vector<size_t> found = barriers_;
  for (const DraftInstruction &instruction : fetch.instructions)
    for (const MemoryAccess &use : instruction.uses)
      if (auto users = usersOf_.find(use.allocation); users != usersOf_.end())
        found.insert(found.end(), users->second.begin(), users->second.end());
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void Prefetcher::findUses(Fetch &fetch, size_t position) {
  auto meets = [&](size_t at) {
    return std::any_of(fetch.instructions.begin(), fetch.instructions.end(), [&](const DraftInstruction &instruction) {
      return conflict(instructions_[at], instruction, /*countScratch=*/false);
    });
  };
  DraftInstruction filling;
  for (const DraftInstruction &instruction : fetch.instructions)
    if (copies_ || &instruction == &fetch.instructions.back()) // the others make the part that is gathered
      filling.uses.push_back(instruction.uses.front());
  fetch.earliest = 0;
  fetch.first = fetch.last = position;
  bool found = false;
  for (size_t at : mayMeet(fetch)) {
    if (!meets(at))
      continue;
    if (at < position) {
      fetch.earliest = at + 1;
      continue;
    }
    fetch.first = found ? fetch.first : at;
    found = true;
    // An instruction that changes only the source of the fetch must come after it, but does not use the gathered bytes.
    fetch.last = conflict(instructions_[at], filling, false) ? at : std::max(fetch.last, fetch.first);
  }
}

// Joins neighbouring fetches while together they are not larger than the largest one. Fetches are in the order of their
// first uses.
void Prefetcher::joinFetches() {
  uint64_t largest = 0;
  for (const Fetch &fetch : fetches_)
    largest = std::max(largest, fetch.bytes());
  std::vector<Fetch> joined;
  for (Fetch &fetch : fetches_) {
    Fetch *before = joined.empty() ? nullptr : &joined.back();
    if (!before || before->backward != fetch.backward || fetch.earliest > before->first ||
        before->bytes() + fetch.bytes() > largest) {
      joined.push_back(std::move(fetch));
      continue;
    }
    before->earliest = std::max(before->earliest, fetch.earliest);
    before->last = std::max(before->last, fetch.last);
    for (DraftInstruction &instruction : fetch.instructions)
      before->instructions.push_back(std::move(instruction));
  }
  fetches_ = std::move(joined);
}

// Returns the position of the last compute instruction before `position`. The first copies are issued there, so that
// they run at the same time as that one instruction, and no longer: they may be for the update at the program's end.
size_t Prefetcher::computeBefore(size_t position) const {
  while (position > 0 && instructions_[--position].stream != kComputeStream)
    ;
  return position;
}

// Returns the position that the options ask for, without the bound.
size_t Prefetcher::wanted(size_t k) const {
  const Fetch &fetch = fetches_[k];
  size_t ahead = bound() - 1;
  bool none = fetch.backward ? options_.backward == BackwardPrefetch::None : !options_.forward;
  if (none || ahead == 0)
    return fetch.first;
  if (k < ahead)
    return copies_ ? computeBefore(fetch.first) : fetch.earliest;
  const Fetch &before = fetches_[k - ahead];
  return fetch.backward && options_.backward == BackwardPrefetch::Post ? before.last + 1 : before.first;
}

void Prefetcher::waitForEnd(Fetch &fetch, const Fetch &done) {
  fetch.issue = std::max(fetch.issue, done.last + 1);
  if (done.last < instructions_.size())
    fetch.instructions.front().after.push_back(instructions_[done.last].payload);
}

// The bound can always be met: a fetch that is not resident has its last use before the first use of the N-th fetch
// after it.
void Prefetcher::choosePositions() {
  std::vector<const Fetch *> counted;
  size_t previous = 0;
  for (size_t k = 0; k < fetches_.size(); ++k) {
    Fetch &fetch = fetches_[k];
    fetch.issue = std::max({std::min(wanted(k), fetch.first), fetch.earliest, previous});
    if (!fetch.resident) {
      if (counted.size() >= bound())
        waitForEnd(fetch, *counted[counted.size() - bound()]);
      counted.push_back(&fetch);
    }
    previous = fetch.issue;
  }
}

void Prefetcher::putBack() {
  std::vector<DraftInstruction> result;
  std::optional<size_t> lastCompute;
  size_t k = 0;
  for (size_t at = 0; at <= instructions_.size(); ++at) {
    for (; k < fetches_.size() && fetches_[k].issue == at; ++k)
      for (DraftInstruction &instruction : fetches_[k].instructions) {
        if (lastCompute)
          instruction.after.push_back(*lastCompute);
        result.push_back(std::move(instruction));
      }
    if (at == instructions_.size())
      break;
    if (instructions_[at].stream == kComputeStream)
      lastCompute = instructions_[at].payload;
    result.push_back(std::move(instructions_[at]));
  }
  instructions_ = std::move(result);
}

} // namespace

void prefetchGathers(std::vector<DraftInstruction> &instructions, const std::vector<Gather> &gathers,
                     const PrefetchOptions &options) {
  for (bool copies : {false, true})
    if (std::any_of(gathers.begin(), gathers.end(), [&](const Gather &gather) { return gather.isCopy == copies; }))
      Prefetcher(instructions, gathers, options, copies).run();
}

void boundCopiesOut(std::vector<DraftInstruction> &instructions, unsigned inFlight) {
  std::vector<size_t> issued; // payloads
  for (DraftInstruction &instruction : instructions) {
    if (instruction.purpose == Purpose::CopyOut)
      issued.push_back(instruction.payload);
    else if (instruction.stream == kComputeStream && issued.size() > inFlight)
      instruction.after.push_back(issued[issued.size() - inFlight - 1]);
  }
}

void boundReductions(std::vector<DraftInstruction> &instructions, const std::vector<char> &bounded, unsigned inFlight) {
  struct Buffer {
    std::optional<size_t> begin; // the first instruction that fills it
    size_t end = 0;
    bool reduced = false;
  };
  std::vector<Buffer> buffers(bounded.size());
  for (size_t at = 0; at < instructions.size(); ++at)
    for (const MemoryAccess &use : instructions[at].uses)
      if (bounded[use.allocation]) {
        buffers[use.allocation].begin = buffers[use.allocation].begin.value_or(at);
        buffers[use.allocation].end = at;
        buffers[use.allocation].reduced |= instructions[at].stream == kReduceStream;
      }
  std::vector<Buffer> inOrder;
  for (const Buffer &buffer : buffers)
    if (buffer.reduced && instructions[*buffer.begin].stream == kComputeStream &&
        instructions[buffer.end].stream != kComputeStream)
      inOrder.push_back(buffer);
  std::sort(inOrder.begin(), inOrder.end(), [](const Buffer &a, const Buffer &b) { return *a.begin < *b.begin; });
  for (size_t i = inFlight; i < inOrder.size(); ++i)
    if (inOrder[i - inFlight].end < *inOrder[i].begin)
      instructions[*inOrder[i].begin].after.push_back(instructions[inOrder[i - inFlight].end].payload);
}

} // namespace cleave::plan
