#include "compiler/CostModel/RateTable.h"

#include <algorithm>
#include <cmath>

namespace cleave {

namespace {

// The interval of an axis that contains a size, and the position in it: 0 at its first value, 1 at its second.
struct GridInterval {
  size_t first = 0;
  double part = 0;
  double below = 1; // for a size below the first value: size / first value; else 1
};

GridInterval intervalOf(const std::vector<double> &values, double size) {
  GridInterval interval;
  if (size <= values.front()) {
    interval.below = std::max(size, 1e-9) / values.front();
    return interval;
  }
  while (interval.first + 1 < values.size() && values[interval.first + 1] < size)
    ++interval.first;
  if (interval.first + 1 < values.size())
    interval.part =
        std::log(size / values[interval.first]) / std::log(values[interval.first + 1] / values[interval.first]);
  return interval;
}

} // namespace

double RateTable::rateAt(const std::vector<double> &sizes) const {
  std::vector<GridInterval> intervals;
  double below = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    intervals.push_back(intervalOf(axes[i].values, sizes[i]));
    below *= intervals.back().below;
  }
  double logarithm = 0;
  for (size_t corner = 0; corner < size_t{1} << axes.size(); ++corner) {
    double weight = 1;
    size_t at = 0;
    for (size_t i = 0; i < axes.size(); ++i) {
      bool isSecond = (corner >> i) & 1;
      weight *= isSecond ? intervals[i].part : 1 - intervals[i].part;
      at = at * axes[i].values.size() + std::min(intervals[i].first + isSecond, axes[i].values.size() - 1);
    }
    if (weight > 0)
      logarithm += weight * std::log(rates[at]);
  }
  return std::exp(logarithm) * below;
}

} // namespace cleave
