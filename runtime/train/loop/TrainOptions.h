// The options of `train`, with their defaults.
#ifndef CLEAVE_RUNTIME_TRAIN_LOOP_TRAINOPTIONS_H
#define CLEAVE_RUNTIME_TRAIN_LOOP_TRAINOPTIONS_H

#include "runtime/state/CheckpointIndex.h"
#include "runtime/train/data/Sampler.h"

#include <optional>
#include <string>
#include <vector>

namespace cleave::rt {

// The learning rate if neither the user nor the optimizer gives one.
constexpr double kDefaultRate = 1e-3;

struct TrainOptions {
  std::vector<std::string> data, valData; // see DataSpec.h
  std::optional<uint64_t> epochs, steps;  // of all training, resumed parts included; default: one epoch
  std::optional<uint64_t> seed;           // default: 0, or the checkpoint's
  bool shuffle = true;
  LastBatch lastBatch = LastBatch::Drop;

  std::optional<double> lr;            // default: the model's property "lr", or kDefaultRate
  std::string lrSchedule = "constant"; // see LearningRateSchedule.h
  std::optional<double> clipGradNorm;  // default: off

  uint64_t evalEvery = 0; // steps; 0: at the end of each epoch
  uint64_t patience = 0;  // evaluations without a better loss after which training stops; 0: never

  std::string save;       // directory; empty: nothing is saved
  uint64_t saveEvery = 0; // steps; 0: at the end only
  unsigned keep = 0;      // newest checkpoints that are kept; 0: all
  bool saveBest = false;
  std::optional<unsigned> keepBest; // of those saved only as the best so far: newest that are kept; default: 1
  CheckpointForm checkpoint = CheckpointForm::Sharded;
  std::optional<bool> saveAsync; // default: true if the model has a snapshot
  std::string resume;            // a checkpoint, or "auto": the latest of `save` if there is one

  uint64_t logEvery = 10;
  std::string metrics, tensorboard;
};

} // namespace cleave::rt

#endif
