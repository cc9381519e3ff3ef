// Mutants of pipelines made by hand: none that the oracle shows to be harmful passes the reader and the verifier. Of
// compiled plans see PlanMutants.
#include "compiler/Planning/BodyRuns.h"
#include "compiler/Planning/Declarations.h"
#include "compiler/Planning/PlanFacts.h"
#include "compiler/Planning/PlanVerifier.h"
#include "runtime/plan/KernelFacts.h"
#include "runtime/plan/MeaningSeal.h"
#include "runtime/plan/Kinds.h"
#include "test/compiler/Planning/mutation/Mutator.h"
#include "test/compiler/Planning/mutation/Oracle.h"
#include "test/runtime/device/PipelinePlan.h"

namespace cleave::mutation {
namespace {

using rt::test::PlanBuilder;

void addMeaning(fb::ProgramT &program, const plan::Meaning &meaning) {
  program.meaning.clear();
  for (const auto &[name, number] : meaning) {
    program.meaning.push_back(std::make_unique<fb::MeaningT>());
    program.meaning.back()->name = name;
    program.meaning.back()->number = number;
  }
}

uint32_t entryOf(const fb::Plan &kind) {
  uint32_t entry = 0;
  while (!kind.programs()->Get(entry)->entry())
    ++entry;
  return entry;
}

// Of a body: what it changes.
plan::Meaning changedBy(const fb::Plan &kind, plan::PlanMeaning &run) {
  plan::Meaning meaning = run.getMeaning();
  for (const fb::State *state : *kind.states())
    if (auto found = meaning.find("state " + state->name()->str()); found->second == run.stateAtStart(*state).number())
      meaning.erase(found);
  return meaning;
}

// The plan states what it computes, as the compiler would have: this one is known to be right. First what bodies leave,
// by which entries are told.
const fb::Plan &stated(PlanBuilder &builder) {
  auto planOf = [&](size_t kind) -> fb::PlanT & { return kind == 0 ? builder.plan : *builder.plan.kinds[kind - 1]; };
  for (bool areEntries : {false, true}) {
    std::vector<const fb::Plan *> kinds = rt::kindsOf(builder.open());
    std::vector<std::unique_ptr<plan::PlanMeaning>> runs;
    std::vector<plan::MeaningRun *> all;
    std::vector<plan::KindBox> boxes;
    for (const fb::Plan *kind : kinds)
      boxes.push_back(plan::boxOf(*kind));
    plan::BodyRuns bodies(kinds);
    for (size_t i = 0; i < kinds.size(); ++i) {
      runs.push_back(std::make_unique<plan::PlanMeaning>(*kinds[i], entryOf(*kinds[i]), &bodies.factsOf(i)));
      all.push_back(runs.back().get());
    }
    EXPECT_TRUE(plan::runTogether(all, boxes));
    for (size_t i = 0; i < kinds.size(); ++i)
      if (areEntries)
        addMeaning(*planOf(i).programs[entryOf(*kinds[i])], runs[i]->getMeaning());
      else
        for (auto &[program, run] : bodies.runsOf(i))
          addMeaning(*planOf(i).programs[program], changedBy(*kinds[i], *run));
  }
  std::vector<const fb::Plan *> kinds = rt::kindsOf(builder.open());
  for (size_t i = 0; i < kinds.size(); ++i)
    planOf(i).declared = plan::declarationsHash(*kinds[i]);
  return builder.open();
}

TEST(PipelineMutants, NoHarmfulOnePasses) {
  PlanBuilder builder = rt::test::makePipeline(2, 4);
  const fb::Plan &original = stated(builder);
  for (const plan::Finding &finding : plan::verifyPlan(original))
    ADD_FAILURE() << finding.rule << ": " << finding.text;
  std::unique_ptr<Oracle> oracle;
  ASSERT_EQ(Oracle::open(original, &oracle), "");
  std::vector<uint64_t> facts; // as the code has them
  for (const fb::Plan *kind : rt::kindsOf(original))
    for (const fb::Kernel *kernel : *kind->kernels())
      facts.push_back(kernel->facts());
  uint64_t harmful = 0, refused = 0, overstrict = 0;
  uint64_t mutants = std::getenv("CLEAVE_MUTANTS") ? std::strtoull(std::getenv("CLEAVE_MUTANTS"), nullptr, 10) : 1500;
  for (uint64_t seed = 1; seed <= mutants; ++seed) {
    std::optional<Mutant> mutant = mutate(original, seed);
    const fb::Plan *opened = nullptr;
    if (!mutant || !rt::openPlan(mutant->data(), mutant->size, &opened).isOk()) {
      ++refused;
      continue;
    }
    bool isRejected = !rt::checkFacts(*opened, facts.data(), facts.size()).isOk() ||
                      !rt::checkMeaningSeal(*opened, rt::meaningSeal(original)).isOk() ||
                      !plan::verifyPlan(*opened).empty();
    Verdict verdict = oracle->judge(*opened);
    harmful += verdict.isHarmful;
    overstrict += isRejected && !verdict.isHarmful;
    EXPECT_TRUE(isRejected || !verdict.isHarmful)
        << "seed " << seed << ": " << mutant->kind() << " | " << mutant->change << " | " << verdict.why;
  }
  std::printf("%lu mutants, %lu refused by the reader, %lu harmful; %lu harmless ones are rejected\n", mutants, refused,
              harmful, overstrict);
  EXPECT_GT(harmful, mutants / 4);
}

} // namespace
} // namespace cleave::mutation
