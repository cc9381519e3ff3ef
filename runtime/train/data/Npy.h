// NumPy's array files: reads the .npy header, and writes arrays.
#ifndef CLEAVE_RUNTIME_TRAIN_DATA_NPY_H
#define CLEAVE_RUNTIME_TRAIN_DATA_NPY_H

#include "runtime/base/Status.h"
#include "runtime/state/SafeTensors.h"

namespace cleave::rt {

// The most bytes of an array's header. NumPy writes a few hundred for the arrays that are read here.
constexpr size_t kMostNpyHeader = size_t{1} << 16;

// Reads an .npy image (format 1 to 3, C order, little-endian); `view` points into it. `origin` names it in messages.
Status parseNpy(const std::byte *image, size_t size, const std::string &origin, TensorView *view);

// Writes an array as an .npy file, which appears whole or not at all. bf16 is refused, because NumPy does not have it.
Status writeNpy(const std::string &path, const TensorView &array);

} // namespace cleave::rt

#endif
