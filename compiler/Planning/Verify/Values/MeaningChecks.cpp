#include "compiler/Planning/Verify/Values/MeaningChecks.h"

#include "compiler/Planning/Verify/Facts/PlanFacts.h"
#include "compiler/Planning/Verify/Values/RankKindComparison.h"
#include "runtime/plan/RankKinds.h"

#include <algorithm>
#include <map>

namespace cleave::plan {

using namespace rt;

namespace {

// Bodies receive what bodies send. An entry's own messages need other channels, so that each proof knows what arrives.
void findSharedChannels(const std::vector<const fb::Plan *> &kinds, std::vector<Finding> *findings) {
  std::map<TransferChannel, InstructionRef> ofEntries;
  auto forEach = [&](bool isEntry, auto use) {
    for (const fb::Plan *plan : kinds)
      for (uint32_t program = 0; program < lengthOf(plan->programs()); ++program)
        for (uint32_t i = 0; i < lengthOf(plan->programs()->Get(program)->instructions()); ++i)
          if (InstructionView view = viewOf(*plan, {program, i});
              plan->programs()->Get(program)->entry() == isEntry && isTransfer(view.opcode()))
            use(*plan, TransferChannel::of(transferFacts(*plan, view)), InstructionRef{program, i});
  };
  forEach(true, [&](const fb::Plan &, const TransferChannel &channel, InstructionRef ref) {
    ofEntries.emplace(channel, ref);
  });
  forEach(false, [&](const fb::Plan &plan, const TransferChannel &channel, InstructionRef ref) {
    if (ofEntries.count(channel))
      findings->push_back({"transfer", describe(plan, ref) +
                                           " is on the channel of messages of an entry program; expected "
                                           "one of its own"});
  });
}

// The programs of all kinds of ranks, run together: those of one name meet in collectives and messages.
class MeaningCheck {
public:
  MeaningCheck(const std::vector<const fb::Plan *> &kinds, std::vector<Finding> *findings)
      : kinds_(kinds), findings_(findings) {
    result_.received.resize(kinds.size());
    for (const fb::Plan *kind : kinds) {
      checks_.emplace_back(*kind, kinds.size() > 1, findings);
      boxes_.push_back(boxOf(*kind));
    }
  }
  MeaningResult run(Check check);

private:
  // For each kind, the program of one name and its run.
  struct Joint {
    std::vector<uint32_t> programs;
    std::vector<PlanMeaning *> runs;
  };

  bool proveBodies();
  void runEntries();
  void runRepeatedBodies();
  void runOnAll(const fb::Program &program);
  Joint start(const fb::Program &program);
  void noteReceived(const Joint &joint);
  void compare(const Joint &joint);
  void find(const char *rule, const std::string &text) { findings_->push_back({rule, text}); }

  const std::vector<const fb::Plan *> &kinds_;
  std::vector<Finding> *findings_;
  std::vector<RankKindVerifier> checks_; // of each kind
  std::vector<KindBox> boxes_;           // of each kind
  std::unique_ptr<BodyRuns> bodies_;     // null: no bodies that are proved by themselves
  MeaningResult result_;
};

// If a run is too long, nothing else is known.
MeaningResult MeaningCheck::run(Check check) {
  if (hasBodies(kinds_) && !proveBodies())
    return std::move(result_);
  runEntries();
  runRepeatedBodies();
  if (!result_.tooLong.empty())
    return std::move(result_);
  for (size_t kind = 0; kind < kinds_.size(); ++kind) {
    if (bodies_)
      checks_[kind].add(bodies_->runsOf(kind));
    checks_[kind].check(check);
  }
  return std::move(result_);
}

// Returns false if one of them runs too long.
bool MeaningCheck::proveBodies() {
  bodies_ = std::make_unique<BodyRuns>(kinds_);
  if (result_.tooLong = bodies_->tooLong(); !result_.tooLong.empty())
    return false;
  findSharedChannels(kinds_, findings_);
  if (const auto &unlike = bodies_->unlike())
    find("meaning", "kinds " + quoted(kinds_[unlike->first]->kind()) + " and " +
                        quoted(kinds_[unlike->second]->kind()) +
                        " meet in collectives of bodies, and do not do the same in their bodies");
  return true;
}

// Runs each entry. The first program of a name stands for those of all kinds.
void MeaningCheck::runEntries() {
  std::set<std::string_view> seen;
  for (const fb::Plan *kind : kinds_)
    for (uint32_t i = 0; i < lengthOf(kind->programs()); ++i)
      if (const fb::Program &entry = *kind->programs()->Get(i);
          entry.entry() && seen.insert(textOf(entry.name())).second)
        runOnAll(entry);
}

// Runs the bodies of which the entries have not run all calls, on any kind.
void MeaningCheck::runRepeatedBodies() {
  std::map<std::string_view, const fb::Program *> repeated;
  for (RankKindVerifier &kind : checks_)
    for (uint32_t body : kind.repeated())
      repeated.emplace(textOf(kind.plan().programs()->Get(body)->name()), kind.plan().programs()->Get(body));
  for (auto &[name, body] : repeated)
    runOnAll(*body);
}

void MeaningCheck::runOnAll(const fb::Program &program) {
  Joint joint = start(program);
  if (joint.runs.size() != kinds_.size())
    return find("meaning", "program " + quoted(program.name()) +
                               " is missing on some kinds of ranks; expected it on all, which are run together");
  if (std::any_of(joint.runs.begin(), joint.runs.end(), [](const PlanMeaning *run) { return run->isTooLong(); })) {
    result_.tooLong = program.name()->str();
    return;
  }
  if (!runToEnd({joint.runs.begin(), joint.runs.end()}, boxes_)) {
    result_.stuck = result_.stuck.empty() ? program.name()->str() : result_.stuck;
    return;
  }
  if (program.entry())
    noteReceived(joint);
  compare(joint);
}

// Starts the program on the kinds that have it. Nothing runs yet.
MeaningCheck::Joint MeaningCheck::start(const fb::Program &program) {
  Joint joint;
  for (size_t kind = 0; kind < kinds_.size(); ++kind)
    for (uint32_t i = 0; i < lengthOf(kinds_[kind]->programs()); ++i)
      if (const fb::Program &same = *kinds_[kind]->programs()->Get(i);
          same.entry() == program.entry() && textOf(same.name()) == textOf(program.name())) {
        joint.programs.push_back(i);
        joint.runs.push_back(&checks_[kind].start(i, bodies_ ? &bodies_->factsOf(kind) : nullptr));
      }
  return joint;
}

// Notes what an entry receives, and what the bodies receive that are proved by themselves.
void MeaningCheck::noteReceived(const Joint &joint) {
  for (size_t kind = 0; kind < kinds_.size(); ++kind) {
    Received &received = result_.received[kind][joint.programs[kind]];
    received = checks_[kind].runOf(joint.programs[kind])->getReceived();
    if (bodies_)
      for (auto &[body, run] : bodies_->runsOf(kind))
        received.insert(run->getReceived().begin(), run->getReceived().end());
  }
}

void MeaningCheck::compare(const Joint &joint) {
  for (size_t b = 1; b < kinds_.size(); ++b)
    for (size_t a = 0; a < b; ++a) {
      RankKindComparison comparison(checks_[a], joint.programs[a], checks_[b], joint.programs[b], findings_);
      comparison.compareStates();
      comparison.compareOutputs();
    }
}

} // namespace

MeaningResult checkMeaning(const std::vector<const fb::Plan *> &kinds, Check check, std::vector<Finding> *findings) {
  return MeaningCheck(kinds, findings).run(check);
}

} // namespace cleave::plan
