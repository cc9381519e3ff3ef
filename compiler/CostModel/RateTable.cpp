#include "compiler/CostModel/RateTable.h"

#include <algorithm>
#include <cmath>

namespace cleave {

namespace {

// Between which two values of an axis a size lies: so much of the way from the first to the second.
struct Place {
  size_t first = 0;
  double part = 0;
  double below = 1; // the share of the least value that a smaller size is
};

Place placeOf(const std::vector<double> &values, double size) {
  Place place;
  if (size <= values.front()) {
    place.below = std::max(size, 1e-9) / values.front();
    return place;
  }
  while (place.first + 1 < values.size() && values[place.first + 1] < size)
    ++place.first;
  if (place.first + 1 < values.size())
    place.part = std::log(size / values[place.first]) / std::log(values[place.first + 1] / values[place.first]);
  return place;
}

} // namespace

double RateTable::rateAt(const std::vector<double> &sizes) const {
  std::vector<Place> places;
  double below = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    places.push_back(placeOf(axes[i].values, sizes[i]));
    below *= places.back().below;
  }
  double logarithm = 0;
  for (size_t corner = 0; corner < size_t{1} << axes.size(); ++corner) {
    double weight = 1;
    size_t at = 0;
    for (size_t i = 0; i < axes.size(); ++i) {
      bool isSecond = (corner >> i) & 1;
      weight *= isSecond ? places[i].part : 1 - places[i].part;
      at = at * axes[i].values.size() + std::min(places[i].first + isSecond, axes[i].values.size() - 1);
    }
    if (weight > 0)
      logarithm += weight * std::log(rates[at]);
  }
  return std::exp(logarithm) * below;
}

} // namespace cleave
