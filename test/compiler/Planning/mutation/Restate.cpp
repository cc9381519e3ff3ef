#include "test/compiler/Planning/mutation/Restate.h"

#include "compiler/Planning/Verify/Facts/Declarations.h"
#include "compiler/Planning/Verify/Facts/PlanFacts.h"
#include "compiler/Planning/Verify/Values/BodyRuns.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/RankKinds.h"

namespace cleave::mutation {

namespace fb = rt::fb;

void sealDeclarations(fb::PlanT &root) {
  auto seal = [](fb::PlanT &kind) {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Plan::Pack(builder, &kind));
    kind.declared = plan::declarationsHash(*flatbuffers::GetRoot<fb::Plan>(builder.GetBufferPointer()));
  };
  for (auto &kind : root.kinds)
    seal(*kind);
  seal(root);
}

namespace {

void state(fb::ProgramT &program, const plan::Meaning &meaning) {
  program.meaning.clear();
  for (const auto &[name, number] : meaning) {
    program.meaning.push_back(std::make_unique<fb::MeaningT>());
    program.meaning.back()->name = name;
    program.meaning.back()->number = number.low;
    program.meaning.back()->high = number.high;
  }
}

// The statements about a body: those states that it changes.
plan::Meaning changedBy(const fb::Plan &kind, plan::PlanMeaning &run) {
  plan::Meaning meaning = run.getMeaning();
  for (uint32_t i = 0; i < rt::lengthOf(kind.states()); ++i) {
    const fb::State &state = *kind.states()->Get(i);
    if (auto found = meaning.find("state " + state.name()->str()); found->second == run.stateAtStart(state).number())
      meaning.erase(found);
  }
  return meaning;
}

std::optional<uint32_t> programNamed(const fb::Plan &kind, std::string_view name) {
  for (uint32_t i = 0; i < rt::lengthOf(kind.programs()); ++i)
    if (rt::textOf(kind.programs()->Get(i)->name()) == name)
      return i;
  return std::nullopt;
}

// One plan as bytes, and the objects of its kinds, which are changed.
class Forger {
public:
  Forger(fb::PlanT &root, const Unstated &unstated) : root_(root), unstated_(unstated) {}

  // Makes the statements. Those about entries use the statements about bodies.
  bool run() {
    if (!open())
      return false;
    if (plan::hasBodies(kinds_)) {
      stateBodies();
      if (!open())
        return false;
      bodies_ = std::make_unique<plan::BodyRuns>(kinds_);
    }
    std::set<uint32_t> repeated;
    for (uint32_t i = 0; i < rt::lengthOf(kinds_[0]->programs()); ++i)
      if (kinds_[0]->programs()->Get(i)->entry() && !stateTogether(i, repeated))
        return false;
    for (uint32_t body : repeated)
      if (std::set<uint32_t> inner; !stateTogether(body, inner))
        return false;
    sealDeclarations(root_);
    return true;
  }

private:
  fb::PlanT &planOf(size_t kind) { return kind == 0 ? root_ : *root_.kinds[kind - 1]; }

  bool open() {
    builder_.Clear();
    fb::FinishPlanBuffer(builder_, fb::Plan::Pack(builder_, &root_));
    const fb::Plan *plan = nullptr;
    if (!rt::openPlan(builder_.GetBufferPointer(), builder_.GetSize(), &plan).isOk())
      return false;
    kinds_ = rt::kindsOf(*plan);
    return true;
  }

  void stateBodies() {
    plan::BodyRuns bodies(kinds_);
    for (size_t kind = 0; kind < kinds_.size(); ++kind)
      for (auto &[program, run] : bodies.runsOf(kind)) {
        fb::ProgramT &body = *planOf(kind).programs[program];
        plan::Meaning meaning = changedBy(*kinds_[kind], *run);
        for (const auto &[name, left] : unstated_)
          if (name == body.name)
            meaning.erase("state " + left);
        state(body, meaning);
      }
  }

  // Makes the statements about the programs of one name in all kinds.
  bool stateTogether(uint32_t ofFirst, std::set<uint32_t> &repeated) {
    std::string_view name = rt::textOf(kinds_[0]->programs()->Get(ofFirst)->name());
    std::vector<std::unique_ptr<plan::PlanMeaning>> runs;
    std::vector<plan::MeaningRun *> all;
    std::vector<plan::KindBox> boxes;
    std::vector<uint32_t> programs;
    for (size_t kind = 0; kind < kinds_.size(); ++kind) {
      std::optional<uint32_t> same = programNamed(*kinds_[kind], name);
      if (!same)
        return false;
      runs.push_back(
          std::make_unique<plan::PlanMeaning>(*kinds_[kind], *same, bodies_ ? &bodies_->factsOf(kind) : nullptr));
      all.push_back(runs.back().get());
      boxes.push_back(plan::boxOf(*kinds_[kind]));
      programs.push_back(*same);
    }
    if (!plan::runToEnd(all, boxes))
      return false;
    for (size_t kind = 0; kind < kinds_.size(); ++kind)
      state(*planOf(kind).programs[programs[kind]], runs[kind]->getMeaning());
    repeated.insert(runs[0]->getRepeated().begin(), runs[0]->getRepeated().end());
    return true;
  }

  fb::PlanT &root_;
  const Unstated &unstated_;
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<const fb::Plan *> kinds_;
  std::unique_ptr<plan::BodyRuns> bodies_;
};

} // namespace

bool restate(fb::PlanT &root, const Unstated &unstated) { return Forger(root, unstated).run(); }

} // namespace cleave::mutation
