// fuse-bias-gradients: see Passes.td.
//
// A linear layer's backward pass reads the gradient of its output dy for two products, and for the sum of its rows, the
// gradient of the bias. If the kernel that makes dy can add its columns, it does so (form-kernels). This pass treats
// the remaining kernels, which read dy from memory only for that sum:
//
//   %dw = matmul %x, %dy {transpose_lhs}                  %dw, %db = matmul_bias_grad %x, %dy
//   %db = kernel ins(%dy) { reduce sum %dy, [0] }   =>
#include "compiler/Codegen/Fusion/Passes.h"
#include "compiler/Codegen/Loops/KernelGraph.h"
#include "compiler/Codegen/Loops/LinalgForm.h"
#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/BlockMarks.h"
#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/IR/Products.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"

namespace cleave {
#define GEN_PASS_DEF_FUSEBIASGRADIENTS
#include "compiler/Codegen/Fusion/Passes.h.inc"
} // namespace cleave

using namespace mlir;
using namespace cleave;

namespace {
// An input of a kernel.
struct Read {
  KernelOp kernel;
  unsigned input;
};

// The kernels that read the rows of a value, under any reshape that keeps rows.
class Reads {
public:
  explicit Reads(Block &block) {
    for (auto kernel : block.getOps<KernelOp>())
      add(kernel);
  }
  void add(KernelOp kernel) {
    for (auto [index, input] : llvm::enumerate(kernel.getInputs()))
      all[rowsOf(input)].push_back({kernel, static_cast<unsigned>(index)});
  }
  void remove(KernelOp kernel) {
    for (Value input : kernel.getInputs())
      llvm::erase_if(all[rowsOf(input)], [&](const Read &read) { return read.kernel == kernel; });
  }
  SmallVector<Read> of(Value value) const { return all.lookup(rowsOf(value)); }
  // Moves the reads of `from`, which is about to be erased and is not a reshape, to `to`.
  void replace(Value from, Value to) {
    from.replaceAllUsesWith(to);
    SmallVector<Read> moved = std::move(all[from]);
    all.erase(from);
    llvm::append_range(all[rowsOf(to)], moved);
  }

  // Returns the value whose rows `value` has, in the same or another arrangement.
  static Value rowsOf(Value value);

private:
  llvm::DenseMap<Value, SmallVector<Read>> all;
};
} // namespace

Value Reads::rowsOf(Value value) {
  return throughReshapes(value, [](Value operand, Value result) {
    RankedTensorType from = tensorTypeOf(operand), to = tensorTypeOf(result);
    return from.getRank() != 0 && to.getRank() != 0 && from.getShape().back() == to.getShape().back();
  });
}

// A narrower type would round the rows before they are added.
static bool widens(CastOp cast) {
  Type from = tensorTypeOf(cast.getOperand()).getElementType(), to = tensorTypeOf(cast.getResult()).getElementType();
  return isa<FloatType>(from) && isa<FloatType>(to) && to.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth();
}

// Returns the sum of the rows of the kernel's input, as a vector of `type`. Null if the kernel does anything else with
// this input. The rows may be widened before they are added, and the sum may be rounded afterwards.
static Value findSum(const Read &read, RankedTensorType type) {
  Value value = read.kernel->getRegion(0).front().getArgument(read.input);
  bool isSummed = false;
  while (!isSummed || value.getType() != type) {
    if (!value.hasOneUse())
      return {};
    Operation *user = *value.user_begin();
    auto sum = dyn_cast<ReduceOp>(user);
    int64_t rank = tensorTypeOf(value).getRank();
    bool addsRows = sum && !isSummed && sum.getKind() == ReduceKind::Sum && rank > 1 &&
                    llvm::equal(sum.getDims(), llvm::seq<int64_t>(0, rank - 1));
    auto cast = dyn_cast<CastOp>(user);
    if (!addsRows && !(cast && (isSummed || widens(cast))))
      return {};
    isSummed |= addsRows;
    value = user->getResult(0);
  }
  return value;
}

// Makes the kernel without that input. It reads `sum` in place of its own sum, and has the results `kept`. Returns null
// if no code can be generated for it.
static KernelOp makeRest(const Read &read, Value sumInside, Value sum, ArrayRef<unsigned> kept) {
  KernelOp kernel = read.kernel;
  Block &body = kernel.getBody().front();
  SmallVector<Value> inputs;
  for (auto [index, input] : llvm::enumerate(kernel.getInputs()))
    if (index != read.input)
      inputs.push_back(input);
  inputs.push_back(sum);
  SmallVector<Type> types = llvm::map_to_vector(kept, [&](unsigned i) { return kernel.getResult(i).getType(); });
  OpBuilder builder(kernel);
  auto rest = KernelOp::create(builder, kernel.getLoc(), types, inputs, /*label=*/nullptr, /*tied=*/nullptr);
  rest->setDiscardableAttrs(kernel->getDiscardableAttrDictionary());
  Block *block = builder.createBlock(&rest.getBody());
  IRMapping mapping;
  for (auto [index, argument] : llvm::enumerate(body.getArguments()))
    if (index != read.input)
      mapping.map(argument, block->addArgument(argument.getType(), argument.getLoc()));
  mapping.map(sumInside, block->addArgument(sumInside.getType(), sumInside.getLoc()));
  for (Operation &op : body.without_terminator()) { // all ops but those that lead from the input to the sum
    bool isMade = llvm::any_of(op.getResults(), [&](Value result) { return mapping.contains(result); });
    if (!isMade && llvm::all_of(op.getOperands(), [&](Value operand) { return mapping.contains(operand); }))
      builder.clone(op, mapping);
  }
  YieldOp::create(builder, kernel.getLoc(), llvm::map_to_vector(kept, [&](unsigned i) {
                    return mapping.lookup(body.getTerminator()->getOperand(i));
                  }));
  std::string why;
  if (KernelGraph::tryBuild(rest, why))
    return rest;
  rest.erase();
  return {};
}

// Makes the kernel read `sum` from outside. A kernel that made only the sum is erased. Returns false, and leaves the
// kernel unchanged, if no code can be generated for the rest.
static bool rewriteKernel(const Read &read, Value sumInside, Value sum, Reads &reads) {
  KernelOp kernel = read.kernel;
  SmallVector<unsigned> kept;
  OperandRange yielded = kernel.getBody().front().getTerminator()->getOperands();
  for (auto [index, value] : llvm::enumerate(yielded))
    if (value != sumInside)
      kept.push_back(index);
  KernelOp rest = kept.empty() ? KernelOp() : makeRest(read, sumInside, sum, kept);
  if (!kept.empty() && !rest)
    return false;
  for (auto [position, index] : llvm::enumerate(kept))
    reads.replace(kernel.getResult(index), rest.getResult(position));
  for (auto [result, value] : llvm::zip_equal(kernel.getResults(), yielded))
    if (value == sumInside)
      reads.replace(result, sum);
  reads.remove(kernel);
  kernel.erase();
  if (rest)
    reads.add(rest);
  return true;
}

// True if the kernel may be placed directly after the product.
static bool canFollow(KernelOp kernel, MatmulOp product) {
  return !kernel->isBeforeInBlock(product) || llvm::none_of(kernel->getUsers(), [&](Operation *user) {
    Operation *here = product->getBlock()->findAncestorOpInBlock(*user);
    return !here || here == product || here->isBeforeInBlock(product);
  });
}

static bool fuse(MatmulOp product, Value operand, bool isOfLhs, Reads &reads) {
  auto rows = tensorTypeOf(operand);
  for (Read &read : reads.of(operand)) {
    if (getBlockMark(read.kernel) != getBlockMark(product) || !canFollow(read.kernel, product))
      continue;
    Value sum = findSum(read, rows.clone({rows.getDimSize(1)}));
    if (!sum)
      continue;
    OpBuilder builder(product);
    auto both = MatmulBiasGradOp::create(builder, product.getLoc(), product.getLhs(), product.getRhs(), isOfLhs);
    both->setDiscardableAttrs(product->getDiscardableAttrDictionary());
    Operation *place = read.kernel->getNextNode();
    bool isBefore = read.kernel->isBeforeInBlock(product);
    if (isBefore)
      read.kernel->moveAfter(product);
    if (!rewriteKernel(read, sum, both.getBiasGrad(), reads)) {
      if (isBefore)
        read.kernel->moveBefore(place);
      both.erase();
      continue;
    }
    reads.replace(product.getResult(), both.getResult());
    product.erase();
    return true;
  }
  return false;
}

static bool isCandidate(MatmulOp op) {
  return !op.getBias() && op.getTransposeLhs() && !op.getTransposeRhs() && op.getType().getRank() == 2 &&
         tensorTypeOf(op.getLhs()).getRank() == 2 && tensorTypeOf(op.getRhs()).getRank() == 2 &&
         !op.getType().getElementType().isF64();
}

namespace {
struct FuseBiasGradients : cleave::impl::FuseBiasGradientsBase<FuseBiasGradients> {
  void getDependentDialects(DialectRegistry &registry) const override { addLinalgFormDialects(registry); }

  void runOnOperation() override {
    for (Block &block : getOperation().getBody()) {
      Reads reads(block);
      for (MatmulOp product : llvm::to_vector(block.getOps<MatmulOp>()))
        if (isCandidate(product) && !fuse(product, product.getRhs(), /*isOfLhs=*/false, reads))
          fuse(product, product.getLhs(), /*isOfLhs=*/true, reads);
    }
  }
};
} // namespace
