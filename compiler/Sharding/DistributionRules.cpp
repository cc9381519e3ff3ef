#include "compiler/Sharding/DistributionRules.h"

#include "compiler/Sharding/LoopRule.h"
#include "compiler/Sharding/LoopSharding.h"

using namespace cleave;
using llvm::SmallVector;
using mlir::RankedTensorType;
using mlir::Value;

// An ambiguous reshape has several possible distributions. At most this many are followed.
static constexpr size_t kMaxChoices = 32;

// True if elements are equal whose indices differ only between these strides.
static bool repeatsBetween(llvm::ArrayRef<mlir::Attribute> values, int64_t inner, int64_t outer) {
  for (int64_t index = 0, count = values.size(); index < count; ++index)
    if (index % outer >= inner && values[index] != values[index - inner])
      return false;
  return true;
}

// Returns where elements are equal whose indices differ only in this dimension. Large tables are not examined, because
// they are states.
static DimSplit repeatsAlong(mlir::DenseElementsAttr constant, unsigned dim) {
  constexpr int64_t kMaxElements = 1 << 16;
  auto shape = constant.getType().getShape();
  DimSplit made;
  made.isFree = shape[dim] <= 1 || constant.isSplat();
  if (made.isFree || constant.getNumElements() > kMaxElements)
    return made;
  int64_t stride = 1, size = shape[dim];
  for (int64_t below : shape.drop_front(dim + 1))
    stride *= below;
  auto values = llvm::to_vector(constant.getValues<mlir::Attribute>());
  for (int64_t inner = 1; inner < size; ++inner)
    for (int64_t outer = size; size % inner == 0 && outer > inner; --outer)
      if (size % outer == 0 && outer % inner == 0 && repeatsBetween(values, inner * stride, outer * stride)) {
        made.repeats.push_back({inner, outer});
        inner = outer - 1;
        break;
      }
  made.isFree = made.repeats == Repeats{{1, size}};
  if (made.isFree)
    made.repeats.clear();
  return made;
}

Distribution cleave::distributionOf(mlir::DenseElementsAttr constant, MeshAttr mesh) {
  Distribution made = Distribution::whole(mesh, constant.getType().getShape().size());
  for (unsigned dim = 0; dim < made.dims.size(); ++dim)
    made.dims[dim] = repeatsAlong(constant, dim);
  if (!constant.isSplat())
    return made;
  auto number = llvm::dyn_cast<mlir::FloatAttr>(constant.getSplatValue<mlir::Attribute>());
  made.isZero = number && number.getValue().isZero();
  return made;
}

//===----------------------------------------------------------------------===//
// The same bytes under another shape
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

bool cleave::isSameBytes(mlir::Operation *op) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1 || byteSize(op->getResult(0).getType()) == 0)
    return false;
  int64_t bytes = byteSize(op->getResult(0).getType());
  return byteSize(op->getOperand(0).getType()) == bytes && llvm::any_of(byteViews(op), [&](const ByteView &view) {
           return view.offset == 0 && byteSize(view.whole.getType()) == byteSize(view.part.getType());
         });
}

namespace {
// A reshape keeps a cut at its place in row-major order. So the number of elements inside a cut, `inner`, does not
// change. [4, 6] cut in dimension 1 has 6 inside, and so has [24] cut in 4 blocks.
class ReshapeRule {
public:
  // `whole` is the type of the whole result if the program notes it, and null otherwise.
  ReshapeRule(const Distribution &operand, RankedTensorType from, RankedTensorType to, RankedTensorType whole,
              MeshAttr mesh)
      : operand(operand), mesh(mesh), from(from.getShape()), to(to.getShape()), fromStrides(stridesOf(from.getShape())),
        toStrides(stridesOf(to.getShape())), whole(whole) {
    for (unsigned dim = 0; dim < operand.dims.size(); ++dim)
      if (const DimSplit &split = operand.dims[dim]; split.isCut())
        cuts.push_back({fromStrides[dim] * this->from[dim] / split.blocks, split.axes});
      else
        llvm::append_range(repeats, scaledRepeats(split.isFree ? Repeats{{1, this->from[dim]}} : split.repeats,
                                                  fromStrides[dim]));
    repeats = joinedRepeats(std::move(repeats));
  }

  void run(Distributions &made) {
    Distribution result = Distribution::whole(mesh, to.size());
    result.along = operand.along;
    result.kind = operand.kind;
    result.isZero = operand.isZero;
    for (unsigned dim = 0; dim < to.size(); ++dim)
      repeat(dim, result.dims[dim]);
    place(0, 0, result, made);
  }

private:
  struct Cut {
    int64_t inner;
    SmallVector<unsigned, 2> axes;
  };

  // Repeats keep their strides. If the rank has one repetition, it may be the end of one dimension and the beginning of
  // the next. The note tells which of them is longer in the whole.
  void repeat(unsigned dim, DimSplit &made) const {
    if (to[dim] == 1 && !whole) {
      made.isFree = true;
      return;
    }
    bool isLonger = whole && whole.getDimSize(dim) > to[dim];
    for (const Repeat &known : repeats)
      if (auto here = repeatWithin(known, toStrides[dim], toStrides[dim] * to[dim]))
        if (!here->isOne() || isLonger || (!whole && known.isOne()))
          made.repeats.push_back(*here);
    made.repeats = joinedRepeats(std::move(made.repeats));
    made.isFree = made.repeats == Repeats{{1, to[dim]}};
    if (made.isFree)
      made.repeats.clear();
  }

  // Returns the number of blocks into which a cut with `inner` elements inside divides the dimension; 0 if it does not
  // cut this dimension.
  int64_t blocksOf(unsigned dim, int64_t inner) const {
    int64_t end = toStrides[dim] * to[dim];
    return inner <= end && inner >= toStrides[dim] && end % inner == 0 && inner % toStrides[dim] == 0 ? end / inner : 0;
  }

  // True if the result has the size of the whole, after its cuts are undone. A dimension that repeats itself may
  // differ, because the whole may have any number of repetitions.
  bool isPartOfWhole(const Distribution &result) const {
    for (unsigned dim = 0; whole && dim < to.size(); ++dim) {
      int64_t size = to[dim];
      for (unsigned axis : result.dims[dim].axes)
        size *= mesh.getSizes()[axis];
      const DimSplit &is = result.dims[dim];
      bool repeats = is.isFree || (!is.repeats.empty() && size > 0 && whole.getDimSize(dim) % size == 0);
      if (size != whole.getDimSize(dim) && !repeats)
        return false;
    }
    return true;
  }

  // Places outer cuts first. Cuts at one place in one dimension are one cut over both axes. The likely choices come
  // first: a whole dimension of more than one element.
  void place(size_t next, unsigned first, const Distribution &result, Distributions &made) const {
    if (made.size() >= kMaxChoices)
      return;
    if (next == cuts.size()) {
      if (isPartOfWhole(result) && !llvm::is_contained(made, result))
        made.push_back(result);
      return;
    }
    SmallVector<std::tuple<int, unsigned, int64_t>> choices;
    for (unsigned dim = first; dim < to.size(); ++dim)
      if (int64_t blocks = blocksOf(dim, cuts[next].inner))
        choices.push_back({blocks > 1 ? 2 : (to[dim] > 1 ? 0 : 1), dim, blocks});
    llvm::sort(choices);
    for (auto [order, dim, blocks] : choices) {
      Distribution changed = result;
      auto axes = result.dims[dim].axes;
      if (!axes.empty() && result.dims[dim].blocks != blocks)
        continue;
      llvm::append_range(axes, cuts[next].axes);
      changed.cut(dim, {blocks, axes});
      place(next + 1, dim, changed, made);
    }
  }

  const Distribution &operand;
  MeshAttr mesh;
  llvm::ArrayRef<int64_t> from, to;
  SmallVector<int64_t> fromStrides, toStrides;
  RankedTensorType whole;
  SmallVector<Cut> cuts;
  Repeats repeats; // in strides of elements
};
} // namespace

//===----------------------------------------------------------------------===//
// Ops whose elements depend on their position
//===----------------------------------------------------------------------===//

// Returns the operand that says where the result begins; -1 if the op has none. The op is asked to make a part of
// itself: the operand that only the new op reads is the origin.
static int64_t originOperand(mlir::Operation *op) {
  mlir::Block scratch;
  auto type = RankedTensorType::get({valueType(op, op->getNumOperands()).getRank()},
                                    mlir::IntegerType::get(op->getContext(), 64));
  Value marker = scratch.addArgument(type, op->getLoc());
  mlir::OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&scratch);
  auto part = llvm::cast<PositionalOpInterface>(op).localize(builder, valueType(op, op->getNumOperands()), marker);
  mlir::Operation *localized = part ? part.getDefiningOp() : nullptr;
  int64_t found = -1;
  if (localized && localized->getNumOperands() == op->getNumOperands())
    for (mlir::OpOperand &operand : localized->getOpOperands())
      if (operand.get() != op->getOperand(operand.getOperandNumber()))
        found = operand.getOperandNumber();
  return found;
}

// Apart from their origin, such ops take scalars, which apply to all elements.
static std::optional<Distribution> applyPositional(mlir::Operation *op, llvm::ArrayRef<Distribution> operands,
                                                   MeshAttr mesh, FindOrigin findOrigin, Refusal &refusal) {
  RankedTensorType type = valueType(op, op->getNumOperands());
  int64_t origin = originOperand(op);
  Distribution made = Distribution::whole(mesh, type.getRank());
  if (origin >= 0) {
    auto placed = findOrigin(op->getOperand(origin), type);
    if (!placed) {
      refusal = {origin, "takes it for the place of the rank's part, and it is not", std::nullopt};
      return std::nullopt;
    }
    made = *placed;
    // What the evaluation of the place assumes: its numbers are the same on all ranks, but for coordinates.
    for (AxisDistribution is : operands[origin].along)
      if (is != AxisDistribution::Whole && is != AxisDistribution::Varying) {
        refusal = {origin, "takes it for the place of the rank's part",
                   Distribution::whole(mesh, operands[origin].dims.size())};
        return std::nullopt;
      }
  }
  for (unsigned i = 0; i < operands.size(); ++i)
    for (unsigned axis = 0; i != origin && axis < made.along.size(); ++axis) {
      AxisDistribution is = operands[i].along[axis];
      bool passes = is == AxisDistribution::Whole ||
                    (made.along[axis] == AxisDistribution::Whole && is == AxisDistribution::Owned);
      if (!passes) {
        refusal = {i, "makes every element of it", Distribution::whole(mesh, operands[i].dims.size())};
        return std::nullopt;
      }
      if (is == AxisDistribution::Owned)
        made.along[axis] = is;
    }
  return made;
}

//===----------------------------------------------------------------------===//
// All ops that compute
//===----------------------------------------------------------------------===//

// An op that says nothing about its loops needs all of every operand.
static std::optional<Distribution> joinWhole(llvm::ArrayRef<Distribution> operands, MeshAttr mesh, Refusal &refusal) {
  Distribution made = Distribution::whole(mesh, 0);
  for (unsigned i = 0; i < operands.size(); ++i)
    for (unsigned axis = 0; axis < made.along.size(); ++axis) {
      AxisDistribution is = operands[i].along[axis];
      if (is == AxisDistribution::Split || is == AxisDistribution::Partial) {
        refusal = {i, "does not say how it may be split", Distribution::whole(mesh, operands[i].dims.size())};
        return std::nullopt;
      }
      if (made.along[axis] != AxisDistribution::Varying && is != AxisDistribution::Whole)
        made.along[axis] = is;
    }
  return made;
}

static void keep(Distributions &all, Distribution one) {
  if (!llvm::is_contained(all, one))
    all.push_back(std::move(one));
}

// Applies the op to every combination of the operands' distributions that fits together.
static void applyLoops(const LoopFacts &facts, llvm::ArrayRef<Distributions> operands, MeshAttr mesh,
                       SmallVector<Distributions> &made, Refusal &refusal) {
  SmallVector<LoopRule, 1> choices = {LoopRule(facts, mesh)};
  for (const Distributions &operand : operands) {
    SmallVector<LoopRule, 1> longer;
    for (LoopRule &choice : choices)
      for (const Distribution &is : operand) {
        if (longer.size() == kMaxChoices)
          break;
        // A choice holds all operands so far. The last continuation moves it, so that it is not copied for each of
        // thousands of operands.
        LoopRule next = &is == &operand.back() ? std::move(choice) : choice;
        if (next.add(is, refusal))
          longer.push_back(std::move(next));
      }
    choices = std::move(longer);
  }
  for (const LoopRule &choice : choices)
    if (auto results = choice.finish(refusal))
      for (auto [all, one] : llvm::zip_equal(made, *results))
        keep(all, one);
}

SmallVector<Distributions> cleave::applyOp(mlir::Operation *op, llvm::ArrayRef<Distributions> operands, MeshAttr mesh,
                                           FindOrigin findOrigin, Refusal &refusal) {
  SmallVector<Distributions> made(op->getNumResults());
  Refusal why;
  auto firsts = llvm::map_to_vector(operands, [](const Distributions &all) { return all.front(); });
  auto positional = llvm::dyn_cast<PositionalOpInterface>(op);
  if (isSameBytes(op)) {
    auto note = op->getAttrOfType<mlir::TypeAttr>(kWholeAttr);
    auto whole = note ? llvm::dyn_cast<RankedTensorType>(note.getValue()) : RankedTensorType();
    if (whole && whole.getRank() != valueType(op, 1).getRank())
      whole = {};
    for (const Distribution &is : operands[0])
      if (!whole && op->getOperand(0).getType() == op->getResult(0).getType())
        made[0].push_back(is);
      else
        ReshapeRule(is, valueType(op, 0), valueType(op, 1), whole, mesh).run(made[0]);
    if (made[0].empty())
      why = {0, "makes of it no part of a whole", std::nullopt};
  } else if (positional && positional.dependsOnOrigin()) {
    if (auto result = applyPositional(op, firsts, mesh, findOrigin, why))
      made[0].push_back(*result);
  } else if (LoopFacts facts(op); facts.isDescribed()) {
    applyLoops(facts, operands, mesh, made, why);
  } else if (operands.empty()) {
    why.reason = "does not say what it makes";
  } else if (auto joined = joinWhole(firsts, mesh, why)) {
    for (auto [index, all] : llvm::enumerate(made)) {
      joined->dims.assign(valueType(op, op->getNumOperands() + index).getRank(), DimSplit());
      all.push_back(*joined);
    }
  }
  if (llvm::any_of(made, [](const Distributions &all) { return all.empty(); }))
    refusal = why ? why : Refusal{0, "has no result that is anything", std::nullopt};
  return made;
}
