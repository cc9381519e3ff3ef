#include "compiler/Sharding/ReshardPlanner.h"

using namespace cleave;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using Axes = SmallVector<StringRef>;

namespace {
// The state of the walk from `made` to `used`.
class Planner {
public:
  Planner(ShardingAttr made, ShardingAttr used) : context(made.getContext()), kind(made.getKind()) {
    for (int64_t dim = 0, rank = made.getDims().size(); dim < rank; ++dim) {
      current.push_back(made.getDimAxes(dim));
      target.push_back(used.getDimAxes(dim));
    }
    partial = made.getPartialAxes();
    keptPartial = used.getPartialAxes();
    owner = made.getOwnerAxes();
    keptOwner = used.getOwnerAxes();
  }

  // Takes the first step that is possible, until none is. Between two steps, `current`, `partial` and `owner` are the
  // sharding that the value has by then. For example, with made [[a], [b]] and used [[b], [a]]:
  //
  //   gatherSuffix   all_gather a along 0          [[], [b]]    no dimension is a prefix of its target, so one gives up
  //   appendAxis     all_to_all b, from 1 to 0     [[b], []]
  //   appendAxis     all_slice a along 1           [[b], [a]]
  //
  // It ends, because each step removes an axis from `partial` or `owner`, or brings a dimension nearer to its target.
  // At the end every dimension is a prefix of its target (gatherSuffix). If it lacked an axis, appendAxis() could add
  // it: no other dimension has it, because an axis occurs once in a sharding.
  llvm::FailureOr<SmallVector<ReshardCollective>> run() {
    if (llvm::any_of(keptPartial, [&](StringRef axis) { return !llvm::is_contained(partial, axis); }))
      return mlir::failure();
    while (broadcastRest() || appendAxis() || reduceToOwner() || reduceRest() || gatherSuffix())
      ;
    return std::move(collectives);
  }

private:
  static size_t commonPrefix(const Axes &a, const Axes &b) {
    size_t length = 0;
    while (length < a.size() && length < b.size() && a[length] == b[length])
      ++length;
    return length;
  }
  bool isReady(size_t dim) const { return commonPrefix(current[dim], target[dim]) == current[dim].size(); }
  // Returns the dimension whose last axis is `axis` and must be removed, or -1.
  int64_t dimToGiveUp(StringRef axis) const {
    for (size_t dim = 0; dim < current.size(); ++dim)
      if (!isReady(dim) && current[dim].back() == axis)
        return dim;
    return -1;
  }
  bool isSplitting(StringRef axis) const {
    return llvm::any_of(current, [&](const Axes &axes) { return llvm::is_contained(axes, axis); });
  }

  static Axes takeOut(Axes &axes, llvm::function_ref<bool(StringRef)> isTaken) {
    Axes taken = llvm::to_vector<4>(llvm::make_filter_range(axes, isTaken));
    llvm::erase_if(axes, isTaken);
    return taken;
  }

  // Comes first, because the other ranks cannot cut, reduce or gather a value that only the owner has.
  bool broadcastRest() {
    Axes given = takeOut(owner, [&](StringRef axis) { return !llvm::is_contained(keptOwner, axis); });
    return !given.empty() && emit(ReshardKind::Broadcast, given);
  }

  bool reduceToOwner() {
    Axes reduced = takeOut(partial, [&](StringRef axis) { return llvm::is_contained(keptOwner, axis); });
    owner.append(reduced);
    return !reduced.empty() && emit(ReshardKind::Reduce, reduced);
  }

  // Brings one dimension one axis nearer to its target, by the collective that frees the axis.
  bool appendAxis() {
    for (size_t dim = 0; dim < current.size(); ++dim) {
      if (!isReady(dim) || current[dim].size() == target[dim].size())
        continue;
      StringRef axis = target[dim][current[dim].size()];
      if (llvm::is_contained(partial, axis)) {
        llvm::erase(partial, axis);
        current[dim].push_back(axis);
        return emit(ReshardKind::ReduceScatter, {axis}, dim);
      }
      if (int64_t from = dimToGiveUp(axis); from >= 0) {
        current[from].pop_back();
        current[dim].push_back(axis);
        return emit(ReshardKind::AllToAll, {axis}, dim, from);
      }
      if (!isSplitting(axis)) {
        current[dim].push_back(axis);
        return emit(ReshardKind::AllSlice, {axis}, dim);
      }
    }
    return false;
  }

  // Reduces over all partial axes that will not be scattered, in one collective.
  bool reduceRest() {
    Axes reduced = takeOut(partial, [&](StringRef axis) {
      return !llvm::is_contained(keptPartial, axis) &&
             llvm::none_of(target, [&](const Axes &axes) { return llvm::is_contained(axes, axis); });
    });
    return !reduced.empty() && emit(ReshardKind::AllReduce, reduced);
  }

  bool gatherSuffix() {
    for (size_t dim = 0; dim < current.size(); ++dim) {
      if (isReady(dim))
        continue;
      size_t kept = commonPrefix(current[dim], target[dim]);
      Axes gathered(current[dim].begin() + kept, current[dim].end());
      current[dim].truncate(kept);
      return emit(ReshardKind::AllGather, gathered, dim);
    }
    return false;
  }

  bool emit(ReshardKind collective, Axes axes, int64_t dim = -1, int64_t concatDim = -1) {
    mlir::Builder builder(context);
    SmallVector<mlir::Attribute> dims;
    for (const Axes &dimAxes : current)
      dims.push_back(builder.getStrArrayAttr(dimAxes));
    auto result = ShardingAttr::get(builder.getArrayAttr(dims), builder.getStrArrayAttr(partial).getValue(), kind,
                                    builder.getStrArrayAttr(owner).getValue());
    collectives.push_back({collective, std::move(axes), dim, concatDim, kind, result});
    return true;
  }

  mlir::MLIRContext *context;
  ReduceKind kind;
  SmallVector<Axes> current, target;
  Axes partial, keptPartial, owner, keptOwner;
  SmallVector<ReshardCollective> collectives;
};
} // namespace

llvm::FailureOr<SmallVector<ReshardCollective>> cleave::planReshard(ShardingAttr made, ShardingAttr used) {
  if (made == used)
    return SmallVector<ReshardCollective>();
  if (made.getDims().size() != used.getDims().size())
    return mlir::failure();
  if (!used.getPartialAxes().empty() && made.getKind() != used.getKind())
    return mlir::failure();
  return Planner(made, used).run();
}

ShardingAttr cleave::withEqualSplitFactors(ShardingAttr made, ShardingAttr used) {
  if (!made.hasSplitFactor() && !used.hasSplitFactor())
    return made;
  SmallVector<mlir::Attribute> dims(made.getDims().getValue());
  for (int64_t dim = 0, rank = dims.size(); dim < rank; ++dim)
    if (!used.getDimAxes(dim).empty() && made.getSplitFactor(dim) != used.getSplitFactor(dim))
      dims[dim] = ShardingAttr::getDim(made.getContext(), 1, {});
  return made.withDims(mlir::ArrayAttr::get(made.getContext(), dims));
}
