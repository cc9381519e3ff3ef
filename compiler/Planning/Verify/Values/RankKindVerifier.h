// Part of checkMeaning(): what the programs of one kind of ranks leave.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_RANKKINDVERIFIER_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_RANKKINDVERIFIER_H

#include "compiler/Planning/Verify/PlanText.h"
#include "compiler/Planning/Verify/PlanVerifier.h"
#include "compiler/Planning/Verify/Values/BodyRuns.h"

#include <memory>
#include <set>

namespace cleave::plan {

// The runs of one kind's programs, and the checks of what they leave.
class RankKindVerifier {
public:
  RankKindVerifier(const rt::fb::Plan &plan, bool isOneOfMany, std::vector<Finding> *findings)
      : plan_(plan), prefix_(isOneOfMany ? "kind " + quoted(plan.kind()) + ": " : ""), findings_(findings) {}

  PlanMeaning &start(uint32_t program, const BodyFacts *bodies) {
    runs_.emplace_back(program, std::make_unique<PlanMeaning>(plan_, program, bodies));
    return *runs_.back().second;
  }
  // Adds the runs of bodies by themselves.
  void add(std::vector<std::pair<uint32_t, std::unique_ptr<PlanMeaning>>> &runs) {
    hasBodies_ = true;
    for (auto &run : runs)
      runs_.push_back(std::move(run));
  }
  const rt::fb::Plan &plan() const { return plan_; }
  // Returns the bodies of which the runs have not made all calls.
  std::set<uint32_t> repeated() const {
    std::set<uint32_t> programs;
    for (const auto &[index, run] : runs_)
      programs.insert(run->getRepeated().begin(), run->getRepeated().end());
    return programs;
  }
  PlanMeaning *runOf(uint32_t program) {
    for (auto &[index, run] : runs_)
      if (index == program)
        return run.get();
    return nullptr;
  }

  // Adds findings of the rules that `check` asks for (MeaningChecks.h).
  void check(Check check);

private:
  void checkPartReads(const PlanMeaning &run);
  void checkSnapshot(uint32_t program, PlanMeaning &run);
  void checkValues(uint32_t program, PlanMeaning &run);
  void checkReplicas(uint32_t program, PlanMeaning &run);
  void checkStated(uint32_t program, PlanMeaning &run);
  void checkTrained();
  void checkCarried();
  bool isPacked(PlanMeaning &run, const rt::fb::State &state) const;
  void checkUse(uint32_t program, PlanMeaning &run, const rt::fb::State &state, bool readsFirst, bool changes);
  bool isReadFirst(const std::string &state, uint32_t by) const;
  std::string cause(uint32_t program, const PlanMeaning &run) const;
  std::string textOfOther(const std::string &key, uint32_t program) const;
  std::string whyNotOutput(uint32_t program, PlanMeaning &run, const std::string &key,
                           const ValueNumber &expected) const;
  void find(const char *rule, const std::string &text) { findings_->push_back({rule, prefix_ + text}); }
  std::string nameOf(uint32_t program) const { return plan_.programs()->Get(program)->name()->str(); }

  const rt::fb::Plan &plan_;
  std::string prefix_;
  std::vector<Finding> *findings_;
  std::vector<std::pair<uint32_t, std::unique_ptr<PlanMeaning>>> runs_;
  bool hasBodies_ = false;
};

} // namespace cleave::plan

#endif
