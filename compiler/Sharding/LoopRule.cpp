#include "compiler/Sharding/LoopRule.h"

#include "compiler/Sharding/Linearity.h"
#include "compiler/Sharding/LoopSharding.h"
#include "compiler/Sharding/LoopTerms.h"
#include "dialects/Cleave/IR/Algebra.h"

#include "mlir/IR/TypeUtilities.h"

using namespace cleave;
using llvm::SmallVector;
using mlir::AffineExpr;

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

LoopFacts::LoopFacts(mlir::Operation *op) : op(op) {
  auto described = llvm::dyn_cast<mlir::shard::ShardingInterface>(op);
  if (!described)
    return;
  iterators = described.getLoopIteratorTypes();
  kinds = described.getReductionLoopIteratorKinds();
  maps = described.getIndexingMaps();
  if (maps.size() != op->getNumOperands() + op->getNumResults())
    return;
  for (auto [index, map] : llvm::enumerate(maps)) {
    auto shape = valueType(op, index).getShape();
    if (map.getNumResults() != shape.size())
      return;
    auto &dims = factors.emplace_back();
    for (auto [expr, size] : llvm::zip_equal(map.getResults(), shape))
      dims.push_back(factorsOf<Factors>(expr, size));
  }
  setSizes();
  isUsable = true;
}

void LoopFacts::setSizes() {
  sizes.assign(iterators.size(), -1);
  for (const auto &dims : factors)
    for (const Factors &dim : dims)
      for (auto [size, loop] : dim)
        sizes[loop] = sizes[loop] < 0 || sizes[loop] == size ? size : 0;
  for (auto [index, map] : llvm::enumerate(maps))
    for (auto [dim, expr] : llvm::enumerate(map.getResults()))
      for (int64_t loop = 0, count = sizes.size(); loop < count; ++loop)
        if (factors[index][dim].empty() && expr.isFunctionOfDim(loop))
          sizes[loop] = 0;
}

bool LoopFacts::walks(unsigned value, int64_t loop) const {
  return llvm::any_of(maps[value].getResults(), [&](AffineExpr expr) { return expr.isFunctionOfDim(loop); });
}

std::optional<ReduceKind> LoopFacts::reductionOf(int64_t loop) const {
  return cleave::reductionOf(iterators, kinds, loop);
}

bool LoopFacts::isLinear() const {
  if (!linear)
    linear = movesElements() || cleave::isLinear(op);
  return *linear;
}

bool LoopFacts::movesElements() const {
  auto compute = llvm::dyn_cast<ComputeOpInterface>(op);
  return compute && compute.getComputeKind() == ComputeKind::View;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

bool LoopRule::refuse(Refusal &refusal, unsigned operand, const llvm::Twine &reason,
                      std::optional<Distribution> wanted) const {
  if (!refusal)
    refusal = {operand, reason.str(), std::move(wanted)};
  return false;
}

bool LoopRule::fix(int64_t loop, const DimSplit &split) {
  if (isFixed[loop])
    return loops[loop] == split;
  if (split.isCut() && repeats[loop] && !repeatsAtCut(*repeats[loop], facts->sizeOf(loop), split.blocks))
    return false;
  for (unsigned axis : split.axes)
    if (loopOf(axis) >= 0)
      return false; // one axis cannot split two loops
  isFixed[loop] = true;
  loops[loop] = split;
  return true;
}

// Records that an operand repeats itself along the loop in exactly these ways: the loop may be cut there, or not at
// all.
bool LoopRule::restrict(int64_t loop, Repeats known) {
  if (repeats[loop])
    known = commonRepeats(*repeats[loop], known);
  if (facts->sizeOf(loop) <= 0 || known.empty())
    return fix(loop, DimSplit());
  bool passes = !loops[loop].isCut() || repeatsAtCut(known, facts->sizeOf(loop), loops[loop].blocks);
  repeats[loop] = std::move(known);
  return passes;
}

// Returns the loop that a cut of a dimension cuts, or -1. Blocks outside that loop are its outer loops, and are removed
// from `split`. The innermost loop may be cut into any number of blocks that divides a rank's elements of it.
static int64_t enter(llvm::ArrayRef<LoopFacts::Factor> factors, DimSplit &split) {
  for (auto [size, loop] : factors.drop_back(factors.empty() ? 0 : 1)) {
    if (split.blocks == 1 || size == 0 || split.blocks % size != 0)
      return loop;
    split.blocks /= size;
  }
  return factors.empty() || factors.back().size % split.blocks != 0 ? -1 : factors.back().loop;
}

// Returns the cut of a dimension that follows from the outermost of its loops that is cut.
std::optional<DimSplit> LoopRule::cutOf(llvm::ArrayRef<LoopFacts::Factor> factors) const {
  int64_t blocks = 1;
  for (auto [size, loop] : factors) {
    if (loops[loop].isCut())
      return DimSplit{blocks * loops[loop].blocks, loops[loop].axes};
    blocks *= size;
  }
  return std::nullopt;
}

// Returns the operand in the form that the loops known so far need. It is whole along all others.
Distribution LoopRule::wantedOf(unsigned operand) const {
  Distribution wanted = Distribution::whole(mesh, facts->factors[operand].size());
  for (auto [dim, factors] : llvm::enumerate(facts->factors[operand]))
    if (std::optional<DimSplit> cut = cutOf(factors))
      wanted.cut(dim, *cut);
  return wanted;
}

// Returns the repeats of one loop of a dimension. A repeat that only touches an end of the loop belongs to another
// loop, unless it is a single repetition, which may belong to either.
static Repeats repeatsOf(llvm::ArrayRef<LoopFacts::Factor> factors, llvm::ArrayRef<Repeat> repeats, int64_t loop) {
  Repeats made;
  int64_t stride = 1;
  for (auto [size, here] : llvm::reverse(factors)) {
    for (const Repeat &repeat : repeats)
      if (auto part = repeatWithin(repeat, stride, stride * size); here == loop && part)
        if (!part->isOne() || repeat.isOne())
          made.push_back(*part);
    stride *= size;
  }
  return made;
}

// Cuts the loops that walk the operand's dimension as the dimension is cut.
bool LoopRule::addDim(unsigned operand, unsigned dim) {
  const DimSplit &is = operands[operand].dims[dim];
  const auto &factors = facts->factors[operand][dim];
  DimSplit split = is;
  int64_t cut = is.isCut() ? enter(factors, split) : -1;
  AffineExpr expr = facts->maps[operand].getResult(dim);
  for (int64_t loop = 0, count = loops.size(); loop < count; ++loop)
    if (expr.isFunctionOfDim(loop) &&
        !(loop == cut ? fix(loop, split) : restrict(loop, repeatsOf(factors, is.repeats, loop))))
      return false;
  return true;
}

bool LoopRule::add(const Distribution &operand, Refusal &refusal) {
  unsigned index = operands.size();
  operands.push_back(operand);
  for (auto [dim, is] : llvm::enumerate(operand.dims)) {
    if (is.isFree)
      continue;
    DimSplit split = is;
    if (is.isCut() && enter(facts->factors[index][dim], split) < 0)
      return refuse(refusal, index, "needs all of dimension " + llvm::Twine(dim), wantedOf(index));
    if (!addDim(index, dim))
      return refuse(refusal, index, "takes its operands in parts that belong together", wantedOf(index));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

int64_t LoopRule::loopOf(unsigned axis) const {
  for (int64_t loop = 0, count = loops.size(); loop < count; ++loop)
    if (llvm::is_contained(loops[loop].axes, axis))
      return loop;
  return -1;
}

bool LoopRule::isTerm(unsigned operand, unsigned axis) const {
  const Distribution &is = operands[operand];
  bool isSummed = is.along[axis] == AxisDistribution::Partial && is.kind == ReduceKind::Sum;
  return isSummed || (is.isZero && is.along[axis] == AxisDistribution::Whole);
}

std::optional<AxisDistribution> LoopRule::splitAlong(unsigned axis, int64_t loop, Refusal &refusal) const {
  bool isReduction = facts->isReduction(loop);
  bool addsUp = isReduction && facts->reductionOf(loop) == ReduceKind::Sum;
  unsigned numOperands = operands.size();
  for (unsigned i = 0; i < numOperands; ++i) {
    AxisDistribution is = operands[i].along[axis];
    bool walks = facts->walks(i, loop);
    // Every rank would add an operand that the loop does not walk.
    bool passes = walks ? is == AxisDistribution::Split || is == AxisDistribution::Whole
                        : (isReduction ? addsUp && isTerm(i, axis) : is == AxisDistribution::Whole);
    if (is == AxisDistribution::Partial && passes)
      passes = facts->isLinear();
    if (!passes) {
      if (walks || !isReduction)
        refuse(refusal, i, "has a loop that is split over " + axesText(axis, mesh), wantedOf(i));
      else // no other form of a table or a bias helps: it must be added after the sum
        refuse(refusal, i, "adds it on every rank of " + axesText(axis, mesh), std::nullopt);
      return std::nullopt;
    }
  }
  bool isCombined = isReduction && facts->reductionOf(loop);
  for (unsigned i = numOperands; i < facts->maps.size(); ++i)
    if (facts->walks(i, loop) ? isReduction : !isCombined) {
      unsigned who = 0;
      while (who + 1 < numOperands && operands[who].along[axis] != AxisDistribution::Split)
        ++who;
      Distribution wanted = operands[who];
      if (int64_t dim = wanted.dimOf(axis); dim >= 0) {
        wanted.along[axis] = AxisDistribution::Whole;
        llvm::erase(wanted.dims[dim].axes, axis);
      }
      refuse(refusal, who, "needs all of the dimension that is split over " + axesText(axis, mesh), wanted);
      return std::nullopt;
    }
  return isReduction ? AxisDistribution::Partial : AxisDistribution::Split;
}

// True if the operand's elements are numbers that the op adds up or moves, so that they may be terms. They are not if
// they choose: indices and masks, beside floating-point operands or of another type than the result.
bool LoopRule::holdsNumbers(unsigned operand) const {
  mlir::Operation *op = facts->op;
  if (llvm::any_of(op->getOperands(), [](mlir::Value value) { return isFloat(value); }))
    return isFloat(op->getOperand(operand));
  if (auto indexing = llvm::dyn_cast<IndexingOpInterface>(op))
    if (auto read = indexing.getTableRead(); read && read->indices == op->getOperand(operand))
      return false;
  return op->getNumOperands() == 1 || (facts->movesElements() && mlir::getElementTypeOrSelf(op->getOperand(operand)) ==
                                                                     mlir::getElementTypeOrSelf(op->getResult(0)));
}

// For a linear op of terms, or an op that moves elements: the maximum of moved elements is the moved maximum.
std::optional<AxisDistribution> LoopRule::partialAlong(unsigned axis, Refusal &refusal) const {
  auto isPartial = [&](const Distribution &is) { return is.along[axis] == AxisDistribution::Partial; };
  unsigned term = llvm::find_if(operands, isPartial) - operands.begin();
  bool isSum = operands[term].kind == ReduceKind::Sum;
  Distribution whole = operands[term];
  whole.along[axis] = AxisDistribution::Whole;
  if (isSum ? !facts->isLinear() : !facts->movesElements()) {
    refuse(refusal, term, isSum ? "is not linear" : "does more than move elements", whole);
    return std::nullopt;
  }
  for (unsigned i = 0; i < operands.size(); ++i) {
    const Distribution &is = operands[i];
    bool isWhole = is.along[axis] == AxisDistribution::Whole, isNumber = holdsNumbers(i);
    bool isIdempotent = operands[term].kind == ReduceKind::Max || operands[term].kind == ReduceKind::Min;
    if (isPartial(is) ? isNumber && is.kind == operands[term].kind
                      : isWhole && (!isNumber || isIdempotent || (isSum && is.isZero)))
      continue;
    refuse(refusal, term, "uses it together with a value that is not a term of the sum", whole);
    return std::nullopt;
  }
  return AxisDistribution::Partial;
}

std::optional<AxisDistribution> LoopRule::resultAlong(unsigned axis, Refusal &refusal) const {
  if (int64_t loop = loopOf(axis); loop >= 0)
    return splitAlong(axis, loop, refusal);
  auto isAny = [&](AxisDistribution what) {
    return llvm::any_of(operands, [&](const Distribution &is) { return is.along[axis] == what; });
  };
  if (isAny(AxisDistribution::Partial))
    return partialAlong(axis, refusal);
  if (isAny(AxisDistribution::Varying))
    return AxisDistribution::Varying;
  return isAny(AxisDistribution::Owned) ? AxisDistribution::Owned : AxisDistribution::Whole;
}

// Returns how a dimension of a result is cut, if one of its loops is. Otherwise it repeats itself where its loops do.
DimSplit LoopRule::resultDim(llvm::ArrayRef<LoopFacts::Factor> factors) const {
  if (std::optional<DimSplit> cut = cutOf(factors))
    return *cut;
  DimSplit made;
  made.isFree = !factors.empty();
  int64_t stride = 1;
  for (auto [size, loop] : llvm::reverse(factors)) {
    bool isEqual = !isFixed[loop] && !repeats[loop] && !facts->isReduction(loop);
    made.isFree &= isEqual;
    if (isEqual && size > 0)
      made.repeats.push_back({stride, stride * size});
    else if (!isFixed[loop] && repeats[loop] && !facts->isReduction(loop))
      llvm::append_range(made.repeats, scaledRepeats(*repeats[loop], stride));
    stride *= size;
  }
  made.repeats = made.isFree ? Repeats() : joinedRepeats(std::move(made.repeats));
  return made;
}

std::optional<SmallVector<Distribution>> LoopRule::finish(Refusal &refusal) const {
  unsigned numOperands = operands.size();
  auto axes = mesh.getNames().size();
  SmallVector<AxisDistribution, 4> along(axes);
  std::optional<ReduceKind> kind;
  for (unsigned axis = 0; axis < axes; ++axis) {
    auto made = resultAlong(axis, refusal);
    if (!made)
      return std::nullopt;
    along[axis] = *made;
    if (*made != AxisDistribution::Partial)
      continue;
    int64_t loop = loopOf(axis);
    ReduceKind here = loop >= 0 ? *facts->reductionOf(loop) : ReduceKind::Sum;
    for (const Distribution &is : operands)
      if (is.along[axis] == AxisDistribution::Partial)
        here = is.kind;
    if (kind && *kind != here) {
      refuse(refusal, 0, "would be partial in two ways", std::nullopt);
      return std::nullopt;
    }
    kind = here;
  }
  auto isZero = [](const Distribution &is) { return is.isZero; };
  bool makesZero = !operands.empty() && llvm::any_of(operands, isZero) && facts->isLinear();
  for (unsigned i = 0; makesZero && i < numOperands; ++i)
    makesZero = operands[i].isZero || !isFloat(facts->op->getOperand(i));
  SmallVector<Distribution> results;
  for (unsigned i = numOperands; i < facts->maps.size(); ++i) {
    Distribution made = Distribution::whole(mesh, facts->factors[i].size());
    made.along = along;
    made.kind = kind.value_or(ReduceKind::Sum);
    made.isZero = makesZero;
    for (auto [dim, factors] : llvm::enumerate(facts->factors[i]))
      made.dims[dim] = resultDim(factors);
    results.push_back(std::move(made));
  }
  return results;
}
