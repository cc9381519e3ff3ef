// Learning-rate schedules, with PyTorch's definitions.
//
//   constant
//   step,size=N|Nepoch[s][,gamma=G]     StepLR: lr * G^floor(k / N), in steps or in epochs ("every" means "size" too);
//                                       G is 0.1 if it is not given
//   cosine[,warmup=W][,min=M][,steps=S] W steps of LinearLR from lr/W up to lr, then CosineAnnealingLR down to M at step
//                                       S:  M + (lr - M) * (1 + cos(pi * t / T)) / 2,  t = k - W, T = S - W
//   linear[,warmup=W][,min=M][,steps=S] the same warm-up, then LinearLR down to M:  lr + (M - lr) * t / T
//
// k counts steps from 0: step k + 1 of training uses lr(k). `constant` and `step` take warmup too. Without `steps`, S is
// the number of steps of the run. After step S the rate stays at M.
#ifndef CLEAVE_RUNTIME_TRAIN_LOOP_LEARNINGRATESCHEDULE_H
#define CLEAVE_RUNTIME_TRAIN_LOOP_LEARNINGRATESCHEDULE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>

namespace cleave::rt {

struct LearningRateSchedule {
  enum class Kind { Constant, Step, Cosine, Linear };

  Kind kind = Kind::Constant;
  uint64_t warmup = 0; // steps
  uint64_t size = 0;   // of Step
  bool sizeInEpochs = false;
  double gamma = 0.1;
  double min = 0;
  uint64_t steps = 0; // of Cosine and Linear: where they reach `min`; 0: at the end of the run

  // The rate of step k (from 0) in epoch `epoch` (from 0), of `total` steps.
  double rate(double lr, uint64_t k, uint64_t epoch, uint64_t total) const;
};

Status parseLearningRateSchedule(const std::string &text, LearningRateSchedule *result);

} // namespace cleave::rt

#endif
