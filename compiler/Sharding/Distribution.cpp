#include "compiler/Sharding/Distribution.h"

#include "llvm/ADT/StringExtras.h"

using namespace cleave;
using llvm::SmallVector;

Distribution Distribution::whole(MeshAttr mesh, int64_t rank) {
  Distribution made;
  made.dims.resize(rank);
  made.along.resize(mesh.getNames().size(), AxisDistribution::Whole);
  return made;
}

Distribution Distribution::of(ShardingAttr sharding, MeshAttr mesh) {
  Distribution made = whole(mesh, sharding.getDims().size());
  // An axis of one rank splits nothing.
  auto numbersOf = [&](llvm::ArrayRef<llvm::StringRef> names) {
    SmallVector<unsigned, 2> numbers;
    for (llvm::StringRef name : names)
      if (mesh.getSize(name) > 1)
        numbers.push_back(mesh.getIndex(name));
    return numbers;
  };
  for (unsigned dim = 0; dim < made.dims.size(); ++dim)
    if (auto axes = numbersOf(sharding.getDimAxes(dim)); !axes.empty())
      made.cut(dim, {sharding.getSplitFactor(dim), axes});
  for (unsigned axis : numbersOf(sharding.getPartialAxes()))
    made.along[axis] = AxisDistribution::Partial;
  for (unsigned axis : numbersOf(sharding.getOwnerAxes()))
    made.along[axis] = AxisDistribution::Owned;
  made.kind = sharding.getKind();
  return made;
}

void Distribution::cut(unsigned dim, DimSplit split) {
  for (unsigned axis : split.axes)
    along[axis] = AxisDistribution::Split;
  dims[dim] = std::move(split);
}

int64_t Distribution::dimOf(unsigned axis) const {
  for (unsigned dim = 0; dim < dims.size(); ++dim)
    if (llvm::is_contained(dims[dim].axes, axis))
      return dim;
  return -1;
}

// Without a partial axis, `kind` has no meaning and does not count.
bool Distribution::operator==(const Distribution &other) const {
  return dims == other.dims && along == other.along && (kind == other.kind || !has(AxisDistribution::Partial)) &&
         isZero == other.isZero;
}

// Two checks are needed. First, each axis must have a distribution that can be used as the wanted one. Second, each
// dimension must be cut over the same axes in the same order, which no axis tells by itself: on a mesh of 2 x 2, the
// rank (dp 0, fsdp 1) has the second quarter of a dimension that is split over (dp, fsdp), and the third quarter of one
// that is split over (fsdp, dp).
bool Distribution::fits(const Distribution &wanted, llvm::ArrayRef<int64_t> shape) const {
  // A value that all ranks have whole can be used as their parts if it repeats itself: [a b a b] on each of two ranks
  // is the rank's half of [a b a b a b a b].
  auto repeats = [&](unsigned dim) {
    return dims[dim].isFree || (wanted.dims[dim].isCut() &&
                                repeatsAtCut(dims[dim].repeats, shape[dim], wanted.dims[dim].blocks));
  };
  for (unsigned axis = 0; axis < along.size(); ++axis) {
    AxisDistribution is = along[axis], as = wanted.along[axis];
    bool isIdempotent = wanted.kind == ReduceKind::Max || wanted.kind == ReduceKind::Min;
    bool passes = is == as || (is == AxisDistribution::Whole && as == AxisDistribution::Owned);
    // If each rank takes the whole x as its term, a maximum or a minimum of the terms is x again. A sum over n ranks is
    // n * x, which is x only for zero.
    if (is == AxisDistribution::Whole && as == AxisDistribution::Partial)
      passes = (isZero && wanted.kind == ReduceKind::Sum) || isIdempotent;
    if (is == AxisDistribution::Whole && as == AxisDistribution::Split)
      passes = repeats(wanted.dimOf(axis));
    if (!passes || (is == AxisDistribution::Partial && kind != wanted.kind))
      return false;
  }
  return llvm::all_of(llvm::seq<unsigned>(0, dims.size()), [&](unsigned dim) {
    const DimSplit &is = dims[dim], &as = wanted.dims[dim];
    return repeats(dim) || (is.axes == as.axes && is.blocks == as.blocks);
  });
}

std::string cleave::axesText(llvm::ArrayRef<unsigned> axes, MeshAttr mesh) {
  return llvm::join(llvm::map_range(axes, [&](unsigned axis) { return mesh.getNames()[axis].str(); }), " and ");
}

static SmallVector<unsigned> axesThat(const Distribution &value, AxisDistribution what) {
  SmallVector<unsigned> axes;
  for (unsigned axis = 0; axis < value.along.size(); ++axis)
    if (value.along[axis] == what)
      axes.push_back(axis);
  return axes;
}

std::string cleave::distributionText(const Distribution &found, MeshAttr mesh) {
  SmallVector<std::string> parts;
  for (unsigned dim = 0; dim < found.dims.size(); ++dim)
    if (const DimSplit &split = found.dims[dim]; split.isCut())
      parts.push_back("split over " + axesText(split.axes, mesh) + " along dimension " + std::to_string(dim) +
                      (split.blocks > 1 ? " in " + std::to_string(split.blocks) + " blocks" : ""));
  if (auto axes = axesThat(found, AxisDistribution::Partial); !axes.empty())
    parts.push_back("partial over " + axesText(axes, mesh) + " (" + stringifyReduceKind(found.kind).str() + ")");
  if (auto axes = axesThat(found, AxisDistribution::Owned); !axes.empty())
    parts.push_back("only on its owner over " + axesText(axes, mesh));
  if (auto axes = axesThat(found, AxisDistribution::Varying); !axes.empty())
    parts.push_back("another value on each rank of " + axesText(axes, mesh));
  return parts.empty() ? "whole" : llvm::join(parts, ", ");
}

static std::string stepText(AxisDistribution is, AxisDistribution as, bool sumsUp) {
  switch (is) {
  case AxisDistribution::Whole:
    if (as == AxisDistribution::Split)
      return "an all_slice";
    return as == AxisDistribution::Partial ? "it was reduced already, or it is no term of a sum: a collective too many"
                                           : "";
  case AxisDistribution::Split:
    if (as == AxisDistribution::Partial)
      return "it is a part, not a term: another collective than it needs";
    return as == AxisDistribution::Split ? "an all_gather and an all_slice" : "an all_gather";
  case AxisDistribution::Partial:
    if (as == AxisDistribution::Split)
      return "a reduce_scatter";
    if (as == AxisDistribution::Owned)
      return "a reduce to the owner";
    return sumsUp ? "an all_reduce, or a reduce_scatter where a part is enough," : "an all_reduce";
  case AxisDistribution::Owned:
    return "a broadcast from the owner";
  case AxisDistribution::Varying:
    return "it depends on the rank's coordinate: no collective makes one value of it";
  }
  return "";
}

std::string cleave::mendText(const Distribution &found, const Distribution &wanted, MeshAttr mesh) {
  // Axes that need the same step share one sentence: "an all_gather over dp and fsdp is missing".
  SmallVector<std::pair<std::string, SmallVector<unsigned>>> steps;
  for (unsigned axis = 0; axis < found.along.size(); ++axis) {
    AxisDistribution is = found.along[axis], as = wanted.along[axis];
    // An axis that stays split still needs collectives if it has to cut another dimension, or other blocks.
    bool isMoved = is == AxisDistribution::Split && as == AxisDistribution::Split &&
                   (found.dimOf(axis) != wanted.dimOf(axis) ||
                    found.dims[found.dimOf(axis)].blocks != wanted.dims[wanted.dimOf(axis)].blocks);
    if (is == as && !isMoved)
      continue;
    std::string text = stepText(is, as, wanted.along[axis] == AxisDistribution::Whole);
    auto known = llvm::find_if(steps, [&](const auto &step) { return step.first == text; });
    if (known == steps.end())
      steps.push_back({text, {axis}});
    else
      known->second.push_back(axis);
  }
  SmallVector<std::string> parts;
  // A text that begins with an article names a collective. The others are sentences.
  for (const auto &[text, axes] : steps)
    if (text.empty())
      continue;
    else if (llvm::StringRef(text).starts_with("a"))
      parts.push_back(text + " over " + axesText(axes, mesh) + " is missing");
    else
      parts.push_back(text + " (over " + axesText(axes, mesh) + ")");
  return parts.empty() ? "its parts lie in another order" : llvm::join(parts, ", and ");
}
