#include "compiler/Planning/Verify/Rules/StatedNeeds.h"

#include "compiler/Planning/Verify/Facts/PlanFacts.h"
#include "compiler/Planning/Verify/Values/PlanMeaning.h"
#include "runtime/plan/NeededInputs.h"

#include <algorithm>
#include <map>
#include <memory>

namespace cleave::plan {

using namespace rt;

namespace {

class NeedsCheck {
public:
  NeedsCheck(const std::vector<const fb::Plan *> &kinds, UnprovenNeeds *unproven)
      : kinds_(kinds), unproven_(unproven) {}

  // `infer` is that of the first kind: all kinds declare the same ports.
  void run(const fb::Program &infer) {
    std::map<std::set<std::string>, std::vector<std::string>> leftOut; // inputs -> outputs that do not need them
    for (uint32_t out = 0; out < lengthOf(infer.outputs()); ++out) {
      std::string output = infer.outputs()->Get(out)->name()->str();
      std::set<std::string> inputs;
      for (uint32_t in = 0; in < lengthOf(infer.inputs()); ++in)
        if (std::string input = infer.inputs()->Get(in)->name()->str(); !isNeeded(*kinds_[0], output, input))
          inputs.insert(input);
      if (!inputs.empty())
        leftOut[inputs].push_back(output);
    }
    if (leftOut.empty())
      return;
    Run asFed = runWith({});
    for (const auto &[inputs, outputs] : leftOut)
      check(asFed, inputs, outputs);
  }

private:
  // What `infer` leaves, by kind. Empty if its ranks do not meet, which another rule reports.
  struct Run {
    std::vector<Meaning> left;
    std::vector<Checks> checks;
    bool hasAllCalls = true;
  };
  Run runWith(const std::set<std::string> &replaced) const {
    std::vector<std::unique_ptr<PlanMeaning>> runs;
    std::vector<MeaningRun *> all;
    std::vector<KindBox> boxes;
    for (const fb::Plan *kind : kinds_)
      for (uint32_t i = 0; i < lengthOf(kind->programs()); ++i)
        if (isEntry(*kind->programs()->Get(i), "infer")) {
          runs.push_back(std::make_unique<PlanMeaning>(*kind, i));
          runs.back()->replaceInputs(replaced);
          all.push_back(runs.back().get());
          boxes.push_back(boxOf(*kind));
        }
    Run result;
    bool doMeet = runToEnd(all, boxes);
    for (const auto &run : runs) {
      result.hasAllCalls &= run->getRepeated().empty();
      if (doMeet) {
        result.left.push_back(run->getMeaning());
        result.checks.push_back(run->getChecks());
      }
    }
    return result;
  }

  void check(Run &asFed, const std::set<std::string> &inputs, const std::vector<std::string> &outputs) {
    Run other = runWith(inputs);
    std::string list;
    for (const std::string &input : inputs)
      list += (list.empty() ? "'" : ", '") + input + "'";
    for (const std::string &output : outputs) {
      std::string key = kNeedsProperties.of(output), of = "property " + key + " leaves out input " + list;
      bool isEqual = true, mayFail = false;
      for (size_t kind = 0; kind < std::min(asFed.left.size(), other.left.size()); ++kind) {
        isEqual &= asFed.left[kind]["output " + output] == other.left[kind]["output " + output];
        const Checks &fed = asFed.checks[kind], &now = other.checks[kind];
        mayFail |= !std::includes(fed.begin(), fed.end(), now.begin(), now.end());
      }
      if (!asFed.hasAllCalls)
        unproven_->emplace_back(
            key, of + ", but infer repeats a call so often that not all of its runs are examined; expected all inputs");
      else if (!isEqual)
        unproven_->emplace_back(key,
                                of + ", on which output '" + output + "' depends; the host would run infer without it");
      else if (mayFail)
        unproven_->emplace_back(key, of + ", and infer computes indices from it; with zeros in its place they may be "
                                          "out of range");
    }
  }

  const std::vector<const fb::Plan *> &kinds_;
  UnprovenNeeds *unproven_;
};

} // namespace

UnprovenNeeds findUnprovenNeeds(const std::vector<const fb::Plan *> &kinds) {
  UnprovenNeeds unproven;
  for (uint32_t i = 0; i < lengthOf(kinds[0]->programs()); ++i)
    if (const fb::Program &program = *kinds[0]->programs()->Get(i); isEntry(program, "infer"))
      NeedsCheck(kinds, &unproven).run(program);
  return unproven;
}

void checkStatedNeeds(const std::vector<const fb::Plan *> &kinds, std::vector<Finding> *findings) {
  for (const auto &[property, why] : findUnprovenNeeds(kinds))
    findings->push_back({"needs", why});
}

} // namespace cleave::plan
