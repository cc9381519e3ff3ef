// Mutants of pipelines made by hand. The reader and the verifier accept none that the oracle shows to be harmful.
// PlanMutants does the same with compiled plans.
#include "compiler/Planning/Verify/PlanVerifier.h"
#include "runtime/plan/KernelFacts.h"
#include "runtime/plan/Seals.h"
#include "runtime/plan/RankKinds.h"
#include "test/compiler/Planning/mutation/Mutator.h"
#include "test/compiler/Planning/mutation/Oracle.h"
#include "test/compiler/Planning/mutation/Restate.h"
#include "test/runtime/device/PipelinePlan.h"

namespace cleave::mutation {
namespace {

using rt::test::PlanBuilder;

// Makes the plan state what it computes, as the compiler does. This plan is known to be right.
const fb::Plan &stated(PlanBuilder &builder) {
  builder.pack(); // fills in the facts of the kernels
  EXPECT_TRUE(restate(builder.plan));
  return builder.open();
}

TEST(PipelineMutants, NoHarmfulOnePasses) {
  PlanBuilder builder = rt::test::makePipeline(2, 4);
  const fb::Plan &original = stated(builder);
  for (const plan::Finding &finding : plan::verifyPlan(original))
    ADD_FAILURE() << finding.rule << ": " << finding.text;
  std::unique_ptr<Oracle> oracle;
  ASSERT_EQ(Oracle::open(original, &oracle), "");
  std::vector<uint64_t> facts; // those of the code
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
