// The rate of one kind of kernel by its sizes: measured on a grid, interpolated between.
//
//   matmul f32 nn over m = 4, 16, 64 and n = 4, 16, 64 and k = 4, 16, 64      27 rates, k the fastest
//
// Over logarithms of sizes and rates, linear in each size. A size above the grid has the rate of its edge: kernels are
// as fast as they get there. Below it the rate falls with the size: the kernel takes as long as with the least one.
// Rejected: a formula of a few constants. Libraries choose among loops by size, and each has steps of its own.
#ifndef CLEAVE_COMPILER_COSTMODEL_RATETABLE_H
#define CLEAVE_COMPILER_COSTMODEL_RATETABLE_H

#include <string>
#include <vector>

namespace cleave {

struct RateTable {
  struct Axis {
    std::string name;
    std::vector<double> values; // ascending, positive
  };
  std::string kernel, type, variant;
  std::vector<Axis> axes;
  std::vector<double> rates; // FLOP/s; as many as the axes' values multiplied

  // One size for each axis.
  double rateAt(const std::vector<double> &sizes) const;
};

} // namespace cleave

#endif
