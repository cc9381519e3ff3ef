#include "compiler/Planning/Verify/Facts/EntryRoles.h"

#include "compiler/Planning/Verify/Facts/PlanFacts.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/SavedState.h"
#include "runtime/plan/ScalarNames.h"

namespace cleave::plan {

using namespace rt;

namespace {

enum Entry : unsigned {
  TrainStep = 1,
  Evaluate = 2,
  Infer = 4,
  Init = 8,
  InitOfTraining = 16,
  Snapshot = 32,
  Other = 64
};
constexpr unsigned kAll = 127;

struct NamedEntry {
  Entry entry;
  const char *name;
};
constexpr NamedEntry kEntries[] = {
    {TrainStep, "train_step"}, {Evaluate, "evaluate"}, {Infer, "infer"}, {Init, "init"}, {Snapshot, "snapshot"}};

struct Users {
  unsigned readers, writers; // sets of Entry
};
constexpr Users kWeights = {TrainStep | Evaluate | Infer | Init, TrainStep | Init};
constexpr Users kOfTraining = {TrainStep, TrainStep};
constexpr Users kNumbersOfRun = {TrainStep | Evaluate | Infer, 0};
constexpr Users kSettingsOfTraining = {TrainStep, 0};
constexpr Users kSumsOfEvaluation = {Evaluate, Evaluate};
constexpr Users kConstants = {kAll, kAll};
constexpr Users kWithinStep = {TrainStep, kAll};

Users usersOf(const fb::State &state) {
  std::string_view name = textOf(state.name());
  if (state.role() == fb::Role::constant || state.role() == fb::Role::coordinate)
    return kConstants;
  if (!isSaved(state))
    return kWithinStep;
  if (state.role() == fb::Role::parameter || state.role() == fb::Role::buffer)
    return kWeights;
  if (name == kSeedScalar || name == kStepScalar)
    return kNumbersOfRun;
  if (name == kRateScalar || name == kClipNormScalar)
    return kSettingsOfTraining;
  return isSumOfEvaluation(name) ? kSumsOfEvaluation : kOfTraining;
}

} // namespace

EntryRole::EntryRole(const fb::Plan &plan, const fb::Program &entry) : trains_(hasTrainingStep(plan)), self_(Other) {
  for (const NamedEntry &each : kEntries)
    if (isEntry(entry, each.name))
      self_ = each.entry == Init && trains_ ? InitOfTraining : each.entry;
}

std::string EntryRole::textOfOthers(unsigned allowed) const {
  if (allowed & self_)
    return "";
  std::string names;
  for (const NamedEntry &each : kEntries)
    if ((allowed & each.entry) && (each.entry != TrainStep || trains_) && (each.entry != Init || !trains_))
      names += (names.empty() ? "" : " or ") + std::string(each.name);
  if (names.empty())
    return allowed ? "train_step" : "the host";
  return names;
}

std::string EntryRole::expectedReaders(const fb::State &state) const {
  bool mayReadAll = self_ == Snapshot || self_ == Other;
  return mayReadAll ? "" : textOfOthers(usersOf(state).readers);
}

std::string EntryRole::expectedWriters(const fb::State &state) const {
  bool mayChangeAll = self_ == Other && !trains_;
  return mayChangeAll ? "" : textOfOthers(usersOf(state).writers);
}

} // namespace cleave::plan
