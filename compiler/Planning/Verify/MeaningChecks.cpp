#include "compiler/Planning/Verify/MeaningChecks.h"
#include "compiler/Planning/Verify/PlanFacts.h"

#include "compiler/Planning/Verify/BodyRuns.h"
#include "compiler/Planning/Verify/Declarations.h"
#include "compiler/Planning/Verify/Execution.h"
#include "runtime/plan/RankKinds.h"
#include "runtime/plan/SavedState.h"
#include "runtime/plan/Snapshot.h"

#include <algorithm>
#include <memory>

namespace cleave::plan {

using namespace rt;

namespace {

bool isSaved(const fb::State &state) {
  return rt::isSaved(state.role(), lengthOf(state.partial_axes()) != 0, !textOf(state.slot()).empty());
}

std::string quoted(const flatbuffers::String *name) { return "'" + std::string(textOf(name)) + "'"; }

// The runs of one kind's programs, and the checks of what they leave.
class KindCheck {
public:
  KindCheck(const fb::Plan &plan, bool isOneOfMany, std::vector<Finding> *findings)
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
  const fb::Plan &plan() const { return plan_; }
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

  void check(Check check) {
    if (check == Check::All && plan_.declared() != declarationsHash(plan_))
      find("declared", "its mesh, batch, options, regions, groups, states or ports are not those that the compiler "
                       "declared; compile the model again");
    for (auto &[program, run] : runs_) {
      checkPartReads(*run);
      checkSnapshot(program, *run);
      checkValues(program, *run);
      if (hasBodies_)
        checkReplicas(program, *run);
      if (check == Check::ButStated)
        continue;
      for (const std::string &what : run->getUnproved())
        find("meaning", nameOf(program) + ": " + what);
      checkStated(program, *run);
    }
    if (check == Check::All)
      checkTrained();
  }

private:
  void checkPartReads(const PlanMeaning &run);
  void checkSnapshot(uint32_t program, PlanMeaning &run);
  void checkValues(uint32_t program, PlanMeaning &run);
  void checkReplicas(uint32_t program, PlanMeaning &run);
  void checkStated(uint32_t program, PlanMeaning &run);
  void checkTrained();
  bool isReadFirst(const std::string &state, uint32_t by) const;
  std::string cause(uint32_t program, const PlanMeaning &run) const;
  std::string whyNotOutput(uint32_t program, PlanMeaning &run, const std::string &key,
                           const ValueNumber &expected) const;
  void find(const char *rule, const std::string &text) { findings_->push_back({rule, prefix_ + text}); }
  std::string nameOf(uint32_t program) const { return plan_.programs()->Get(program)->name()->str(); }

  const fb::Plan &plan_;
  std::string prefix_;
  std::vector<Finding> *findings_;
  std::vector<std::pair<uint32_t, std::unique_ptr<PlanMeaning>>> runs_;
  bool hasBodies_ = false;
};

void KindCheck::checkPartReads(const PlanMeaning &run) {
  std::set<std::string> seen; // bodies run more than once
  for (const PlanMeaning::PartRead &read : run.getPartReads()) {
    std::string text = describe(plan_, read.ref) + " reads " + describeBytes(plan_, read.region, read.begin, read.end) +
                       " as a whole, but each rank has written its own part of it alone (over " +
                       run.axesText(read.axes) + "); an all_gather over " + run.axesText(read.axes) +
                       " is missing before";
    if (seen.insert(text).second)
      find("part", text);
  }
}

// The snapshot must hold, at the place from which the runtime reads it, the state's bytes as they were when the program
// began.
void KindCheck::checkSnapshot(uint32_t program, PlanMeaning &run) {
  if (nameOf(program) != "snapshot")
    return;
  for (size_t i = 0; i < lengthOf(plan_.states()); ++i) {
    const fb::State &state = *plan_.states()->Get(i);
    uint64_t bytes = stateShardBytes(plan_, state);
    if (!isSaved(state) || bytes == 0)
      continue;
    const fb::Buffer *target = snapshotOf(plan_, *plan_.programs()->Get(program), state);
    if (!target || run.contentAt(target->region(), target->offset(), target->offset() + bytes).number() !=
                       run.stateAtStart(state).number())
      find("snapshot", "snapshot leaves no copy of state " + quoted(state.name()) +
                           " in memory of its own; expected one for each state that checkpoints hold");
  }
}

static bool hasNoValue(const Content &content) {
  return std::any_of(content.pieces().begin(), content.pieces().end(),
                     [](const Piece &piece) { return piece.expression == kNoValue; });
}

// What is read later, or by the host, must have a value. A number says nothing of this: bytes without a value have a
// number, too, and a symbol stands for whatever a body finds.
void KindCheck::checkValues(uint32_t program, PlanMeaning &run) {
  if (const auto &read = run.getReadOfNothing())
    find("uninitialized", describe(plan_, *read) + " reads bytes that hold no value: nothing in " + nameOf(program) +
                              ", or before it in the step, has written them for it");
  auto lost = [&](const std::string &what) {
    find("uninitialized", nameOf(program) + " leaves no value in " + what + ", which is read after it");
  };
  for (uint32_t i = 0; i < lengthOf(plan_.states()); ++i) {
    const fb::State &state = *plan_.states()->Get(i);
    uint64_t end = state.offset() + stateShardBytes(plan_, state);
    if (hasNoValue(run.contentAt(state.region(), state.offset(), end)) &&
        (isSaved(state) || isReadFirst(state.name()->str(), program)))
      lost("state " + quoted(state.name()));
  }
  const auto *outputs = plan_.programs()->Get(program)->outputs();
  for (uint32_t i = 0; i < lengthOf(outputs); ++i)
    if (const fb::Port &port = *outputs->Get(i);
        !port.absent() && hasNoValue(run.contentAt(port.region(), port.offset(), port.offset() + portBytes(port))))
      lost("output " + quoted(port.name()));
  for (const PlanMeaning::CrossBodyRange &loss : run.getCrossBodyLosses())
    if (std::any_of(runs_.begin(), runs_.end(), [&](const auto &other) {
          const auto &reads = other.second->getCrossBodyReads();
          return std::any_of(reads.begin(), reads.end(), [&](const PlanMeaning::CrossBodyRange &read) {
            return read.region == loss.region && read.begin < loss.end && loss.begin < read.end;
          });
        }))
      lost(describeBytes(plan_, loss.region, loss.begin, loss.end));
}

// Execution checks the same for the runs of bodies that it makes. The axes that are known of bodies hold for any number
// of runs, so they include values that take many runs from register to register.
void KindCheck::checkReplicas(uint32_t program, PlanMeaning &run) {
  AxisMask alone = 0; // along these, other kinds have the other ranks (KindComparison)
  for (uint32_t axis = 0; axis < lengthOf(plan_.axes()); ++axis)
    if (AxisRange range = rangeOf(plan_, axis); range.end - range.begin == 1)
      alone |= AxisMask{1} << axis;
  for (uint32_t i = 0; i < lengthOf(plan_.states()) && plan_.programs()->Get(program)->entry(); ++i) {
    const fb::State &state = *plan_.states()->Get(i);
    if (!isSaved(state) || run.numberOf(state) == run.stateAtStart(state).number())
      continue;
    Content left = run.contentAt(state.region(), state.offset(), state.offset() + stateShardBytes(plan_, state));
    if (AxisMask differs = left.varies() & ~run.stateAtStart(state).varies() & ~alone)
      find("replica", "state " + quoted(state.name()) + " is the same on all ranks of " + run.axesText(differs) +
                          ", but " + nameOf(program) + " may leave different values in it");
  }
}

// True if an entry, or the program itself in its next call, reads the state before writing it. Other bodies are covered
// by the entries, which run them. But if `by` is a body that is proved by itself, reads by other such bodies count,
// too, and reads by the entry after them.
bool KindCheck::isReadFirst(const std::string &state, uint32_t by) const {
  bool isAlone = hasBodies_ && !plan_.programs()->Get(by)->entry();
  for (const auto &[program, run] : runs_) {
    bool counts = isAlone || program == by || plan_.programs()->Get(program)->entry();
    if ((counts && run->getReadFirst().count(state)) || (isAlone && run->getReadAfter().count(state)))
      return true;
  }
  return false;
}

// If a plan trains one parameter that has a gradient, it must train all that have one. If no program changes such a
// parameter, or states that it does, the plan is no plan of training.
void KindCheck::checkTrained() {
  std::set<std::string> trained;
  for (size_t i = 0; i < lengthOf(plan_.states()); ++i)
    if (const fb::State &state = *plan_.states()->Get(i); state.role() == fb::Role::gradient)
      for (size_t s = 0; s < lengthOf(state.segments()); ++s)
        trained.insert(state.segments()->Get(s)->name()->str());
  std::vector<const fb::State *> kept;
  bool isAnyChanged = false;
  for (size_t i = 0; i < lengthOf(plan_.states()); ++i) {
    const fb::State &state = *plan_.states()->Get(i);
    bool isTrained = false, changes = false;
    for (size_t s = 0; s < lengthOf(state.segments()); ++s)
      isTrained |= trained.count(state.segments()->Get(s)->name()->str()) != 0;
    if (state.role() != fb::Role::parameter || !isTrained || stateShardBytes(plan_, state) == 0)
      continue;
    for (auto &[program, run] : runs_)
      changes |= run->numberOf(state) != run->stateAtStart(state).number();
    isAnyChanged |= changes;
    if (!changes)
      kept.push_back(&state);
  }
  for (const fb::State *state : kept)
    if (isAnyChanged)
      find("meaning", "state " + quoted(state->name()) +
                          " has a gradient, and no program changes it; expected an update, as others have");
}

// Tells where it begins to go wrong, as far as this is known.
std::string KindCheck::cause(uint32_t program, const PlanMeaning &run) const {
  if (!plan_.programs()->Get(program)->expressions() || !run.getFirstOther())
    return "";
  std::string why = run.getWhy().empty() ? "" : ": " + run.getWhy();
  return "; the first to compute what the model does not is " + describe(plan_, *run.getFirstOther()) + why;
}

// Explains the output that has this key in a meaning, as far as this is known.
std::string KindCheck::whyNotOutput(uint32_t program, PlanMeaning &run, const std::string &key,
                                    const ValueNumber &expected) const {
  const auto *outputs = plan_.programs()->Get(program)->outputs();
  for (uint32_t i = 0; i < lengthOf(outputs); ++i)
    if (const fb::Port &port = *outputs->Get(i); !port.absent() && key == "output " + port.name()->str())
      return run.whyNot(port, expected);
  return "";
}

void KindCheck::checkStated(uint32_t program, PlanMeaning &run) {
  const auto *entries = plan_.programs()->Get(program)->meaning();
  if (!entries)
    return find("meaning", nameOf(program) + " does not state what it leaves in states and outputs; expected a plan of "
                                             "`cleave compile`");
  Meaning stated;
  Meaning found = run.getMeaning();
  for (const fb::Meaning *entry : *entries)
    stated[entry->name()->str()] = {entry->number(), entry->high()};
  std::string where = cause(program, run);
  for (size_t i = 0; i < lengthOf(plan_.states()); ++i) {
    const fb::State &state = *plan_.states()->Get(i);
    std::string key = "state " + state.name()->str();
    ValueNumber number = found[key];
    found.erase(key);
    auto known = stated.find(key);
    bool isDead = known == stated.end() && !isSaved(state) && !isReadFirst(state.name()->str(), program);
    ValueNumber before = run.stateAtStart(state).number();
    ValueNumber expected = known == stated.end() ? before : known->second;
    stated.erase(key);
    if (isDead || number == expected)
      continue;
    std::optional<InstructionRef> writer = run.getLastWriter(state);
    std::string why = where.empty() ? run.whyNot(state, expected) : "";
    find("meaning", "state " + quoted(state.name()) + ": " + nameOf(program) +
                        " leaves something else in it than the model computes" + (why.empty() ? "" : ": " + why) +
                        "; " + (writer ? "the last to write it is " + describe(plan_, *writer) : "nothing writes it") +
                        where);
  }
  for (const auto &[key, number] : found) {
    auto known = stated.find(key);
    if (known == stated.end() || known->second != number) {
      std::string why = where.empty() && known != stated.end() ? whyNotOutput(program, run, key, known->second) : "";
      find("meaning", key == "calls" ? nameOf(program) + " calls other programs or frames than the model needs"
                                     : key + " of " + nameOf(program) + " is not what the model computes" +
                                           (why.empty() ? "" : ": " + why) + where);
    }
    if (known != stated.end())
      stated.erase(known);
  }
  for (const auto &[key, number] : stated)
    find("meaning", nameOf(program) + " states what it leaves in " + key + ", which the plan does not have");
}

// Returns the axes on which the two kinds have no coordinate in common.
AxisMask axesBetween(const fb::Plan &a, const fb::Plan &b) {
  AxisMask axes = 0;
  for (uint32_t axis = 0; axis < lengthOf(a.axes()); ++axis) {
    AxisRange left = rangeOf(a, axis), right = rangeOf(b, axis);
    if (left.end <= right.begin || right.end <= left.begin)
      axes |= AxisMask{1} << axis;
  }
  return axes;
}

// Compares what two kinds leave: a state that both have is one state, and an output that both have is one output.
class KindComparison {
public:
  KindComparison(KindCheck &a, uint32_t ofA, KindCheck &b, uint32_t ofB, std::vector<Finding> *findings)
      : a_(a), b_(b), programA_(*a.plan().programs()->Get(ofA)), programB_(*b.plan().programs()->Get(ofB)),
        runA_(*a.runOf(ofA)), runB_(*b.runOf(ofB)), between_(axesBetween(a.plan(), b.plan())), findings_(findings) {
    // If calls have more runs than are made here, equal numbers say something only of equal calls.
    bool areAllRun = runA_.getRepeated().empty() && runB_.getRepeated().empty();
    callAlike_ = areAllRun || runA_.getCalls() == runB_.getCalls();
  }

  void compareStates() {
    std::map<std::string, const fb::State *> others;
    for (size_t i = 0; i < lengthOf(b_.plan().states()); ++i)
      others.emplace(b_.plan().states()->Get(i)->name()->str(), b_.plan().states()->Get(i));
    for (size_t i = 0; i < lengthOf(a_.plan().states()); ++i) {
      const fb::State &state = *a_.plan().states()->Get(i);
      auto other = others.find(state.name()->str());
      if (other == others.end() || (axesOfParts(state) & between_) != 0)
        continue;
      uint64_t end = state.offset() + stateShardBytes(a_.plan(), state);
      Content left = runA_.contentAt(state.region(), state.offset(), end);
      ValueNumber right = runB_.numberOf(*other->second);
      bool isChanged = left.number() != runA_.stateAtStart(state).number();
      bool areOne = left.number() == right && (!isChanged || ((left.varies() & between_) == 0 && callAlike_));
      expect(areOne, "state " + quoted(state.name()));
    }
  }

  void compareOutputs() {
    std::map<std::string, const fb::Port *> others;
    for (size_t i = 0; i < lengthOf(programB_.outputs()); ++i)
      others.emplace(programB_.outputs()->Get(i)->name()->str(), programB_.outputs()->Get(i));
    for (size_t i = 0; i < lengthOf(programA_.outputs()); ++i) {
      const fb::Port &port = *programA_.outputs()->Get(i);
      auto other = others.find(port.name()->str());
      bool areApart = other == others.end() || port.absent() || other->second->absent();
      if (areApart || (axisMask(port.split_axes()) & between_) != 0)
        continue;
      Content left = contentOf(runA_, port), right = contentOf(runB_, *other->second);
      expect(left.number() == right.number() && (left.varies() & between_) == 0 && callAlike_,
             "output " + quoted(port.name()));
    }
  }

private:
  static Content contentOf(PlanMeaning &run, const fb::Port &port) {
    return run.contentAt(port.region(), port.offset(), port.offset() + portBytes(port));
  }
  void expect(bool holds, const std::string &what) {
    if (!holds)
      findings_->push_back({"replica", what + " is one for kinds " + quoted(a_.plan().kind()) + " and " +
                                           quoted(b_.plan().kind()) + ", but " + programA_.name()->str() +
                                           " does not leave the same in it on both"});
  }

  KindCheck &a_, &b_;
  const fb::Program &programA_, &programB_;
  PlanMeaning &runA_, &runB_;
  AxisMask between_; // on these axes, no rank of one kind has a coordinate of the other
  bool callAlike_;
  std::vector<Finding> *findings_;
};

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
  std::vector<KindCheck> checks_;    // of each kind
  std::vector<KindBox> boxes_;       // of each kind
  std::unique_ptr<BodyRuns> bodies_; // null: no bodies that are proved by themselves
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
  for (KindCheck &kind : checks_)
    for (uint32_t body : kind.repeated())
      repeated.emplace(textOf(kind.plan().programs()->Get(body)->name()), kind.plan().programs()->Get(body));
  for (auto &[name, body] : repeated)
    runOnAll(*body);
}

void MeaningCheck::runOnAll(const fb::Program &program) {
  Joint joint = start(program);
  if (joint.runs.size() != kinds_.size())
    return find("meaning", "program " + quoted(program.name()) +
                               " is not one of each kind of ranks; expected it on all, so that they are run together");
  if (std::any_of(joint.runs.begin(), joint.runs.end(), [](const PlanMeaning *run) { return run->isTooLong(); })) {
    result_.tooLong = program.name()->str();
    return;
  }
  if (!runTogether({joint.runs.begin(), joint.runs.end()}, boxes_)) {
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
      KindComparison comparison(checks_[a], joint.programs[a], checks_[b], joint.programs[b], findings_);
      comparison.compareStates();
      comparison.compareOutputs();
    }
}

} // namespace

MeaningResult checkMeaning(const std::vector<const fb::Plan *> &kinds, Check check, std::vector<Finding> *findings) {
  return MeaningCheck(kinds, findings).run(check);
}

} // namespace cleave::plan
