// What to do with an array that an input does not take, in the words of NumPy: most data files are written by it.
#ifndef CLEAVE_RUNTIME_TRAIN_DATA_ARRAYADVICE_H
#define CLEAVE_RUNTIME_TRAIN_DATA_ARRAYADVICE_H

#include "runtime/train/data/DataSource.h"

namespace cleave::rt {

// "; the sizes fit in another order: save numpy.transpose(x, (0, 3, 1, 2))", and its like where the dimension of samples
// is missing or a sample is laid out in other dimensions; empty where nothing simple fits.
std::string shapeAdvice(const Shape &found, const InputType &input);

// "; save the array as x.astype(numpy.float32)"
std::string typeAdvice(ElementType wanted);

} // namespace cleave::rt

#endif
