#include "compiler/Planning/Verify/Values/RankKindVerifier.h"

#include "compiler/Planning/Verify/Facts/Declarations.h"
#include "compiler/Planning/Verify/Facts/EntryRoles.h"
#include "compiler/Planning/Verify/Facts/PlanFacts.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/RankKinds.h"
#include "runtime/plan/SavedState.h"
#include "runtime/plan/Snapshot.h"

#include <algorithm>

namespace cleave::plan {

using namespace rt;

void RankKindVerifier::check(Check check) {
  if (check == Check::All && plan_.declared() != declarationsHash(plan_))
    find("declared", "its mesh, batch, options, regions, groups, states or ports are not those that the compiler "
                     "declared; compile the model again");
  for (auto &[program, run] : runs_) {
    checkPartReads(*run);
    checkSnapshot(program, *run);
    checkValues(program, *run);
    checkReplicas(program, *run);
    if (check == Check::ButStated)
      continue;
    for (const std::string &what : run->getUnproved())
      find("meaning", nameOf(program) + ": " + what);
    checkStated(program, *run);
  }
  checkCarried();
  if (check == Check::All)
    checkTrained();
}

void RankKindVerifier::checkPartReads(const PlanMeaning &run) {
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
void RankKindVerifier::checkSnapshot(uint32_t program, PlanMeaning &run) {
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

// Bytes that are read later, or by the host, must hold a value. Equal numbers do not show that: bytes without a value
// have a number, too, and a symbol stands for any content that a body finds.
void RankKindVerifier::checkValues(uint32_t program, PlanMeaning &run) {
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

// Execution checks the same for the runs that it makes, from what this kind of ranks contributes to a collective. Here
// the contributions of all kinds are known. The axes that are known of bodies hold for any number of runs, so they
// include values that take many runs from register to register.
void RankKindVerifier::checkReplicas(uint32_t program, PlanMeaning &run) {
  AxisMask alone = 0; // along these, other kinds have the other ranks (RankKindComparison)
  for (uint32_t axis = 0; axis < lengthOf(plan_.axes()); ++axis)
    if (AxisRange range = rangeOf(plan_, axis); range.end - range.begin == 1)
      alone |= AxisMask{1} << axis;
  auto expectEqual = [&](const std::string &what, const Content &left, AxisMask allowed) {
    if (AxisMask differs = left.varies() & ~allowed & ~alone)
      find("replica", what + " is the same on all ranks of " + run.axesText(differs) + ", but " + nameOf(program) +
                          " may leave different values in it");
  };
  const fb::Program &entry = *plan_.programs()->Get(program);
  for (uint32_t i = 0; i < lengthOf(plan_.states()) && entry.entry(); ++i)
    if (const fb::State &state = *plan_.states()->Get(i);
        isSaved(state) && run.numberOf(state) != run.stateAtStart(state).number())
      expectEqual("state " + quoted(state.name()),
                  run.contentAt(state.region(), state.offset(), state.offset() + stateShardBytes(plan_, state)),
                  run.stateAtStart(state).varies());
  for (uint32_t i = 0; i < lengthOf(entry.outputs()); ++i)
    if (const fb::Port &port = *entry.outputs()->Get(i); !port.absent())
      expectEqual("output " + quoted(port.name()),
                  run.contentAt(port.region(), port.offset(), port.offset() + portBytes(port)),
                  portFacts(plan_, port).split.axes);
}

// True if an entry, or the program itself in its next call, reads the state before writing it. Other bodies are covered
// by the entries, which run them. But if `by` is a body that is proved by itself, reads by other such bodies count,
// too, and reads by the entry after them.
bool RankKindVerifier::isReadFirst(const std::string &state, uint32_t by) const {
  bool isAlone = hasBodies_ && !plan_.programs()->Get(by)->entry();
  for (const auto &[program, run] : runs_) {
    bool counts = isAlone || program == by || plan_.programs()->Get(program)->entry();
    if ((counts && run->getReadFirst().count(state)) || (isAlone && run->getReadAfter().count(state)))
      return true;
  }
  return false;
}

// If a plan trains one parameter that has a gradient, it must train all that have one. So must a plan that has a
// training step.
void RankKindVerifier::checkTrained() {
  std::set<std::string> trained;
  for (size_t i = 0; i < lengthOf(plan_.states()); ++i)
    if (const fb::State &state = *plan_.states()->Get(i); state.role() == fb::Role::gradient)
      for (size_t s = 0; s < lengthOf(state.segments()); ++s)
        trained.insert(state.segments()->Get(s)->name()->str());
  std::vector<const fb::State *> kept;
  bool isAnyTrained = hasTrainingStep(plan_);
  for (size_t i = 0; i < lengthOf(plan_.states()); ++i) {
    const fb::State &state = *plan_.states()->Get(i);
    bool isTrained = false, changes = false;
    for (size_t s = 0; s < lengthOf(state.segments()); ++s)
      isTrained |= trained.count(state.segments()->Get(s)->name()->str()) != 0;
    if (state.role() != fb::Role::parameter || !isTrained || stateShardBytes(plan_, state) == 0)
      continue;
    for (auto &[program, run] : runs_)
      changes |= run->numberOf(state) != run->stateAtStart(state).number();
    isAnyTrained |= changes;
    if (!changes)
      kept.push_back(&state);
  }
  for (const fb::State *state : kept)
    if (isAnyTrained)
      find("meaning",
           "state " + quoted(state->name()) + " has a gradient, and no program changes it; expected an update");
}

// A run that goes on from a checkpoint begins with the saved states, and with all others as they are declared. So only
// a saved state may carry a value from one program to a later one, and only to those that may read it (EntryRoles.h).
void RankKindVerifier::checkCarried() {
  for (uint32_t i = 0; i < lengthOf(plan_.states()); ++i) {
    const fb::State &state = *plan_.states()->Get(i);
    if (stateShardBytes(plan_, state) == 0)
      continue;
    std::string changing, reading; // names of programs
    for (auto &[index, run] : runs_) {
      const fb::Program &program = *plan_.programs()->Get(index);
      if (!program.entry())
        continue;
      bool changes = run->numberOf(state) != run->stateAtStart(state).number();
      bool readsFirst = run->getReadFirst().count(state.name()->str()) != 0;
      checkUse(index, *run, state, readsFirst, changes);
      if (isEntry(program, "init"))
        continue;
      changing = changes ? nameOf(index) : changing;
      reading = readsFirst ? nameOf(index) : reading;
    }
    if (!isSaved(state) && !changing.empty() && !reading.empty())
      find("state", reading + " reads state " + quoted(state.name()) + " as an earlier program has left it, and " +
                        changing +
                        " changes it, but no checkpoint holds it; expected a state that is saved, or one "
                        "that is written before it is read");
  }
}

// True if the run leaves what it has found there, packed by one of the plan's kernels.
bool RankKindVerifier::isPacked(PlanMeaning &run, const fb::State &state) const {
  ValueNumber left = run.numberOf(state);
  const Content &found = run.stateAtStart(state);
  for (uint32_t i = 0; i < lengthOf(plan_.kernels()); ++i) {
    KernelComputation computation = kernelComputation(*plan_.kernels()->Get(i));
    const KernelDef *def = findKernelDef(computation.name);
    if (def && def->kind == plan_.kernels()->Get(i)->kind() && def->packsFor &&
        resultOf(computation.number(), {}, 0, found.bytes(), {found}).number() == left)
      return true;
  }
  return false;
}

// Checks what an entry does with a state against the roles of both.
void RankKindVerifier::checkUse(uint32_t program, PlanMeaning &run, const fb::State &state, bool readsFirst,
                                bool changes) {
  EntryRole role(plan_, *plan_.programs()->Get(program));
  std::string readers = readsFirst ? role.expectedReaders(state) : "";
  std::string writers = changes ? role.expectedWriters(state) : "";
  std::string of = " state " + quoted(state.name()) + " of role " + fb::EnumNameRole(state.role());
  if (!readers.empty())
    find("state", nameOf(program) + " reads" + of + " as it finds it; expected only " + readers +
                      " to read it, because results would depend on which programs have run before");
  if (!writers.empty())
    find("state", nameOf(program) + " changes" + of + ", which checkpoints hold; expected only " + writers +
                      " to change it, because results would depend on how often " + nameOf(program) + " runs");
  else if (changes && isEntry(*plan_.programs()->Get(program), "init") && !isPacked(run, state))
    find("state", "init changes" + of +
                      ", and not by packing it; results are stated over what the host has loaded, plain "
                      "or packed");
}

// Tells where it begins to go wrong, as far as this is known.
std::string RankKindVerifier::cause(uint32_t program, const PlanMeaning &run) const {
  if (!plan_.programs()->Get(program)->expressions() || !run.getFirstOther())
    return "";
  std::string why = run.getWhy().empty() ? "" : ": " + run.getWhy();
  return "; the first to compute what the model does not is " + describe(plan_, *run.getFirstOther()) + why;
}

// Explains the output that has this key in a meaning, as far as this is known.
std::string RankKindVerifier::whyNotOutput(uint32_t program, PlanMeaning &run, const std::string &key,
                                           const ValueNumber &expected) const {
  const auto *outputs = plan_.programs()->Get(program)->outputs();
  for (uint32_t i = 0; i < lengthOf(outputs); ++i)
    if (const fb::Port &port = *outputs->Get(i); !port.absent() && key == "output " + port.name()->str())
      return run.whyNot(port, expected);
  return "";
}

// What is wrong if the number of a meaning's key is not the model's.
std::string RankKindVerifier::textOfOther(const std::string &key, uint32_t program) const {
  if (key == "calls")
    return nameOf(program) + " calls other programs or frames than the model needs";
  if (key == "checks")
    return nameOf(program) +
           " checks other indices or labels than the model: a kernel that reads one out of range ends the run";
  return key + " of " + nameOf(program) + " is not what the model computes";
}

void RankKindVerifier::checkStated(uint32_t program, PlanMeaning &run) {
  const auto *entries = plan_.programs()->Get(program)->meaning();
  if (!entries)
    return find("meaning", nameOf(program) + " does not state what it leaves in states and outputs; expected a plan of "
                                             "`cleave compile`");
  Meaning stated;
  Meaning found = run.getMeaning();
  for (const fb::Meaning *entry : *entries)
    if (!stated.emplace(entry->name()->str(), ValueNumber{entry->number(), entry->high()}).second)
      find("meaning",
           nameOf(program) + " states " + quoted(entry->name()) + " twice; expected one number for each name");
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
      find("meaning", textOfOther(key, program) + (why.empty() ? "" : ": " + why) + (key == "calls" ? "" : where));
    }
    if (known != stated.end())
      stated.erase(known);
  }
  for (const auto &[key, number] : stated)
    find("meaning", key == "checks"
                        ? textOfOther(key, program)
                        : nameOf(program) + " states what it leaves in " + key + ", which the plan does not have");
}

} // namespace cleave::plan
