// The common part of the optimizers of Adam's family: running averages of the gradient and of its square.
#ifndef CLEAVE_COMPILER_TRAINING_OPTIMIZERS_MOMENTS_H
#define CLEAVE_COMPILER_TRAINING_OPTIMIZERS_MOMENTS_H

#include "compiler/Training/Optimizers/Optimizer.h"

namespace cleave {

// Returns the settings beta1, beta2, eps, and weight_decay with that default and that help.
std::vector<OptimizerSetting> momentSettings(double weightDecay, std::string help);

// Returns the states exp_avg and exp_avg_sq.
OptimizerStates momentStates(const OptimizerSettings &settings);

// Computes both averages of this step, in PyTorch's order of operations.
void updateMoments(OptimizerUpdate &u);

// Updates the averages, then param = param - lr / (1 - beta1^step) * exp_avg / (sqrt(exp_avg_sq) / sqrt(1 - beta2^step)
// + eps).
void descendByMoments(OptimizerUpdate &u);

} // namespace cleave

#endif
