// Describes two of oneDNN's layouts of an f32 tensor as one nest of axes, each with its stride in both layouts. A
// blocked dimension is split wherever one of the layouts splits it. Example, [k, n] by rows to blocks of 16 x 64:
//
//   axes      k/16    k 16   n/64   n 64
//   from      16*n    n      64     1
//   to        1024    64     64*k   1
#ifndef CLEAVE_KERNELS_COMMON_HOST_REORDERAXES_H
#define CLEAVE_KERNELS_COMMON_HOST_REORDERAXES_H

#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

namespace cleave::rt {

struct ReorderAxis {
  int64_t size, from, to; // strides in elements
};

// Returns the axes with more than one element. Empty if a layout is padded or of another type, or if the two layouts
// split a dimension into sizes that do not divide each other.
std::vector<ReorderAxis> reorderAxes(const dnnl::memory::desc &from, const dnnl::memory::desc &to);

} // namespace cleave::rt

#endif
