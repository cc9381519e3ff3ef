// Cleave's own optimizers, one function and one file each. Registry.cpp lists them.
#ifndef CLEAVE_COMPILER_TRAINING_OPTIMIZERS_OWNOPTIMIZERS_H
#define CLEAVE_COMPILER_TRAINING_OPTIMIZERS_OWNOPTIMIZERS_H

#include "compiler/Training/Optimizers/Optimizer.h"

namespace cleave {

Optimizer makeSgd();
Optimizer makeAdam();
Optimizer makeAdamW();
Optimizer makeAdadelta();
Optimizer makeRmsProp();
Optimizer makeAdagrad();
Optimizer makeLion();
Optimizer makeLamb();

} // namespace cleave

#endif
