// The rate of one kind of kernel by its sizes. Rates are measured on a grid, and interpolated between its points.
//
//   matmul f32 nn over m = 4, 16, 64 and n = 4, 16, 64 and k = 4, 16, 64      27 rates, k the fastest
//
// Interpolation is linear in each size, over logarithms of sizes and rates. A size above the grid has the rate of the
// grid's edge, because kernels do not get faster there. Below the grid, the rate falls in proportion to the size: the
// kernel takes as long as with the smallest size. Rejected: a formula of a few constants. Libraries choose loops by
// size, and each loop has its own steps.
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
  std::vector<double> rates; // FLOP/s; one for each combination of the axes' values

  // Returns the rate for `sizes`, which has one size for each axis.
  double rateAt(const std::vector<double> &sizes) const;
};

} // namespace cleave

#endif
