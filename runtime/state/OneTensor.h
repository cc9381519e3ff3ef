// Compares tensors of a file that are one tensor of the model, under two names (LogicalSegment::names).
#ifndef CLEAVE_RUNTIME_STATE_ONETENSOR_H
#define CLEAVE_RUNTIME_STATE_ONETENSOR_H

#include "runtime/state/SafeTensors.h"

namespace cleave::rt {

// Fails if the values differ: one of the two would be lost. Of matrices, one may be the other transposed (--tie). Of two
// precisions, one may be the other rounded. NaN equals NaN.
Status checkOneTensor(const TensorView &a, const TensorView &b);

// True for the shapes of a matrix and its transpose.
bool areTransposed(const Shape &a, const Shape &b);

} // namespace cleave::rt

#endif
