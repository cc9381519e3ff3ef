#include "compiler/Planning/Verify/PlanVerifier.h"

#include "compiler/Planning/Verify/Order/Execution.h"
#include "compiler/Planning/Verify/Rules/HostBytes.h"
#include "compiler/Planning/Verify/Rules/MicroBatchCoverage.h"
#include "compiler/Planning/Verify/Rules/PackedBytes.h"
#include "compiler/Planning/Verify/Rules/StatedNeeds.h"
#include "compiler/Planning/Verify/Values/MeaningChecks.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/RankKinds.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace cleave::plan {

using namespace rt;

// Named byte ranges of one region that must not overlap.
namespace {
struct NamedRange {
  std::string name;
  unsigned region;
  uint64_t begin, end;
};
} // namespace

static void findOverlaps(std::vector<NamedRange> ranges, const char *rule, std::vector<Finding> *findings) {
  std::sort(ranges.begin(), ranges.end(), [](const NamedRange &a, const NamedRange &b) {
    return std::tie(a.region, a.begin, a.end) < std::tie(b.region, b.begin, b.end);
  });
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].region == ranges[i - 1].region && ranges[i].begin < ranges[i - 1].end)
      findings->push_back({rule, ranges[i - 1].name + " and " + ranges[i].name + " share bytes"});
}

static void checkStateRanges(const fb::Plan &plan, std::vector<Finding> *findings) {
  std::vector<NamedRange> ranges;
  for (size_t i = 0; i < lengthOf(plan.states()); ++i) {
    const fb::State &state = *plan.states()->Get(i);
    ranges.push_back({"state '" + state.name()->str() + "'", state.region(), state.offset(),
                      state.offset() + stateShardBytes(plan, state)});
  }
  findOverlaps(std::move(ranges), "state", findings);
}

// Adds the ports of a program that lie in this kind's memory, and finds those in host memory.
static void addPorts(const fb::Plan &plan, const fb::Program &program, bool areOutputs, std::vector<NamedRange> *ranges,
                     std::vector<Finding> *findings) {
  const auto *ports = areOutputs ? program.outputs() : program.inputs();
  for (size_t i = 0; i < lengthOf(ports); ++i) {
    const fb::Port &port = *ports->Get(i);
    if (port.absent())
      continue;
    std::string what = (areOutputs ? "output '" : "input '") + port.name()->str() + "' of " + program.name()->str();
    if (plan.regions()->Get(port.region())->space() == fb::Space::host)
      findings->push_back({"space", what + " lies in host memory, where no kernel finds it"});
    ranges->push_back({std::move(what), port.region(), port.offset(), port.offset() + portBytes(port)});
  }
}

// The ports of one program do not overlap, nor do the outputs of all: the host may take an output after another program
// has run.
static void checkPortRanges(const fb::Plan &plan, std::vector<Finding> *findings) {
  std::vector<NamedRange> outputs;
  for (uint32_t i = 0; i < lengthOf(plan.programs()); ++i) {
    const fb::Program &program = *plan.programs()->Get(i);
    if (!program.entry())
      continue;
    size_t before = outputs.size();
    addPorts(plan, program, /*areOutputs=*/true, &outputs, findings);
    std::vector<NamedRange> own(outputs.begin() + static_cast<std::ptrdiff_t>(before), outputs.end());
    addPorts(plan, program, /*areOutputs=*/false, &own, findings);
    findOverlaps(std::move(own), "port", findings);
  }
  findOverlaps(std::move(outputs), "port", findings);
}

// Runs one entry, and checks what must hold after it.
static std::vector<Finding> runEntry(const fb::Plan &plan, const std::vector<const fb::Plan *> &kinds, uint32_t entry,
                                     const Received &received, const ShortStep &shortStep) {
  std::vector<Finding> findings;
  const fb::Program &program = *plan.programs()->Get(entry);
  Execution execution(plan, kinds, received, shortStep, &findings);
  execution.run(entry);
  execution.expectReplicasEqual();
  execution.expectStatesKept();
  for (size_t output = 0; output < lengthOf(program.outputs()); ++output) {
    const fb::Port &port = *program.outputs()->Get(output);
    if (port.absent())
      continue;
    execution.expectWritten(port.region(), port.offset(), port.offset() + portBytes(port),
                            "output '" + port.name()->str() + "' of " + program.name()->str());
  }
  return findings;
}

static void verifyKind(const fb::Plan &plan, const std::vector<const fb::Plan *> &kinds,
                       const std::map<uint32_t, Received> &received, Steps steps, std::vector<Finding> *findings) {
  checkStateRanges(plan, findings);
  checkPackedBytes(plan, findings);
  checkPortRanges(plan, findings);
  for (uint32_t i = 0; i < lengthOf(plan.programs()); ++i) {
    const fb::Program &program = *plan.programs()->Get(i);
    if (!program.entry())
      continue;
    checkHostBytes(plan, i, findings);
    auto ofProgram = received.find(i);
    const Received none;
    auto run = [&](const ShortStep &shortStep) {
      return runEntry(plan, kinds, i, ofProgram == received.end() ? none : ofProgram->second, shortStep);
    };
    std::vector<Finding> found = findShortFirst(ShortStep::of(plan, textOf(program.name()), steps), run);
    findings->insert(findings->end(), found.begin(), found.end());
  }
}

std::vector<Finding> verifyPlan(const fb::Plan &plan, Check check, Steps steps) {
  std::vector<Finding> findings, ofMeaning;
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  checkMicroBatchCoverage(plan, &findings);
  MeaningResult result = checkMeaning(kinds, check, &ofMeaning); // first, because it knows what receives bring
  if (!result.tooLong.empty())
    return {{"too long", textOfTooLong(result.tooLong)}};
  checkStatedNeeds(kinds, &findings);
  for (size_t k = 0; k < kinds.size(); ++k) {
    size_t before = findings.size();
    verifyKind(*kinds[k], kinds, result.received[k], steps, &findings);
    for (size_t i = before; i < findings.size() && kinds.size() > 1; ++i)
      findings[i].text = "kind '" + std::string(textOf(kinds[k]->kind())) + "': " + findings[i].text;
  }
  findings.insert(findings.end(), ofMeaning.begin(), ofMeaning.end());
  std::vector<Finding> hangs = verifyKinds(kinds);
  findings.insert(findings.end(), hangs.begin(), hangs.end());
  if (hangs.empty() && !result.stuck.empty())
    findings.push_back(
        {"deadlock", "the ranks of " + result.stuck +
                         " do not meet when each runs its instructions in "
                         "issue order; expected every receive after its send, in an order of the whole"});
  return findings;
}

} // namespace cleave::plan
