// Explains what is wrong with bytes that are not what the model computes, in words of distributions: which collective
// is missing, doubled, or not the model's.
//
// Expressions are numbers, and tell only that they differ. But the result of a collective of the bytes can be computed,
// and the plan lists the first 32 bits of the numbers of all values that the model computes (`Program.expressions`). If
// the model has a collective of exactly these bytes, and no instruction has run it, it is the missing one.
//
//   update[7] launch reads transient[0, 256): it holds each rank's own term, summed over nothing; expected the sum over
//   dp: an all_reduce over dp (sum) of transient[0, 1024) is missing before update[7]
//
// This is for messages only: nothing is accepted or refused because of it.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_MEANINGDIAGNOSIS_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_MEANINGDIAGNOSIS_H

#include "compiler/Planning/Verify/Facts/Meaning.h"

#include <functional>
#include <unordered_map>

namespace cleave::plan {

// The collectives that have run, by the expression of their results.
using RunCollectives = std::unordered_map<ValueNumber, CollectiveFacts, ValueNumberHash>;

class MeaningDiagnosis {
public:
  // `isModels` tells whether the model has an expression with this number.
  MeaningDiagnosis(const std::vector<AxesFacts> &groups, const RunCollectives &run,
                   std::function<bool(const ValueNumber &)> isModels)
      : groups_(groups), run_(run), isModels_(std::move(isModels)) {}

  // Describes a collective of these bytes that the model has and that no instruction has run: "it holds ...; expected
  // ...: a ... over dp". The caller adds " is missing before". Empty if there is none.
  std::string missing(const Content &content) const;
  // Returns why a collective that ran over `data` is not the model's; empty if this is not known.
  std::string wrong(const CollectiveFacts &facts, const Content &data) const;

private:
  bool isMeant(const CollectiveFacts &facts, const Content &data, bool isNew) const;
  // Visits all collectives of this many bytes, with the zeros that planning adds so that ranks have equal parts.
  void forEach(const Content &data, const std::function<bool(const CollectiveFacts &, const Content &)> &visit) const;

  const std::vector<AxesFacts> &groups_;
  const RunCollectives &run_;
  std::function<bool(const ValueNumber &)> isModels_;
};

// Returns the names of the axes: "dp" for "dp:2", or "dp and fsdp".
std::string axesOf(const AxesFacts &axes);

} // namespace cleave::plan

#endif
