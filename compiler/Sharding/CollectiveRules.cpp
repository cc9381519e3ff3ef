// The rules for the collectives of the shard dialect. Collectives change distributions, so this file, and no other,
// knows ops by name.
#include "compiler/Sharding/Collectives.h"
#include "compiler/Sharding/DistributionRules.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace cleave;
using llvm::SmallVector;
namespace shard = mlir::shard;

namespace {
// Applies one collective to one possible distribution of its operand. `is` does not change. `made` becomes the
// distribution of the result. A rule that refuses may change `wanted`, which begins as `is`, to the distribution that
// it needs: the message names the steps from `is` to `wanted` (mendText).
class CollectiveRule {
public:
  CollectiveRule(mlir::Operation *op, llvm::ArrayRef<shard::GridAxis> list, const Distribution &is, MeshAttr mesh,
                 Refusal &refusal)
      : is(is), made(is), wanted(is), shape(llvm::cast<mlir::RankedTensorType>(op->getOperand(0).getType()).getShape()),
        mesh(mesh), refusal(refusal) {
    for (shard::GridAxis axis : list)
      if (axis >= 0 && axis < static_cast<int64_t>(mesh.getSizes().size()) && mesh.getSizes()[axis] > 1)
        axes.push_back(axis);
  }

  // Turns partial values over the axes into `what`. A maximum of equal values is that value, so it also takes whole
  // ones.
  bool reduce(shard::ReductionKind reduction, AxisDistribution what) {
    auto kind = kindOf(reduction);
    bool isIdempotent = kind == ReduceKind::Max || kind == ReduceKind::Min;
    for (unsigned axis : axes) {
      bool isTerm = is.along[axis] == AxisDistribution::Partial && kind == is.kind;
      if (!isTerm && !(is.along[axis] == AxisDistribution::Whole && (isIdempotent || is.isZero))) {
        wanted.along[axis] = AxisDistribution::Partial;
        wanted.kind = kind.value_or(ReduceKind::Sum);
        return refuse(is.along[axis] == AxisDistribution::Partial ? "combines it in another way"
                                                                  : "combines terms over " + text());
      }
      made.along[axis] = what;
    }
    return true;
  }

  // Cuts the dimension once more, inside the cuts that it already has.
  // For example, a dimension of 8 is split over fsdp = 2. A cut over dp = 2 makes its axes (fsdp, dp), and of its 4
  // elements each rank keeps 2. This reads `made` and not `is`, because a reduce_scatter has made the axes whole before
  // it cuts.
  bool cut(int64_t dim) {
    for (unsigned axis : axes)
      if (made.along[axis] != AxisDistribution::Whole) {
        wanted.along[axis] = AxisDistribution::Whole;
        return refuse("takes the rank's part of it over " + text());
      }
    DimSplit split = made.dims[dim];
    if (split.blocks > 1)
      return refuse("would cut a dimension of blocks");
    // A dimension that repeats itself is cut, too. All ranks have the same bytes, but the whole has all repetitions:
    // for a sum over it, the ranks' sums must be added.
    llvm::append_range(split.axes, axes);
    made.cut(dim, {1, split.axes});
    return true;
  }

  // A gather joins the parts of the ranks that differ only along its axes. These parts are neighbours only if the axes
  // are the innermost ones of the cut. For example, a dimension is split over (fsdp, dp) on a mesh of 2 x 2. A gather
  // over dp joins the first quarter and the second, and the result is split over fsdp. A gather over fsdp would join
  // the first quarter and the third.
  bool gather(int64_t dim) {
    DimSplit split = is.dims[dim];
    auto areWhole = [&](unsigned axis) { return is.along[axis] == AxisDistribution::Whole; };
    if (split.isFree && llvm::all_of(axes, areWhole))
      return true;
    if (llvm::all_of(axes, areWhole) && repeatsAtCut(split.repeats, shape[dim], 1)) {
      // Equal parts become more repetitions: two ranks with [a b a b] gather [a b a b a b a b], and the repeat {2, 4}
      // becomes {2, 8}.
      int64_t size = shape[dim], all = size * numRanks();
      for (Repeat &repeat : made.dims[dim].repeats)
        repeat.outer = repeat.outer == size ? all : repeat.outer;
      return true;
    }
    bool isInside = split.blocks == 1 && split.axes.size() >= axes.size() &&
                    llvm::equal(llvm::ArrayRef(split.axes).take_back(axes.size()), axes);
    if (!isInside) {
      if (llvm::all_of(axes, [&](unsigned axis) { return is.along[axis] != AxisDistribution::Split; }))
        wanted.cut(dim, {1, axes});
      return refuse("puts parts over " + text() + " together along dimension " + std::to_string(dim));
    }
    split.axes.truncate(split.axes.size() - axes.size());
    made.dims[dim] = split;
    for (unsigned axis : axes)
      made.along[axis] = AxisDistribution::Whole;
    return true;
  }

  // Makes owned values whole. Values that are whole already stay so.
  bool broadcast() {
    for (unsigned axis : axes) {
      if (is.along[axis] != AxisDistribution::Owned && is.along[axis] != AxisDistribution::Whole) {
        wanted.along[axis] = AxisDistribution::Owned;
        return refuse("sends what the rank at coordinate 0 of " + text() + " has");
      }
      made.along[axis] = AxisDistribution::Whole;
    }
    return true;
  }

  bool fromFirst(llvm::ArrayRef<int64_t> root) {
    return llvm::all_of(root, [](int64_t at) { return at == 0; }) ||
           refuse("has another root than the owner, the rank at coordinate 0,");
  }

  bool refuse(const llvm::Twine &reason) {
    if (!refusal)
      refusal = {0, reason.str(), wanted};
    return false;
  }

  Distribution result() const { return made; }

private:
  std::string text() const { return axesText(axes, mesh); }

  static std::optional<ReduceKind> kindOf(shard::ReductionKind kind) {
    switch (kind) {
    case shard::ReductionKind::Sum:
      return ReduceKind::Sum;
    case shard::ReductionKind::Max:
      return ReduceKind::Max;
    case shard::ReductionKind::Min:
      return ReduceKind::Min;
    case shard::ReductionKind::Product:
      return ReduceKind::Product;
    default:
      return std::nullopt;
    }
  }

  int64_t numRanks() const {
    int64_t ranks = 1;
    for (unsigned axis : axes)
      ranks *= mesh.getSizes()[axis];
    return ranks;
  }

  const Distribution &is;
  Distribution made, wanted;
  llvm::ArrayRef<int64_t> shape; // of the operand on one rank
  MeshAttr mesh;
  Refusal &refusal;
  SmallVector<unsigned, 2> axes;
};
} // namespace

// True if the collective is one over the module's mesh, and leaves the type of the elements as it is.
static bool isPlain(mlir::Operation *op, Refusal &refusal) {
  auto grid = op->getAttrOfType<mlir::FlatSymbolRefAttr>("grid");
  if (!grid || grid.getValue() != Collectives::kGrid)
    refusal = {0, "is not on the grid @mesh", std::nullopt};
  else if (mlir::getElementTypeOrSelf(op->getOperand(0)) != mlir::getElementTypeOrSelf(op->getResult(0)))
    refusal = {0, "changes the type of the elements", std::nullopt};
  return !refusal;
}

Distributions cleave::applyCollective(mlir::Operation *op, const Distributions &operand, MeshAttr mesh,
                                      Refusal &refusal) {
  if (!isPlain(op, refusal))
    return {};
  // Each possible distribution that the collective accepts gives a possible distribution of the result. The collective
  // is refused only if it accepts none. The reason is then that of the first one.
  Distributions made;
  Refusal why;
  for (const Distribution &is : operand) {
    auto ruleOf = [&](auto collective) { return CollectiveRule(op, collective.getGridAxes(), is, mesh, why); };
    auto keep = [&](const CollectiveRule &rule, bool passes) {
      if (passes && !llvm::is_contained(made, rule.result()))
        made.push_back(rule.result());
    };
    llvm::TypeSwitch<mlir::Operation *>(op)
        .Case([&](shard::AllReduceOp reduce) {
          auto rule = ruleOf(reduce);
          keep(rule, rule.reduce(reduce.getReduction(), AxisDistribution::Whole));
        })
        .Case([&](shard::ReduceScatterOp reduce) {
          auto rule = ruleOf(reduce);
          keep(rule, rule.reduce(reduce.getReduction(), AxisDistribution::Whole) &&
                         rule.cut(reduce.getScatterAxis().getSExtValue()));
        })
        .Case([&](shard::ReduceOp reduce) {
          auto rule = ruleOf(reduce);
          keep(rule, rule.fromFirst(reduce.getRoot()) && rule.reduce(reduce.getReduction(), AxisDistribution::Owned));
        })
        .Case([&](shard::AllGatherOp gather) {
          auto rule = ruleOf(gather);
          keep(rule, rule.gather(gather.getGatherAxis().getSExtValue()));
        })
        .Case([&](shard::AllSliceOp slice) {
          auto rule = ruleOf(slice);
          keep(rule, rule.cut(slice.getSliceAxis().getSExtValue()));
        })
        .Case([&](shard::BroadcastOp broadcast) {
          auto rule = ruleOf(broadcast);
          keep(rule, rule.fromFirst(broadcast.getRoot()) && rule.broadcast());
        })
        .Default([&](mlir::Operation *) {
          why = {0, "is a collective without a rule here", std::nullopt};
        });
  }
  if (made.empty())
    refusal = why;
  return made;
}
