#include "compiler/Simulator/TrafficTimes.h"

#include "compiler/Simulator/Walk.h"

#include <algorithm>
#include <map>

namespace cleave::plan {

using namespace rt;

TrafficTimes::TrafficTimes(const fb::Plan &kind, const Measurements &measured) {
  auto entry = mainProgram(kind);
  if (!entry || instructionsOf(kind, *entry) > kMostInstructions)
    return;
  Addresses addresses(kind);
  // For the bytes that begin at an address: the traffic before they were last touched. A range that overlaps another
  // one, but begins elsewhere, is treated as different bytes.
  std::map<std::pair<unsigned, uint64_t>, double> touched;
  double clock = 0;
  auto visit = [&](const WalkedInstruction &step, const InstructionView &view, bool isSecond) {
    bool touchesMemory = view.opcode() == Opcode::Launch || view.opcode() == Opcode::Copy || view.opcode() == Opcode::Fill;
    if (!touchesMemory || view.bufferCount() == 0)
      return;
    // Bytes that an instruction reads and writes in place are counted once.
    std::map<std::pair<unsigned, uint64_t>, double> places;
    for (size_t i = 0; i < view.bufferCount(); ++i) {
      Addresses::Range range = addresses.of(view.buffer(i), step.frames);
      double &bytes = places[{range.region, range.begin}];
      bytes = std::max(bytes, static_cast<double>(range.end - range.begin));
    }
    double seconds = 0, moved = 0;
    for (const auto &[place, bytes] : places) {
      if (kind.regions()->Get(static_cast<uint32_t>(place.first))->kind() == fb::RegionKind::workspace)
        continue;
      auto [last, isNew] = touched.try_emplace(place, clock);
      seconds += bytes / measured.trafficRate(std::max(clock - last->second, bytes));
      moved += bytes;
      last->second = clock;
    }
    clock += moved;
    if (!isSecond)
      return;
    Sum &sum = sums_[&view.buffer(0)];
    sum.seconds += seconds;
    ++sum.runs;
  };
  for (bool isSecond : {false, true})
    walk(kind, *entry,
         [&](const WalkedInstruction &step, const InstructionView &view) { visit(step, view, isSecond); });
}

std::optional<double> TrafficTimes::seconds(const InstructionView &instruction) const {
  if (instruction.bufferCount() == 0)
    return std::nullopt;
  auto found = sums_.find(&instruction.buffer(0));
  if (found == sums_.end() || found->second.runs == 0)
    return std::nullopt;
  return found->second.seconds / static_cast<double>(found->second.runs);
}

} // namespace cleave::plan
