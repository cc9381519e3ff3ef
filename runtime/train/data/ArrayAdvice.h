// Advice for a user whose array does not fit an input, in terms of NumPy, because it has written most data files.
#ifndef CLEAVE_RUNTIME_TRAIN_DATA_ARRAYADVICE_H
#define CLEAVE_RUNTIME_TRAIN_DATA_ARRAYADVICE_H

#include "runtime/train/data/DataSource.h"

namespace cleave::rt {

// For example "; the sizes fit in another order: save numpy.transpose(x, (0, 3, 1, 2))". There is similar advice if the
// dimension of samples is missing, or if a sample has other dimensions. Empty if nothing simple fits.
std::string shapeAdvice(const Shape &found, const InputType &input);

// "; save the array as x.astype(numpy.float32)"
std::string typeAdvice(ElementType wanted);

// For a file of another format, which the ending of its name tells: "; in Python, numpy.save("x.npy", ...) writes one of
// a table". Empty for other files.
std::string formatAdvice(const std::string &file);

} // namespace cleave::rt

#endif
