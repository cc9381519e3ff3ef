#include "compiler/Planning/PlanVerifier.h"

#include "compiler/Planning/Execution.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/Kinds.h"
#include "runtime/plan/PlanReader.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace cleave::plan {

using namespace rt;

// Named byte ranges of one region that must not overlap.
namespace {
struct Place {
  std::string name;
  unsigned region;
  uint64_t begin, end;
};
} // namespace

static void findOverlaps(std::vector<Place> places, const char *rule, std::vector<Finding> *findings) {
  std::sort(places.begin(), places.end(), [](const Place &a, const Place &b) {
    return std::tie(a.region, a.begin, a.end) < std::tie(b.region, b.begin, b.end);
  });
  for (size_t i = 1; i < places.size(); ++i)
    if (places[i].region == places[i - 1].region && places[i].begin < places[i - 1].end)
      findings->push_back({rule, places[i - 1].name + " and " + places[i].name + " share bytes"});
}

static void checkStatePlaces(const fb::Plan &plan, std::vector<Finding> *findings) {
  std::vector<Place> places;
  for (size_t i = 0; i < lengthOf(plan.states()); ++i) {
    const fb::State &state = *plan.states()->Get(i);
    places.push_back({"state '" + state.name()->str() + "'", state.region(), state.offset(),
                      state.offset() + stateShardBytes(plan, state)});
  }
  findOverlaps(std::move(places), "state", findings);
}

static void checkPortPlaces(const fb::Plan &plan, const fb::Program &program, std::vector<Finding> *findings) {
  std::vector<Place> places;
  auto add = [&](const auto *ports, const char *what) {
    for (size_t i = 0; i < lengthOf(ports); ++i) {
      const fb::Port &port = *ports->Get(i);
      if (plan.regions()->Get(port.region())->space() == fb::Space::host)
        findings->push_back({"space", std::string(what) + " '" + port.name()->str() + "' of " + program.name()->str() +
                                          " lies in host memory, where no kernel finds it"});
      places.push_back({std::string(what) + " '" + port.name()->str() + "' of " + program.name()->str(), port.region(),
                        port.offset(), port.offset() + portBytes(port)});
    }
  };
  add(program.inputs(), "input");
  add(program.outputs(), "output");
  findOverlaps(std::move(places), "port", findings);
}

namespace {
// What each entry program of a kind leaves in its states.
using Contents = std::map<std::string, std::map<std::string, uint64_t>>;
} // namespace

static Contents verifyKind(const fb::Plan &plan, const std::vector<const fb::Plan *> &kinds,
                           std::vector<Finding> *findings) {
  Contents contents;
  checkStatePlaces(plan, findings);
  for (uint32_t i = 0; i < lengthOf(plan.programs()); ++i) {
    const fb::Program &program = *plan.programs()->Get(i);
    if (!program.entry())
      continue;
    checkPortPlaces(plan, program, findings);
    Execution execution(plan, kinds, findings);
    execution.run(i);
    execution.expectReplicasEqual();
    for (size_t output = 0; output < lengthOf(program.outputs()); ++output) {
      const fb::Port &port = *program.outputs()->Get(output);
      execution.expectWritten(port.region(), port.offset(), port.offset() + portBytes(port),
                              "output '" + port.name()->str() + "' of " + program.name()->str());
    }
    if (kinds.size() > 1)
      contents[program.name()->str()] = execution.getContents();
  }
  return contents;
}

// Whether ranks of the two kinds have different parts of the state.
static bool isCutBetween(const fb::Plan &a, const fb::Plan &b, const std::string &name) {
  for (size_t i = 0; i < lengthOf(a.states()); ++i) {
    const fb::State &state = *a.states()->Get(i);
    for (size_t s = 0; state.name()->str() == name && s < lengthOf(state.split_axes()); ++s) {
      AxisRange left = rangeOf(a, state.split_axes()->Get(s)), right = rangeOf(b, state.split_axes()->Get(s));
      if (left.begin != right.begin || left.end != right.end)
        return true;
    }
  }
  return false;
}

// A state that two kinds have is one state: where it is not cut, both must leave the same in it.
static void compareContents(const fb::Plan &a, const Contents &ofA, const fb::Plan &b, const Contents &ofB,
                            std::vector<Finding> *findings) {
  for (const auto &[program, states] : ofA) {
    auto same = ofB.find(program);
    if (same == ofB.end())
      continue; // told by verifyKinds
    for (const auto &[state, content] : states)
      if (auto found = same->second.find(state);
          found != same->second.end() && found->second != content && !isCutBetween(a, b, state))
        findings->push_back({"replica", "state '" + state + "' is one for kinds '" + std::string(textOf(a.kind())) +
                                            "' and '" + std::string(textOf(b.kind())) + "', but " + program +
                                            " does not leave the same in it on both"});
  }
}

std::vector<Finding> verifyPlan(const fb::Plan &plan) {
  std::vector<Finding> findings;
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  std::vector<Contents> contents;
  for (const fb::Plan *kind : kinds) {
    size_t before = findings.size();
    contents.push_back(verifyKind(*kind, kinds, &findings));
    for (size_t i = before; i < findings.size() && kinds.size() > 1; ++i)
      findings[i].text = "kind '" + std::string(textOf(kind->kind())) + "': " + findings[i].text;
    for (size_t other = 0; other + 1 < contents.size(); ++other)
      compareContents(*kinds[other], contents[other], *kind, contents.back(), &findings);
  }
  std::vector<Finding> hangs = verifyKinds(kinds);
  findings.insert(findings.end(), hangs.begin(), hangs.end());
  return findings;
}

} // namespace cleave::plan
