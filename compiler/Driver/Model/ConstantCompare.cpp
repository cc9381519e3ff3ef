#include "compiler/Driver/Model/ConstantCompare.h"

#include "dialects/Cleave/IR/OpSupport.h"

#include "mlir/IR/Matchers.h"

using namespace cleave;

using Shape = llvm::ArrayRef<int64_t>;

ImportedStates::ImportedStates(const ImportedModel &model) : model(model) {
  for (auto state : mlir::ModuleOp(*model.module).getOps<StateOp>())
    states[state.getSymName()] = state;
}

llvm::ArrayRef<char> ImportedStates::constantBytes(llvm::StringRef name) const {
  StateOp state = states.lookup(name);
  if (!state || state.getRole() != Role::Constant)
    return {};
  const WeightTensor *tensor = model.weights.find(mlir::cast<SegmentAttr>(state.getSegments()[0]).getName().strref());
  return tensor ? tensor->bytes : llvm::ArrayRef<char>();
}

std::optional<int64_t> cleave::indexIn(Shape other, Shape one, int64_t outer, int64_t index) {
  int64_t found = 0, stride = 1;
  for (size_t dim = one.size(); dim-- > 0;) {
    int64_t at = index % one[dim];
    index /= one[dim];
    if (one[dim] != other[dim]) {
      if (one[dim] % outer != 0 || other[dim] % outer != 0 || other[dim] < one[dim])
        return std::nullopt;
      int64_t inner = one[dim] / outer;
      at = at / inner * (other[dim] / outer) + at % inner;
    }
    found += at * stride;
    stride *= other[dim];
  }
  return found;
}

namespace {

// The elements of a constant. They can be compared for equality.
class Elements {
public:
  Elements(mlir::Value value, const ImportedStates &states) {
    mlir::matchPattern(value, mlir::m_Constant(&dense));
    if (auto read = value.getDefiningOp<ReadOp>()) {
      state = read.getState();
      bytes = states.constantBytes(state);
    }
  }

  bool isKnown() const { return dense || !bytes.empty(); }
  // For states whose elements are unknown: parameters, which are one state in both imports.
  bool isSameState(const Elements &other) const { return state == other.state; }
  bool isSame(const Elements &other) const {
    return dense ? dense == other.dense : bytes.data() == other.bytes.data() && bytes.size() == other.bytes.size();
  }
  bool isComparable(const Elements &other) const { return !dense == !other.dense; }
  bool isSplat() const { return dense && dense.isSplat(); }
  // Must be called before equals().
  void unpack(int64_t count) {
    elementBytes = bytes.size() / static_cast<size_t>(std::max<int64_t>(1, count));
    if (dense && !dense.isSplat())
      attributes = llvm::to_vector(dense.getValues<mlir::Attribute>());
    else if (dense)
      attributes = {dense.getSplatValue<mlir::Attribute>()};
  }
  bool equals(int64_t i, const Elements &other, int64_t j) const {
    return dense ? attribute(i) == other.attribute(j) : slice(i) == other.slice(j);
  }

private:
  mlir::Attribute attribute(int64_t i) const { return attributes.size() == 1 ? attributes[0] : attributes[i]; }
  llvm::ArrayRef<char> slice(int64_t i) const { return bytes.slice(i * elementBytes, elementBytes); }

  mlir::DenseElementsAttr dense;
  llvm::StringRef state;
  llvm::ArrayRef<char> bytes;
  llvm::SmallVector<mlir::Attribute> attributes;
  size_t elementBytes = 0;
};

// Compares elements for one value of `outer`. For two splats, which may be large, one element is enough.
bool agree(const Elements &one, Shape shape, const Elements &other, Shape otherShape, int64_t outer) {
  int64_t count = mlir::ShapedType::getNumElements(shape);
  if (one.isSplat() && other.isSplat())
    count = std::min<int64_t>(count, 1);
  for (int64_t i = 0; i < count; ++i) {
    std::optional<int64_t> twin = indexIn(otherShape, shape, outer, i);
    if (!twin || !one.equals(i, other, *twin))
      return false;
  }
  return true;
}

// True if the constants agree for some value of `outer`, because a shape does not say how the samples are arranged in a
// dimension.
bool agreeSomehow(const Elements &one, Shape shape, const Elements &other, Shape otherShape) {
  int64_t largest = 1;
  for (auto [size, otherSize] : llvm::zip(shape, otherShape))
    largest = std::max(largest, size != otherSize ? size : 1);
  constexpr int64_t kMostOuter = 1 << 12;
  for (int64_t outer = 1; outer <= std::min(largest, kMostOuter); ++outer)
    if (largest % outer == 0 && agree(one, shape, other, otherShape, outer))
      return true;
  return false;
}

} // namespace

bool cleave::differsBesidesSize(mlir::Value value, const ImportedStates &states, mlir::Value twin,
                                const ImportedStates &twinStates) {
  Elements one(value, states), other(twin, twinStates);
  Shape shape = shapeOf(value), otherShape = shapeOf(twin);
  if (!one.isKnown() && !other.isKnown())
    return !one.isSameState(other) || shape != otherShape;
  if (!one.isKnown() || !other.isKnown() || !one.isComparable(other) || shape.size() != otherShape.size())
    return true;
  if (shape == otherShape && one.isSame(other))
    return false;
  one.unpack(mlir::ShapedType::getNumElements(shape));
  other.unpack(mlir::ShapedType::getNumElements(otherShape));
  return !agreeSomehow(one, shape, other, otherShape);
}
