// Brings ops that move elements together. A reshape is free, as a view of the same bytes, but it is not a part of a
// kernel: ops on its two sides each pass over memory. So it is moved out of the way if possible,
//
//   slice -> reshape -> transpose          reshape -> slice -> transpose        the heads of one of three projections
//   transpose -> reshape -> transpose      transpose -> reshape                 keys that are turned twice
//   transpose -> reshape -> concat         transpose -> concat -> reshape       gradients of the three, concatenated
//   concat -> reshape -> sum               concat -> sum -> reshape             and the gradient of their bias
//
// and only if this joins ops that were separate, and separates no ops that were joined.
//
// The batch is not merged with another dimension.
//
// The patterns end: each leaves fewer transposes that meet through a reshape, or moves one reshape up over a slice, or
// down over another op. No pattern moves a reshape in the opposite direction over the same kind of op.
#include "dialects/Cleave/IR/BlockMarks.h"
#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallSet.h"

namespace cleave {
#define GEN_PASS_DEF_JOINMOVES
#include "dialects/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

using namespace cleave;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::failure;
using mlir::LogicalResult;
using mlir::Operation;
using mlir::PatternRewriter;
using mlir::success;
using mlir::Value;

//===----------------------------------------------------------------------===//
// Which ops can join
//===----------------------------------------------------------------------===//

// True if the op passes over its elements in a kernel that it may share with its neighbours.
static bool passesOver(Operation *op) {
  auto compute = llvm::dyn_cast_if_present<ComputeOpInterface>(op);
  if (!compute)
    return false;
  ComputeKind kind = compute.getComputeKind();
  return kind == ComputeKind::Fusible || kind == ComputeKind::Composite ||
         (kind == ComputeKind::View && compute.getByteViews().empty());
}

// The same for a value, except that a constant is no reason to move anything.
static bool isComputed(Value value) {
  Operation *op = value.getDefiningOp();
  return passesOver(op) && !op->hasTrait<mlir::OpTrait::ConstantLike>();
}

// True if the value has stored elements at another place, and no kernel that it may join computes them.
static bool isMoved(Value value) {
  llvm::SetVector<Value> values;
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i) {
    Operation *op = values[i].getDefiningOp();
    if (llvm::isa_and_present<ReshapeOp, TransposeOp, SliceOp, ConcatOp>(op))
      values.insert_range(op->getOperands());
    else if (passesOver(op))
      return false;
  }
  return true;
}

static bool joinsUser(Value value) { return llvm::any_of(value.getUsers(), passesOver); }

//===----------------------------------------------------------------------===//
// Reshapes as groups of dimensions
//===----------------------------------------------------------------------===//

namespace {
// Dimensions that a reshape makes of one another, except those of size 1: [8, 12, 1024, 64] -> [96, 1024, 8, 8] has the
// groups {0, 1} -> {0}, {2} -> {1} and {3} -> {2, 3}.
struct ReassociationGroup {
  SmallVector<int64_t> from, to;
};
} // namespace

static std::optional<SmallVector<ReassociationGroup>> groupsOf(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  if (llvm::is_contained(from, 0))
    return std::nullopt;
  SmallVector<ReassociationGroup> groups;
  int64_t before = 1, after = 1; // product of the sizes of the last group's dimensions
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    if (i < from.size() && from[i] == 1) {
      ++i;
    } else if (j < to.size() && to[j] == 1) {
      ++j;
    } else {
      if (before == after) {
        groups.emplace_back();
        before = after = 1;
      }
      bool takesFrom = before <= after;
      (takesFrom ? before : after) *= takesFrom ? from[i] : to[j];
      (takesFrom ? groups.back().from : groups.back().to).push_back(static_cast<int64_t>(takesFrom ? i++ : j++));
    }
  }
  return groups;
}

static SmallVector<int64_t> inverseOf(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> inverse(permutation.size());
  for (auto [to, from] : llvm::enumerate(permutation))
    inverse[from] = static_cast<int64_t>(to);
  return inverse;
}

static SmallVector<int64_t> permuted(ArrayRef<int64_t> shape, ArrayRef<int64_t> permutation) {
  return llvm::map_to_vector(permutation, [&](int64_t dim) { return shape[dim]; });
}

// Returns the permutation of `from` after which a reshape gives the same as `permutation` after the reshape from `from`
// to `to`. There is one if the dimensions of each group stay together, in their order.
static std::optional<SmallVector<int64_t>> beforeReshape(ArrayRef<int64_t> from, ArrayRef<int64_t> to,
                                                         ArrayRef<int64_t> permutation) {
  std::optional<SmallVector<ReassociationGroup>> groups = groupsOf(from, to);
  if (!groups)
    return std::nullopt;
  SmallVector<int64_t> moved, result;
  llvm::copy_if(permutation, std::back_inserter(moved), [&](int64_t dim) { return to[dim] != 1; });
  for (size_t next = 0; next < moved.size();) {
    auto group = llvm::find_if(*groups, [&](const ReassociationGroup &each) { return each.to.front() == moved[next]; });
    if (group == groups->end() || ArrayRef(moved).slice(next).take_front(group->to.size()) != ArrayRef(group->to))
      return std::nullopt;
    result.append(group->from);
    next += group->to.size();
  }
  for (int64_t dim = 0; dim < static_cast<int64_t>(from.size()); ++dim)
    if (from[dim] == 1)
      result.push_back(dim);
  return result;
}

// Returns the first dimension for which `fits` is true, and before which the dimensions have `count` indices together.
static std::optional<int64_t> dimAfter(ArrayRef<int64_t> shape, int64_t count, llvm::function_ref<bool(int64_t)> fits) {
  int64_t before = 1;
  for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); before *= shape[dim++])
    if (before == count && fits(dim))
      return dim;
  return std::nullopt;
}

// The numbers of samples of the module's inputs. A dimension of such a size may be the batch, which can be divided among
// ranks only as a dimension of its own.
using SampleCounts = llvm::SmallSet<int64_t, 2>;

static SampleCounts sampleCountsOf(mlir::ModuleOp module) {
  SampleCounts counts;
  for (auto function : module.getOps<mlir::func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto dim = function.getArgAttrOfType<mlir::IntegerAttr>(i, kBatchDimAttr))
        counts.insert(shapeOf(function.getArgument(i))[dim.getInt()]);
  return counts;
}

// True if dimension `dim` of `to` may be the batch, and is one of the dimensions of `from` after `outer`. A pattern would
// merge it with dimension `outer`. For example, the directions of an LSTM: [7, 1, 4, 6] -> [7, 4, 6], outer = 1, dim = 1.
static bool isBatchInside(const SampleCounts &counts, ArrayRef<int64_t> from, int64_t outer, ArrayRef<int64_t> to,
                          int64_t dim) {
  if (to[dim] == 1 || !counts.contains(to[dim]))
    return false;
  int64_t row = product(to.drop_front(dim + 1));
  for (int64_t each = outer + 1; each < static_cast<int64_t>(from.size()); ++each)
    if (from[each] == to[dim] && product(from.drop_front(each + 1)) == row)
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// The patterns
//===----------------------------------------------------------------------===//

// Makes a new op in place of `old`, with its block mark.
template <typename Op, typename... Args>
static Op createLike(PatternRewriter &rewriter, Operation *old, Args &&...args) {
  auto op = Op::create(rewriter, old->getLoc(), std::forward<Args>(args)...);
  setBlockMark(op, getBlockMark(old));
  return op;
}

static Value reshaped(PatternRewriter &rewriter, Operation *old, Value value, ArrayRef<int64_t> shape) {
  mlir::RankedTensorType type = tensorTypeOf(value).clone(shape);
  return type == value.getType() ? value : createLike<ReshapeOp>(rewriter, old, type, value).getResult();
}

namespace {

// Makes one of two transposes, if the reshape between them can go up over the first one or down over the second one.
struct MeetTransposes : mlir::OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp second, PatternRewriter &rewriter) const override {
    auto reshape = second.getOperand().getDefiningOp<ReshapeOp>();
    auto first = reshape ? reshape.getOperand().getDefiningOp<TransposeOp>() : TransposeOp();
    if (!first)
      return failure();
    // The transpose stays next to the ops that it can join.
    bool staysDown = joinsUser(second) || !isComputed(first.getOperand());
    return success(
        staysDown
            ? succeeded(goUp(first, reshape, second, rewriter)) || succeeded(goDown(first, reshape, second, rewriter))
            : succeeded(goDown(first, reshape, second, rewriter)) || succeeded(goUp(first, reshape, second, rewriter)));
  }

private:
  static LogicalResult goDown(TransposeOp first, ReshapeOp reshape, TransposeOp second, PatternRewriter &rewriter) {
    auto moved = beforeReshape(shapeOf(first), shapeOf(reshape), second.getPermutation());
    if (!moved)
      return failure();
    Value both =
        createLike<TransposeOp>(rewriter, second, first.getOperand(), permuted(first.getPermutation(), *moved));
    rewriter.replaceOp(second, reshaped(rewriter, second, both, shapeOf(second)));
    return success();
  }

  // first : x -> y and reshape : y -> z. Seen from z backwards, the reshape comes first.
  static LogicalResult goUp(TransposeOp first, ReshapeOp reshape, TransposeOp second, PatternRewriter &rewriter) {
    auto back = beforeReshape(shapeOf(reshape), shapeOf(first), inverseOf(first.getPermutation()));
    if (!back)
      return failure();
    Value view = reshaped(rewriter, reshape, first.getOperand(), permuted(shapeOf(reshape), *back));
    rewriter.replaceOp(
        second, createLike<TransposeOp>(rewriter, second, view, permuted(inverseOf(*back), second.getPermutation())));
    return success();
  }
};

// Moves a transpose up over a reshape to the op that makes the elements, if it has nothing to join below.
struct TransposeBeforeReshape : mlir::OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto reshape = op.getOperand().getDefiningOp<ReshapeOp>();
    if (!reshape || !reshape->hasOneUse() || joinsUser(op) || !isComputed(reshape.getOperand()))
      return failure();
    auto moved = beforeReshape(shapeOf(reshape.getOperand()), shapeOf(reshape), op.getPermutation());
    if (!moved)
      return failure();
    Value turned = createLike<TransposeOp>(rewriter, op, reshape.getOperand(), *moved);
    rewriter.replaceOp(op, reshaped(rewriter, reshape, turned, shapeOf(op)));
    return success();
  }
};

// Moves a reshape up over a slice, which then joins all readers of the reshape. The operand of the slice is stored
// anyway. Under each index of the dimensions before the cut one, the slice takes a range of elements:
//
//   [8, 1024, 2304] -> [8, 1024, 768] -> [8, 1024, 12, 64]     768 of 2304 elements are 12 of 36 rows of 64
struct ReshapeBeforeSlice : mlir::OpRewritePattern<ReshapeOp> {
  ReshapeBeforeSlice(mlir::MLIRContext *context, const SampleCounts &counts)
      : OpRewritePattern(context), counts(counts) {}

  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto slice = op.getOperand().getDefiningOp<SliceOp>();
    if (!slice || !slice->hasOneUse() || !passesOver(slice) || op.use_empty() ||
        !llvm::all_of(op->getUsers(), passesOver))
      return failure();
    Value whole = slice.getOperand();
    if (isComputed(whole) && whole.hasOneUse())
      return failure(); // its kernel computes only the elements that are cut out
    std::optional<int64_t> cut = cutDim(slice);
    if (!cut)
      return failure();
    ArrayRef<int64_t> part = slice.getSizes(), to = shapeOf(op);
    int64_t inside = product(part.drop_front(*cut + 1));
    int64_t start = slice.getStarts()[*cut] * inside, size = shapeOf(whole)[*cut] * inside;
    std::optional<int64_t> dim = dimAfter(to, product(part.take_front(*cut)), [&](int64_t each) {
      int64_t row = product(to.drop_front(each + 1));
      return row > 0 && start % row == 0 && size % row == 0 && !isBatchInside(counts, part, *cut, to, each);
    });
    if (!dim)
      return failure();
    int64_t row = product(to.drop_front(*dim + 1));
    SmallVector<int64_t> shape(to), starts(to.size(), 0), steps(to.size(), 1);
    shape[*dim] = size / row;
    starts[*dim] = start / row;
    Value view = reshaped(rewriter, op, whole, shape);
    rewriter.replaceOp(op, createLike<SliceOp>(rewriter, slice, view, starts, to, steps));
    return success();
  }

private:
  // Returns the one dimension that is not whole, if the slice takes contiguous elements of it.
  static std::optional<int64_t> cutDim(SliceOp slice) {
    std::optional<int64_t> cut;
    for (auto [dim, size, whole] : llvm::enumerate(slice.getSizes(), shapeOf(slice.getOperand())))
      if (size != whole) {
        if (cut || (size > 1 && slice.getSteps()[dim] != 1))
          return std::nullopt;
        cut = static_cast<int64_t>(dim);
      }
    return cut;
  }

  const SampleCounts &counts;
};

// Moves the reshapes of all operands down over a concatenation, which then joins the ops that make its operands. Under
// each index of the dimensions before the joined one, it puts ranges of elements one after the other.
struct ReshapeAfterConcat : mlir::OpRewritePattern<ConcatOp> {
  ReshapeAfterConcat(mlir::MLIRContext *context, const SampleCounts &counts)
      : OpRewritePattern(context), counts(counts) {}

  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    if (op->getNumOperands() < 2 || !passesOver(op))
      return failure();
    SmallVector<Value> parts;
    for (Value operand : op->getOperands()) {
      auto reshape = operand.getDefiningOp<ReshapeOp>();
      if (!reshape || !operand.hasOneUse() || !reshape.getOperand().hasOneUse() || !isComputed(reshape.getOperand()))
        return failure();
      parts.push_back(reshape.getOperand());
    }
    int64_t blocks = product(shapeOf(op).take_front(op.getDim()));
    auto fits = [&](int64_t each) {
      return differOnlyIn(parts, each, blocks) &&
             !isBatchInside(counts, shapeOf(op.getOperand(0)), op.getDim(), shapeOf(parts[0]), each);
    };
    std::optional<int64_t> dim = dimAfter(shapeOf(parts[0]), blocks, fits);
    if (!dim)
      return failure();
    auto joined = createLike<ConcatOp>(rewriter, op, parts, *dim);
    rewriter.replaceOp(op, reshaped(rewriter, op, joined, shapeOf(op)));
    return success();
  }

private:
  static bool differOnlyIn(ArrayRef<Value> parts, int64_t dim, int64_t blocks) {
    ArrayRef<int64_t> first = shapeOf(parts[0]);
    return llvm::all_of(parts, [&](Value part) {
      ArrayRef<int64_t> shape = shapeOf(part);
      return shape.size() == first.size() && shape.take_front(dim) == first.take_front(dim) &&
             shape.drop_front(dim + 1) == first.drop_front(dim + 1) && product(shape.take_front(dim)) == blocks;
    });
  }

  const SampleCounts &counts;
};

// Moves a reduction up over a reshape to the op that moves the elements. The reshape must keep the dimensions that are
// reduced, and no op that the reduction could join there may be left behind. The loops of a sum stay the same, and no
// term that was read before is computed in them, so its bits do not change.
struct ReduceBeforeReshape : mlir::OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    auto reshape = op.getOperand().getDefiningOp<ReshapeOp>();
    if (!reshape || !passesOver(reshape.getOperand().getDefiningOp()) || !isMoved(reshape.getOperand()) ||
        llvm::any_of(reshape->getUsers(), [&](Operation *user) {
          return passesOver(user) && !reducedBefore(llvm::dyn_cast<ReduceOp>(user), reshape);
        }))
      return failure();
    auto sum = createLike<ReduceOp>(rewriter, op, op.getKind(), reshape.getOperand(), *reducedBefore(op, reshape));
    rewriter.replaceOp(op, reshaped(rewriter, reshape, sum, shapeOf(op)));
    return success();
  }

private:
  static std::optional<SmallVector<int64_t>> reducedBefore(ReduceOp op, ReshapeOp reshape) {
    auto groups = op ? groupsOf(shapeOf(reshape.getOperand()), shapeOf(reshape)) : std::nullopt;
    if (!groups)
      return std::nullopt;
    SmallVector<int64_t> dims;
    for (const ReassociationGroup &group : *groups) {
      if (!llvm::any_of(group.to, [&](int64_t dim) { return llvm::is_contained(op.getDims(), dim); }))
        continue;
      if (group.from.size() != 1 || group.to.size() != 1)
        return std::nullopt;
      dims.push_back(group.from.front());
    }
    return dims.empty() ? std::nullopt : std::optional(dims);
  }
};

struct JoinMoves : impl::JoinMovesBase<JoinMoves> {
  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    patterns.add<MeetTransposes>(&getContext(), /*benefit=*/2);
    patterns.add<TransposeBeforeReshape, ReduceBeforeReshape>(&getContext());
    SampleCounts counts = sampleCountsOf(getOperation());
    patterns.add<ReshapeBeforeSlice, ReshapeAfterConcat>(&getContext(), counts);
    mlir::GreedyRewriteConfig config;
    config.setMaxIterations(mlir::GreedyRewriteConfig::kNoLimit);
    if (failed(mlir::applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
