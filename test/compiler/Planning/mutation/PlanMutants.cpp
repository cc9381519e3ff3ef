// Mutates plans, and compares the answers of `cleave verify` about the mutants with those of the oracle:
//
//   PlanMutants [--mutants N] [--seed S] [--kind PREFIX] [--accepted FILE] PLAN...
//   PlanMutants --write MUTANT --seed S PLAN       writes one mutant, for `cleave inspect --text`
//
// Mutant i of a run has seed S + i, and is made from plan number i modulo the number of plans. The exit code is 0 if
// the reader, the verifier and the oracle accept every plan, there was a mutant, and the reader or the verifier rejects
// every harmful mutant, except those of known gaps (KnownGaps.h). --accepted lists all harmful mutants that were
// accepted.
//
// The verifier is that of an artefact, which also has the facts of the code and the seal of the meaning (KernelFacts.h,
// Seals.h). Mutants that only the seal finds are counted separately: without an artefact, such a forged plan
// proves its own statements. Only kinds "forged: ..." may be among them.
#include "test/compiler/Planning/mutation/AsArtefact.h"
#include "test/compiler/Planning/mutation/KnownGaps.h"
#include "test/compiler/Planning/mutation/Mutator.h"
#include "test/compiler/Planning/mutation/Oracle.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

using namespace cleave;
using namespace cleave::mutation;

namespace {

struct Options {
  uint64_t mutants = 300, seed = 1;
  std::string only, accepted, write;
  std::vector<std::string> plans;
};

[[noreturn]] void fail(const std::string &what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

Options parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name.rfind("--", 0) != 0) {
      options.plans.push_back(name);
      continue;
    }
    if (++i == argc)
      fail(name + " takes a value");
    if (name == "--mutants")
      options.mutants = std::strtoull(argv[i], nullptr, 10);
    else if (name == "--seed")
      options.seed = std::strtoull(argv[i], nullptr, 10);
    else if (name == "--kind")
      options.only = argv[i];
    else if (name == "--accepted")
      options.accepted = argv[i];
    else if (name == "--write")
      options.write = argv[i];
    else
      fail("there is no option " + name);
  }
  if (options.plans.empty())
    fail("PlanMutants [--mutants N] [--seed S] [--kind PREFIX] [--accepted FILE] [--write MUTANT] PLAN...");
  return options;
}

bool isKnownGap(const Mutant &mutant) {
  for (const KnownGap &gap : knownGaps())
    for (const std::string &kind : mutant.kinds)
      if (std::count(gap.kinds.begin(), gap.kinds.end(), kind))
        return true;
  return false;
}

std::string textOf(const Mutant &mutant) {
  std::string text;
  for (const std::string &kind : mutant.kinds)
    text += (text.empty() ? "" : " + ") + kind;
  return text + " | " + mutant.change;
}

struct Original {
  std::string name;
  std::vector<uint64_t> bytes;
  const rt::fb::Plan *plan = nullptr;
  std::unique_ptr<Oracle> oracle;
  std::unique_ptr<AsArtefact> artefact;
};

// The first broken rule that `cleave verify` names for an artefact with this plan. Empty: it accepts the plan.
std::string verify(const Original &original, const rt::fb::Plan &plan) {
  std::vector<std::string> rules = original.artefact->brokenRules(plan);
  return rules.empty() ? "" : rules.front();
}

Original open(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  std::string content = text.str();
  Original original;
  original.name = path.substr(path.find_last_of('/') + 1);
  original.bytes.resize((content.size() + 7) / 8);
  std::memcpy(original.bytes.data(), content.data(), content.size());
  rt::Status status = rt::openPlan(original.bytes.data(), content.size(), &original.plan);
  if (!status.isOk())
    fail(path + ": " + status.message());
  original.artefact = std::make_unique<AsArtefact>(*original.plan);
  return original;
}

// Counts of the answers of the reader, the verifier and the oracle for the mutants of one kind.
struct Tally {
  uint64_t refused = 0, rejectedHarmful = 0, rejectedHarmless = 0, acceptedHarmless = 0, acceptedHarmful = 0;
};

class Trial {
public:
  explicit Trial(const Options &options) : options_(options) {}

  void run() {
    for (const std::string &path : options_.plans) {
      originals_.push_back(open(path));
      checkOriginal(originals_.back());
    }
    for (uint64_t i = 0; i < options_.mutants; ++i)
      judge(originals_[i % originals_.size()], options_.seed + i);
    report();
    if (made_ == 0)
      error("there was no mutant: no mutation of the kind '" + options_.only + "' fits a plan; nothing was tried");
  }
  bool passed() const { return passed_; }

private:
  void checkOriginal(Original &original) {
    for (const plan::Finding &finding : plan::verifyPlan(*original.plan))
      error(original.name + " is rejected as it is: " + finding.rule + ": " + finding.text);
    if (std::string problem = Oracle::open(*original.plan, &original.oracle); !problem.empty())
      error(original.name + " is harmful as it is: " + problem);
  }

  void judge(const Original &original, uint64_t seed) {
    std::optional<Mutant> mutant = mutate(*original.plan, seed, options_.only);
    if (!mutant)
      return;
    ++made_;
    Tally &tally = tallies_[mutant->kind()];
    const rt::fb::Plan *opened = nullptr;
    if (!rt::openPlan(mutant->data(), mutant->size, &opened).isOk()) {
      ++tally.refused;
      return;
    }
    std::string rule = verify(original, *opened);
    Verdict verdict = original.oracle->judge(*opened);
    if (!rule.empty()) {
      ++rules_[rule];
      bool isForged = std::any_of(mutant->kinds.begin(), mutant->kinds.end(),
                                  [](const std::string &kind) { return kind.rfind("forged", 0) == 0; });
      if (rule == AsArtefact::kSeal && verdict.isHarmful && !isForged)
        error("only the artefact's seal finds it, and nothing in it is forged: " + original.name + " | " +
              textOf(*mutant) + " | " + verdict.why);
      if (rule == AsArtefact::kSeal && mutant->kinds == std::vector<std::string>{kRestated})
        checkRestated(original, *mutant, seed, *opened);
      ++(verdict.isHarmful ? tally.rejectedHarmful : tally.rejectedHarmless);
      return;
    }
    if (!verdict.isHarmful) {
      ++tally.acceptedHarmless;
      return;
    }
    ++tally.acceptedHarmful;
    std::string only = options_.only.empty() ? "" : " --kind '" + options_.only + "'";
    std::string text = "accepted, but harmful: " + original.name + " | " + textOf(*mutant) + " | " + verdict.why +
                       " | again: PlanMutants --write mutant.plan --seed " + std::to_string(seed) + only + " " +
                       original.name;
    if (!options_.accepted.empty())
      std::ofstream(options_.accepted, std::ios::app) << text << "\n";
    if (!isKnownGap(*mutant))
      error(text);
  }

  // The plan may compute anything, but it must end, and with the same result in all interleavings.
  void checkRestated(const Original &original, const Mutant &mutant, uint64_t seed, const rt::fb::Plan &plan) {
    std::unique_ptr<Oracle> oracle;
    if (std::string problem = Oracle::open(plan, &oracle); !problem.empty())
      error("restated, and proved to do what it does, but it does not: " + original.name + " | " + textOf(mutant) +
            " | " + problem + " | seed " + std::to_string(seed));
  }

  void error(const std::string &text) {
    passed_ = false;
    std::printf("%s\n", text.c_str());
  }

  void report() {
    Tally all;
    std::printf("%-46s %8s %8s %8s %8s %8s\n", "kind", "refused", "rejected", "harmless", "harmless", "HARMFUL");
    std::printf("%-46s %8s %8s %8s %8s %8s\n", "", "by read", "harmful", "rejected", "accepted", "ACCEPTED");
    auto line = [](const std::string &name, const Tally &t) {
      std::printf("%-46s %8lu %8lu %8lu %8lu %8lu\n", name.c_str(), t.refused, t.rejectedHarmful, t.rejectedHarmless,
                  t.acceptedHarmless, t.acceptedHarmful);
    };
    for (const auto &[name, tally] : tallies_) {
      line(name, tally);
      all.refused += tally.refused;
      all.rejectedHarmful += tally.rejectedHarmful;
      all.rejectedHarmless += tally.rejectedHarmless;
      all.acceptedHarmless += tally.acceptedHarmless;
      all.acceptedHarmful += tally.acceptedHarmful;
    }
    line("all", all);
    std::printf("rejected by rule:");
    for (const auto &[rule, count] : rules_)
      std::printf(" %s %lu", rule.c_str(), count);
    std::printf("\n");
    for (const KnownGap &gap : knownGaps())
      reportGap(gap);
    std::printf("%lu mutants of %zu plans, %zu kinds of mutation: %lu harmful ones, of which %lu are accepted\n",
                made_, originals_.size(), tallies_.size(), all.rejectedHarmful + all.acceptedHarmful,
                all.acceptedHarmful);
  }

  void reportGap(const KnownGap &gap) {
    std::printf("known gap, %s:\n ", gap.reason.c_str());
    for (const std::string &kind : gap.kinds)
      std::printf(" %s (%lu),", kind.c_str(), tallies_[kind].acceptedHarmful);
    std::printf("\n");
  }

  const Options &options_;
  std::vector<Original> originals_;
  std::map<std::string, Tally> tallies_;
  std::map<std::string, uint64_t> rules_; // by the rule of the first finding
  uint64_t made_ = 0;
  bool passed_ = true;
};

int write(const Options &options) {
  Original original = open(options.plans.front());
  std::optional<Mutant> mutant = mutate(*original.plan, options.seed, options.only);
  if (!mutant)
    fail("no mutation of that kind fits the plan");
  std::ofstream(options.write, std::ios::binary)
      .write(static_cast<const char *>(mutant->data()), static_cast<std::streamsize>(mutant->size));
  std::printf("%s\n", textOf(*mutant).c_str());
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options = parse(argc, argv);
  if (!options.write.empty())
    return write(options);
  Trial trial(options);
  trial.run();
  return trial.passed() ? 0 : 1;
}
