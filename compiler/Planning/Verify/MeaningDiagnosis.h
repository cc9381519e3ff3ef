// What is wrong with bytes that are not what the model computes, in words of distributions: which collective is
// missing, doubled or another one than the model's.
//
// Expressions are numbers, and say only that they differ. But what a collective would make of the bytes can be
// computed, and the plan lists (half of) the numbers of all that the model computes (`Program.expressions`). A
// collective of just these bytes that the model has, and that no instruction has run, is the one that is missing.
//
//   update[7] launch reads transient[0, 256): it holds each rank's own term, summed over nothing; expected the sum over
//   dp: an all_reduce over dp (sum) of transient[0, 1024) is missing before update[7]
//
// For messages only: nothing is accepted or refused because of it.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_MEANINGDIAGNOSIS_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_MEANINGDIAGNOSIS_H

#include "compiler/Planning/Verify/Meaning.h"

#include <functional>
#include <unordered_map>

namespace cleave::plan {

// The collectives that have run, by the expression of their results.
using RunCollectives = std::unordered_map<ValueNumber, CollectiveFacts, ValueNumberHash>;

class MeaningDiagnosis {
public:
  // `isModels`: is an expression with this number among the model's?
  MeaningDiagnosis(const std::vector<AxesFacts> &groups, const RunCollectives &run,
                   std::function<bool(const ValueNumber &)> isModels)
      : groups_(groups), run_(run), isModels_(std::move(isModels)) {}

  // A collective of these bytes that the model has and nobody has run: "it holds ...; expected ...: a ... over dp" and
  // the like, to be followed by " is missing before". Empty where there is none.
  std::string missing(const Content &content) const;
  // Why a collective that ran over `data` is not the model's. Empty where that is not known.
  std::string wrong(const CollectiveFacts &facts, const Content &data) const;

private:
  bool isMeant(const CollectiveFacts &facts, const Content &data, bool isNew) const;
  // All collectives of so many bytes, and of the zeros that planning adds so that ranks have equal parts.
  void forEach(const Content &data, const std::function<bool(const CollectiveFacts &, const Content &)> &visit) const;

  const std::vector<AxesFacts> &groups_;
  const RunCollectives &run_;
  std::function<bool(const ValueNumber &)> isModels_;
};

// "dp" of "dp:2", "dp and fsdp".
std::string axesOf(const AxesFacts &axes);

} // namespace cleave::plan

#endif
