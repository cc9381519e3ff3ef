#include "compiler/Planning/Build/OffloadSavings.h"
#include "compiler/Planning/Build/ModulePlan.h"

#include <algorithm>
#include <map>
#include <set>

namespace cleave::plan {

namespace {

// A value that is stored in host memory.
struct StoredValue {
  Span kept;                  // from the store to the last use of the last copy
  bool isOverwritten = false; // the device writes these bytes again later
};

// The values that a program stores, and their copies that come back.
struct Traffic {
  std::map<unsigned, StoredValue> values;          // by the host's allocation
  std::map<unsigned, std::vector<unsigned>> hosts; // allocation of the device -> those of the host that store it
  std::set<unsigned> copies;                       // allocations of the device
  bool hasFrames = false;                          // host memory has a frame for each micro-batch
};

// Results of reductions do not count: they are gradients, not values that the backward pass reads. `ofHost` contains no
// states.
Traffic findTraffic(const ProgramDraft &draft, const std::vector<std::optional<Span>> &spans,
                    const std::vector<unsigned> &ofHost) {
  Traffic traffic;
  std::set<unsigned> hostMemory(ofHost.begin(), ofHost.end()), reduced;
  for (size_t at = 0; at < draft.instructions.size(); ++at) {
    const DraftInstruction &instruction = draft.instructions[at];
    for (const MemoryAccess &touched : instruction.uses) {
      if (!touched.writes)
        continue;
      if (instruction.purpose == Purpose::Reduce)
        reduced.insert(touched.allocation);
      if (auto stored = traffic.hosts.find(touched.allocation); stored != traffic.hosts.end())
        for (unsigned host : stored->second)
          traffic.values[host].isOverwritten = true;
    }
    if (instruction.purpose != Purpose::CopyIn && instruction.purpose != Purpose::CopyOut)
      continue;
    unsigned target = instruction.uses.front().allocation, source = instruction.uses.back().allocation;
    traffic.hasFrames |= draft.allocations[target].isHost && draft.allocations[target].frames != 0;
    if (instruction.purpose == Purpose::CopyOut && hostMemory.count(target) && !reduced.count(source)) {
      traffic.values[target].kept = {at, at};
      traffic.hosts[source].push_back(target);
    }
    if (auto value = traffic.values.find(source); value != traffic.values.end() && spans[target]) {
      value->second.kept.last = std::max(value->second.kept.last, spans[target]->last);
      traffic.copies.insert(target);
    }
  }
  return traffic;
}

} // namespace

void OffloadSavings::add(const ProgramDraft &draft, const std::vector<std::optional<Span>> &spans,
                         const std::vector<unsigned> &ofDevice, const std::vector<unsigned> &ofHost, uint64_t needed) {
  this->needed = std::max(this->needed, needed);
  Traffic traffic = findTraffic(draft, spans, ofHost);
  hasFrames |= traffic.hasFrames;
  if (traffic.values.empty()) {
    neededIfKept = std::max(neededIfKept, needed);
    return;
  }
  // A value stays in its own bytes, unless they are written again.
  std::vector<AllocationRequest> requests;
  for (unsigned allocation : ofDevice) {
    Span span = *spans[allocation];
    for (unsigned host : traffic.hosts[allocation])
      if (const StoredValue &value = traffic.values[host]; !value.isOverwritten && value.kept.last > span.last)
        span = {span.first, value.kept.last};
    if (!traffic.copies.count(allocation))
      requests.push_back({draft.allocations[allocation].bytes, kBufferAlignment, span});
  }
  for (const auto &[host, value] : traffic.values) {
    stored += draft.allocations[host].bytes;
    if (value.isOverwritten)
      requests.push_back({draft.allocations[host].bytes, kBufferAlignment, value.kept});
  }
  neededIfKept = std::max(neededIfKept, allocate(requests).peak);
}

} // namespace cleave::plan
