// The kind of arithmetic of a kernel of Kernels.def. The cost model knows nothing else about the kernel.
#ifndef CLEAVE_RUNTIME_PLAN_KERNELWORK_H
#define CLEAVE_RUNTIME_PLAN_KERNELWORK_H

namespace cleave::rt {

enum class KernelWork {
  Vector,      // element by element; or none: elements are moved
  Attention,   // blocks of products, and the exponentials between them
  Product,     // of matrices
  Convolution, // products of windows and weights
  Window       // a maximum or mean of each window
};

} // namespace cleave::rt

#endif
