// The initial weights: from the image inside of the executable, from the file next to it, or from --weights.
//
// `--weights` may name a safetensors file, a directory of such files, or a checkpoint (DIR with latest, or a step-* of
// it). It replaces tensors by their logical names. It must have all parameters and buffers, including those that --init
// would draw (runtime/state/RandomInit.h). Constants that it does not have (such as a causal mask) keep the compiled
// values.
#ifndef CLEAVE_RUNTIME_STATE_WEIGHTSTORE_H
#define CLEAVE_RUNTIME_STATE_WEIGHTSTORE_H

#include "cleave/model.h"
#include "runtime/state/Checkpoint.h"
#include "runtime/state/Layout.h"

namespace cleave::rt {

// Opens the file of weights that was written with an executable or a library. `checksum` is that file's
// cleave_model.weights_checksum. Any other file belongs to another compilation, and is refused even if its tensors fit.
Status openWeightsBeside(const std::string &path, const char *checksum, SafeTensors *result);

class WeightStore {
public:
  // `directory` is the executable's folder. `replacement` is the option --weights, or empty. Messages call the option
  // `option`: it has another name in the C API.
  static Status open(const cleave_model &model, const std::string &directory, const std::string &replacement,
                     WeightStore *result, const char *option = "--weights");

  // Checks that every tensor that the plan needs is there, with its shape, and with its type or another floating-point
  // type. Reports all problems at once. Tensors of --weights that are names of one tensor must have the same values.
  // `leftOut` gets a line for the user about tensors of --weights that the model does not have; mostly empty.
  Status check(const fb::Plan &plan, std::string *leftOut = nullptr) const;
  // The tensor for a segment of a state. Null if there is none, or if the segment's initial value is not from a file.
  const TensorView *find(const fb::State &state, const LogicalSegment &segment) const;
  // A hash of the values that the plan uses. Processes that train together must have the same one. It is made of the
  // checksums if the file has them, and otherwise of all bytes.
  uint64_t identity(const fb::Plan &plan) const;
  // For example "weight 'fc.weight' holds a value that is not a number". The text is about the first parameter or buffer
  // with a NaN, or else about the first parameter with an infinite value. Empty if there is none. Reads all weights.
  std::string findNonFinite(const fb::Plan &plan) const;
  // The checkpoint that the replacement is or leads to (for example, DIR's latest); empty if there is none.
  const std::string &checkpoint() const { return checkpointPath_; }
  // A line for the user if the checkpoint is not the one that `latest` names, but replaces it; else empty.
  const std::string &standIn() const { return standIn_; }
  // A line for the user about the checkpoint's checksums; mostly empty.
  std::string note() const { return checkpoint_.checkpoint ? checkpoint_.checkpoint->note() : ""; }
  // Releases the pages that were read so far.
  void dropPages() const;

private:
  Status replace(const std::string &path);
  // The tensors of --weights that are a segment's by one of its names. All have the same values (check()), maybe rounded:
  // the first one is the widest of those with the segment's shape.
  std::vector<const TensorView *> findReplacements(const LogicalSegment &segment) const;

  // The type of the segment's tensor in --weights, if the type is not read. Otherwise empty.
  std::string unreadReplacement(const LogicalSegment &segment) const;
  // Says what to do if the file has the tensor transposed: a checkpoint, or any file by another name. Otherwise empty.
  std::string tieAdvice(const TensorView &tensor, const LogicalSegment &segment) const;

  std::string option_, origin_, replacementOrigin_, checkpointPath_, standIn_;
  std::string compiledProblem_; // why the file next to the executable is not used, if there is a replacement
  SafeTensors compiled_;
  std::vector<SafeTensors> replacements_;
  CheckpointTensors checkpoint_;
};

// Gives every state of a rank its initial value. `seed` is that of drawn values. Padding becomes zero.
Status initializeStates(const RankStates &states, const WeightStore &weights, uint64_t seed = 0);

} // namespace cleave::rt

#endif
