#include "compiler/Import/ONNX/Operators/StridedIndices.h"
#include "compiler/Import/ONNX/Evaluate.h"

using namespace cleave;
using namespace cleave::onnx_import;

namespace {

// Returns the distance between neighbors along each dimension of the indices, 0 if its size is 1. Returns nullopt if a
// distance is not constant, or if an index is not in [0, size).
std::optional<Shape> distancesOf(Emitter &emit, const Literal &indices, int64_t size) {
  int64_t count = indices.numElements();
  if (indices.isFloat() || count < 2 || indices.isSplat())
    return std::nullopt;
  Shape places = stridesOf(indices.shape()), distances;
  auto isInside = [&](int64_t i) { return indices.asInt(i) >= 0 && indices.asInt(i) < size; };
  if (!isInside(0) || !llvm::all_of(places, isInside))
    return std::nullopt;
  for (int64_t place : places)
    distances.push_back(place ? indices.asInt(place) - indices.asInt(0) : 0);
  auto isExpected = [&](int64_t i) {
    int64_t expected = indices.asInt(0), rest = i;
    for (auto [place, distance] : llvm::zip(places, distances))
      if (place) {
        expected += rest / place * distance;
        rest %= place;
      }
    return indices.asInt(i) == expected;
  };
  // The last element is checked first: most other indices differ there, and are refused at no cost.
  if (!isExpected(count - 1) || !emit.budget.draw(Budget::Kind::Work, uint64_t(count)) ||
      !llvm::all_of(llvm::seq<int64_t>(0, count), isExpected))
    return std::nullopt;
  return distances;
}

// A dimension that is cut into parts by distances that divide each other, the largest first. An index is then a number
// whose digits are the positions in the parts.
//
//   distances 4, 2 and 1 in 16 elements     digits below 4, 2 and 2
struct Digits {
  Shape sizes, begins, counts;

  bool add(int64_t size, int64_t begin, int64_t count) {
    sizes.push_back(size), begins.push_back(begin), counts.push_back(count);
    return begin + count <= size;
  }
};

// Returns the digits, or nullopt if the distances do not divide each other. `order` lists dimensions of the indices by
// falling distance.
std::optional<Digits> digitsOf(const Literal &indices, llvm::ArrayRef<int64_t> distances, llvm::ArrayRef<int64_t> order,
                               int64_t size) {
  Digits digits;
  int64_t rest = indices.asInt(0), whole = size / distances[order[0]] * distances[order[0]];
  for (int64_t dim : order) {
    int64_t distance = distances[dim];
    if (whole % distance != 0 || !digits.add(whole / distance, rest / distance, indices.shape()[dim]))
      return std::nullopt;
    rest %= distance;
    whole = distance;
  }
  if (whole > 1)
    digits.add(whole, rest, 1);
  return digits;
}

// Returns the shape with `parts` in place of dimension `dim`.
Shape replaced(llvm::ArrayRef<int64_t> shape, int64_t dim, llvm::ArrayRef<int64_t> parts) {
  Shape result(shape.take_front(dim));
  result.append(parts.begin(), parts.end());
  result.append(shape.begin() + dim + 1, shape.end());
  return result;
}

} // namespace

Value cleave::onnx_import::takeStrided(Emitter &emit, Value x, const Literal &indices, int64_t dim) {
  Shape order, shape(shapeOf(x));
  auto distances = distancesOf(emit, indices, shape[dim]);
  if (!distances)
    return {};
  for (int64_t i = 0; i < indices.rank(); ++i)
    if (indices.shape()[i] > 1)
      order.push_back(i);
  if (llvm::any_of(order, [&](int64_t i) { return (*distances)[i] <= 0; }))
    return {};
  llvm::stable_sort(order, [&](int64_t a, int64_t b) { return (*distances)[a] > (*distances)[b]; });
  auto digits = digitsOf(indices, *distances, order, shape[dim]);
  if (!digits)
    return {};
  int64_t largest = (*distances)[order[0]];
  x = emit.sliceDim(x, dim, 0, shape[dim] / largest * largest);
  x = emit.reshape(x, replaced(shape, dim, digits->sizes));
  for (auto [i, begin] : llvm::enumerate(digits->begins))
    x = emit.sliceDim(x, dim + int64_t(i), begin, digits->counts[i]);
  Shape taken, permutation;
  for (int64_t i : order)
    taken.push_back(indices.shape()[i]);
  x = emit.reshape(x, replaced(shape, dim, taken));
  for (int64_t i = 0; i < rankOf(x); ++i)
    permutation.push_back(i);
  llvm::sort(permutation.begin() + dim, permutation.begin() + dim + order.size(),
             [&](int64_t a, int64_t b) { return order[a - dim] < order[b - dim]; });
  return emit.reshape(emit.transpose(x, permutation), replaced(shape, dim, indices.shape()));
}
