// The initial weights: the image inside the executable, the file beside it, or what the user gives instead.
//
// `--weights` may name a safetensors file, a directory of them, or a checkpoint (DIR with latest, or a step-* of it).
// It replaces tensors by their logical names. Parameters and buffers must all be there, those that --init would make
// (runtime/state/RandomInit.h) too; constants that it does not hold (a causal mask, say) keep the compiled values.
#ifndef CLEAVE_RUNTIME_STATE_WEIGHTSTORE_H
#define CLEAVE_RUNTIME_STATE_WEIGHTSTORE_H

#include "cleave/model.h"
#include "runtime/state/Checkpoint.h"
#include "runtime/state/Layout.h"

namespace cleave::rt {

// Opens the weights beside an artefact. `checksum` is that of the file that was written with it
// (cleave_model.weights_checksum): any other file is another compilation's, however well its tensors fit.
Status openWeightsBeside(const std::string &path, const char *checksum, SafeTensors *result);

class WeightStore {
public:
  // `directory` is where the executable lies; `replacement` is --weights, or empty.
  static Status open(const cleave_model &model, const std::string &directory, const std::string &replacement,
                     WeightStore *result);

  // Checks that every tensor that the plan takes from weights is there with its shape, and its type or another
  // floating-point type; all problems at once.
  Status check(const fb::Plan &plan) const;
  // The tensor for a segment of a state; null when there is none, or the segment begins with another value.
  const TensorView *find(const fb::State &state, const LogicalSegment &segment) const;
  // Of the values that the plan takes from here: two processes that train together must have the same. It is made of
  // checksums, where the file carries some; of tensors without, of their first 64 KiB.
  uint64_t identity(const fb::Plan &plan) const;
  // The checkpoint that the replacement is, or led to: DIR's latest, say; empty where it is none.
  const std::string &checkpoint() const { return checkpointPath_; }
  // A line for the user where it stands in for the one that `latest` names; else empty.
  const std::string &standIn() const { return standIn_; }
  // A line for the user about them; mostly empty.
  std::string note() const { return checkpoint_.checkpoint ? checkpoint_.checkpoint->note() : ""; }
  // Gives back the pages that were read so far.
  void dropPages() const;

private:
  Status replace(const std::string &path);
  const TensorView *findReplacement(std::string_view name) const;

  std::string origin_, replacementOrigin_, checkpointPath_, standIn_;
  std::string compiledProblem_; // why the file beside the executable is not used, where a replacement was given
  SafeTensors compiled_;
  std::vector<SafeTensors> replacements_;
  CheckpointTensors checkpoint_;
};

// Puts every state of a rank to its initial value; `seed` is that of what is drawn. Padding is zero.
Status initializeStates(const RankStates &states, const WeightStore &weights, uint64_t seed = 0);

} // namespace cleave::rt

#endif
