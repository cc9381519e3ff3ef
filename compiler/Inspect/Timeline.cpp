#include "compiler/Inspect/Timeline.h"

#include "compiler/Inspect/Human.h"
#include "compiler/Inspect/MemoryUse.h"
#include "compiler/Inspect/Summary.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/RankKinds.h"

#include <algorithm>
#include <numeric>

namespace cleave::view {

using namespace rt;

// Returns the bytes of regions beyond those in use at the peak: "workspace 112.0 KiB, transient 6.6 KiB" as a text.
static BytesByKind beyondPeak(const MemoryUse &use) {
  BytesByKind rest{};
  for (size_t kind = 0; kind < rest.size(); ++kind)
    rest[kind] = use.planned[kind] - std::min(use.planned[kind], use.peaks[use.peakSlice][kind]);
  return rest;
}

static std::string kindsText(const BytesByKind &bytes) {
  std::vector<std::string> parts;
  for (fb::RegionKind kind : fb::EnumValuesRegionKind())
    if (uint64_t number = bytes[static_cast<size_t>(kind)])
      parts.push_back(fb::EnumNameRegionKind(kind) + std::string(" ") + bytesText(number));
  return join(parts, ", ");
}

// Returns "forward pass 288.2 KiB, backward pass 254.8 KiB, update 30.2 KiB", or "" if the bodies of chunks are the
// passes.
static std::string passesText(const MemoryUse &use) {
  if (use.mostInPass[static_cast<size_t>(Pass::Unknown)] != 0)
    return "";
  std::vector<std::string> parts;
  for (Pass pass : {Pass::Forward, Pass::Backward, Pass::Update})
    if (uint64_t bytes = use.mostInPass[static_cast<size_t>(pass)])
      parts.push_back(wordsFor(pass) + std::string(" ") + bytesText(bytes));
  return join(parts, ", ");
}

// Lists the values in memory at the peak, without the state, the largest first.
static std::string valuesText(const fb::Plan &kind, const MemoryUse &use) {
  constexpr size_t kMost = 16;
  std::vector<LiveValue> alive = use.aliveAt(use.peakInstructions[use.peakSlice]);
  std::string text =
      "  values in memory at the peak, largest first (size, kind, where it is made, node or tensor of the model)\n";
  std::vector<std::string> passes;
  size_t width = 28;
  for (size_t i = 0; i < std::min(kMost, alive.size()); ++i) {
    passes.push_back(passText(kind, use, use.bodies[alive[i].body], alive[i].born));
    width = std::max(width, passes.back().size() + 2);
  }
  for (size_t i = 0; i < passes.size(); ++i)
    text += padLeft(bytesText(alive[i].bytes), 12) + "  " +
            padRight(alive[i].use == ValueUse::Value ? fb::EnumNameRegionKind(alive[i].region) : wordsFor(alive[i].use),
                     29) +
            padRight(passes[i], width) + shortName(nameOf(kind, alive[i]), 60) + "\n";
  if (alive.size() <= kMost)
    return text;
  uint64_t rest = 0;
  for (size_t i = kMost; i < alive.size(); ++i)
    rest += alive[i].bytes;
  return text + padLeft(bytesText(rest), 12) + "  in " + countText(alive.size() - kMost) + " more\n";
}

// Draws a bar for each slice of the run, with the program that runs at its fullest instruction.
static std::string barsText(const fb::Plan &kind, const MemoryUse &use) {
  constexpr double kWidth = 44;
  uint64_t most = std::max<uint64_t>(use.totalAt(use.peakSlice), 1);
  std::string text = "  in use over the run, in slices of " +
                     countOf((use.instructions + use.peaks.size() - 1) / use.peaks.size(), "instruction") +
                     ", each at its fullest\n";
  for (size_t slice = 0; slice < use.peaks.size(); ++slice) {
    uint64_t total = use.totalAt(slice);
    auto length = static_cast<size_t>(static_cast<double>(total) / static_cast<double>(most) * kWidth + 0.5);
    const BodyRun *body = use.bodyAt(use.peakInstructions[slice]);
    text += padLeft(bytesText(total), 12) + " " +
            padRight(std::string(length, '#') + (slice == use.peakSlice ? "  peak" : ""), 52) +
            (body ? passText(kind, use, *body, use.peakInstructions[slice]) : "") + "\n";
  }
  return text;
}

static std::string kindText(const fb::Plan &kind, uint32_t entry) {
  constexpr size_t kSlices = 24;
  MemoryUse use = memoryUse(kind, entry, kSlices);
  std::string name(textOf(kind.kind())), text = "\n";
  if (use.instructions == 0)
    return "";
  size_t instruction = use.peakInstructions[use.peakSlice];
  const BodyRun *body = use.bodyAt(instruction);
  uint64_t planned = std::accumulate(use.planned.begin(), use.planned.end(), uint64_t{0});
  text += "PEAK" + (name.empty() ? "" : " ON " + shortName(name, 20)) + ": " + bytesText(use.totalAt(use.peakSlice)) +
          " in use of " + bytesText(planned) + " planned, at instruction " + countText(instruction + 1) + " of " +
          countText(use.allInstructions) + (body ? ", in " + passText(kind, use, *body, instruction) : "") + "\n";
  text += "  " + kindsText(use.peaks[use.peakSlice]) + "\n";
  if (std::string rest = kindsText(beyondPeak(use)); !rest.empty())
    text += "  planned, but not in use at the peak: " + rest + "\n";
  if (std::string passes = passesText(use); !passes.empty())
    text += "  most in use in each pass: " + passes + "\n";
  if (!use.isWhole())
    text += "  only the first " + countText(use.instructions) + " instructions were looked at\n";
  return text + valuesText(kind, use) + barsText(kind, use);
}

std::string timelineText(const fb::Plan &plan) {
  std::string text = headline(plan);
  for (const fb::Plan *kind : kindsOf(plan))
    if (auto entry = plan::mainProgram(*kind))
      text += kindText(*kind, *entry);
  if (std::string bodies = explainBodies(plan); !bodies.empty())
    text += "\n" + bodies + "\n";
  return text + "\nA value is in use from the instruction that makes it to the last one that reads it. State is always "
                "in use.\nThe plan is larger than the peak: regions reach their own peaks at different times or in "
                "different programs, and\nvalues of different sizes leave gaps in a region.\n";
}

} // namespace cleave::view
