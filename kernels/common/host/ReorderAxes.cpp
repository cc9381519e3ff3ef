#include "kernels/common/host/ReorderAxes.h"

#include <algorithm>

namespace cleave::rt {

namespace {

bool isPlainOrBlocked(const dnnl_memory_desc_t &desc) {
  return desc.format_kind == dnnl_blocked && desc.data_type == dnnl_f32 && desc.offset0 == 0 && desc.ndims > 0 &&
         desc.extra.flags == 0 && std::equal(desc.dims, desc.dims + desc.ndims, desc.padded_dims) &&
         std::all_of(desc.dims, desc.dims + desc.ndims, [](int64_t size) { return size > 0; });
}

struct Part {
  int64_t size, stride;
};

// The parts into which the layout splits a dimension, the finest part last.
std::vector<Part> partsOf(const dnnl_memory_desc_t &desc, int dim) {
  const dnnl_blocking_desc_t &blocking = desc.format_desc.blocking;
  std::vector<Part> parts;
  int64_t inner = 1, size = desc.dims[dim];
  for (int i = blocking.inner_nblks; i-- > 0; inner *= blocking.inner_blks[i])
    if (blocking.inner_idxs[i] == dim) {
      parts.insert(parts.begin(), {blocking.inner_blks[i], inner});
      size /= blocking.inner_blks[i];
    }
  parts.insert(parts.begin(), {size, blocking.strides[dim]});
  return parts;
}

// Removes the finest `size` elements.
void split(std::vector<Part> &parts, int64_t size) {
  Part &last = parts.back();
  if (last.size == size)
    parts.pop_back();
  else
    last = {last.size / size, last.stride * size};
}

} // namespace

std::vector<ReorderAxis> reorderAxes(const dnnl::memory::desc &from, const dnnl::memory::desc &to) {
  if (!isPlainOrBlocked(from.data) || !isPlainOrBlocked(to.data) || from.dims() != to.dims())
    return {};
  std::vector<ReorderAxis> axes;
  for (int dim = 0; dim < from.data.ndims; ++dim) {
    std::vector<Part> a = partsOf(from.data, dim), b = partsOf(to.data, dim);
    while (!a.empty() && !b.empty()) {
      int64_t size = std::min(a.back().size, b.back().size);
      if (a.back().size % size != 0 || b.back().size % size != 0)
        return {};
      if (size > 1)
        axes.push_back({size, a.back().stride, b.back().stride});
      split(a, size);
      split(b, size);
    }
  }
  return axes;
}

} // namespace cleave::rt
