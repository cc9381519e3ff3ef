// assign-layouts: see Passes.td.
//
// The layouts are a minimum cut. Each op that has a channels-last form is a node, and it takes this form if it is on
// the source's side. Capacities are bytes that are moved, read and written:
//
//   source -> op                the bytes that the op copies in its plain form
//   for a value v that op p can make channels-last, with a node b:
//     p -> b -> users           a transpose back, once for all users that want it plain
//     users -> a -> p           a transpose, once for all users that want it channels-last
//   for a value that is always made plain:
//     users -> a -> sink        a transpose, once for all users
//   for users that always want it plain: b -> sink
#include "compiler/Codegen/Fusion/Passes.h"
#include "compiler/Support/MinCut.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/ChannelsLast.h"
#include "dialects/Cleave/IR/OpSupport.h"

#include "llvm/ADT/MapVector.h"

namespace cleave {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "compiler/Codegen/Fusion/Passes.h.inc"
} // namespace cleave

using namespace mlir;
using namespace cleave;

namespace {

using Forms = llvm::MapVector<Operation *, ChannelsLastForm>;

Forms findForms(Block &block) {
  Forms forms;
  for (Operation &op : block)
    if (auto form = channelsLastForm(&op))
      forms.insert({&op, std::move(*form)});
  return forms;
}

// True if the op makes its result channels-last from operands without a layout. Then it can be made in both layouts,
// and fuses with its readers.
bool isFreeToMake(Operation *op, const ChannelsLastForm &form) {
  auto compute = cast<ComputeOpInterface>(op);
  return form.result && !llvm::is_contained(form.operands, true) && compute.getComputeKind() == ComputeKind::Fusible &&
         compute.isReproducible();
}

// Returns the bytes that a transpose of the value moves; 0 if it moves none, or if it is folded or fused with the op
// that makes the value.
int64_t transposeBytes(Value value, const Forms &forms) {
  Operation *op = value.getDefiningOp();
  if (op && op->hasTrait<OpTrait::ConstantLike>())
    return 0;
  if (auto form = op ? forms.find(op) : forms.end(); form != forms.end() && isFreeToMake(op, form->second))
    return 0;
  RankedTensorType type = tensorTypeOf(value);
  return keepsBytes(type, channelsLastOrder(type.getRank())) ? 0 : 2 * byteSize(type);
}

// Decides which ops take their channels-last form.
class LayoutCut {
public:
  explicit LayoutCut(const Forms &forms) : forms(forms) {
    for (const auto &entry : forms)
      nodes[entry.first] = count++;
  }

  llvm::DenseSet<Operation *> run() {
    for (const auto &[op, form] : forms) {
      add(kSource, nodes[op], form.plainBytes);
      for (Value operand : op->getOperands())
        addValue(operand);
      for (Value result : op->getResults())
        addValue(result);
    }
    MinCut cut(count);
    for (const Edge &edge : edges)
      cut.addEdge(edge.from, edge.to, edge.capacity);
    cut.run(kSource, kSink);
    std::vector<bool> isLast = cut.sourceSide(kSource);
    llvm::DenseSet<Operation *> taken;
    for (const auto &entry : forms)
      if (isLast[nodes[entry.first]])
        taken.insert(entry.first);
    return taken;
  }

private:
  static constexpr int kSource = 0, kSink = 1;
  struct Edge {
    int from, to;
    int64_t capacity;
  };

  void add(int from, int to, int64_t capacity) {
    if (capacity > 0)
      edges.push_back({from, to, capacity});
  }

  // Returns the node of an op that can take this operand channels-last, and otherwise the sink.
  int nodeOfUse(OpOperand &use) {
    auto form = forms.find(use.getOwner());
    bool isLast = form != forms.end() && form->second.operands[use.getOperandNumber()];
    return isLast ? nodes.lookup(use.getOwner()) : kSink;
  }

  void addValue(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || type.getRank() < 3 || !seen.insert(value).second)
      return;
    auto form = value.getDefiningOp() ? forms.find(value.getDefiningOp()) : forms.end();
    int maker = form != forms.end() && form->second.result ? nodes.lookup(value.getDefiningOp()) : kSink;
    int64_t bytes = transposeBytes(value, forms);
    int back = -1, forth = -1;
    for (OpOperand &use : value.getUses()) {
      int user = nodeOfUse(use);
      if (maker != kSink) {
        if (back < 0)
          add(maker, back = count++, bytes);
        add(back, user, MinCut::kInfinite);
      }
      if (user != kSink) {
        if (forth < 0)
          add(forth = count++, maker, bytes);
        add(user, forth, MinCut::kInfinite);
      }
    }
  }

  const Forms &forms;
  llvm::DenseMap<Operation *, int> nodes;
  llvm::DenseSet<Value> seen;
  std::vector<Edge> edges;
  int count = 2;
};

// Builds the forms that were chosen, and transposes where layouts meet.
class LayoutWriter {
public:
  LayoutWriter(Forms &forms, const llvm::DenseSet<Operation *> &taken, bool hasOneRank)
      : forms(forms), taken(taken), hasOneRank(hasOneRank) {}

  void run(Block &block) {
    SmallVector<Operation *> replaced;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (taken.contains(&op)) {
        rewrite(&op);
        replaced.push_back(&op);
      } else {
        op.walk([&](Operation *inner) {
          for (OpOperand &use : inner->getOpOperands())
            use.set(plain(use.get()));
        });
      }
    }
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
  }

private:
  void rewrite(Operation *op) {
    const ChannelsLastForm &form = forms.find(op)->second;
    SmallVector<Value> operands;
    for (auto [isLast, operand] : llvm::zip_equal(form.operands, op->getOperands()))
      operands.push_back(isLast ? last(operand) : plain(operand));
    OpBuilder builder(op);
    Value result = form.build(builder, operands);
    if (!llvm::is_contained(operands, result))
      result.getDefiningOp()->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    (form.result ? lasts : plains)[op->getResult(0)] = result;
  }

  // Builds the value in the other layout, directly after `value`.
  template <typename Make> static Value makeBehind(Value value, Make make) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    return make(builder);
  }

  // If no byte moves, it is a reshape, which costs nothing in a plan. With several ranks, each has a part of the
  // tensor, and a reshape would not say which dimension is split (kWholeAttr).
  Value transpose(OpBuilder &builder, Value from, ArrayRef<int64_t> order) const {
    RankedTensorType type = tensorTypeOf(from);
    if (!hasOneRank || !keepsBytes(type, order))
      return TransposeOp::create(builder, from.getLoc(), from, order);
    auto shape = llvm::map_to_vector(order, [&](int64_t dim) { return type.getDimSize(dim); });
    return ReshapeOp::create(builder, from.getLoc(), type.clone(shape), from);
  }

  Value last(Value value) {
    if (Value made = lasts.lookup(value))
      return made;
    Value from = plain(value);
    auto form = value.getDefiningOp() ? forms.find(value.getDefiningOp()) : forms.end();
    bool isFree = form != forms.end() && isFreeToMake(value.getDefiningOp(), form->second);
    Value result = makeBehind(from, [&](OpBuilder &builder) -> Value {
      if (isFree)
        return form->second.build(builder, value.getDefiningOp()->getOperands());
      return transpose(builder, from, channelsLastOrder(tensorTypeOf(value).getRank()));
    });
    lasts[value] = result;
    return result;
  }

  Value plain(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (auto known = plains.find(value); known != plains.end())
      return known->second;
    auto made = lasts.find(value);
    bool isReplaced = value.getDefiningOp() && taken.contains(value.getDefiningOp());
    if (!type || made == lasts.end() || !isReplaced)
      return value;
    Value from = made->second, result = makeBehind(from, [&](OpBuilder &builder) -> Value {
      return transpose(builder, from, channelsFirstOrder(type.getRank()));
    });
    plains[value] = result;
    return result;
  }

  Forms &forms;
  const llvm::DenseSet<Operation *> &taken;
  bool hasOneRank;
  llvm::DenseMap<Value, Value> lasts, plains; // by the values of the plain program
};

// True if a library's kernel then copies less. Transposes alone are no reason to change a program.
bool gains(const std::pair<Operation *, ChannelsLastForm> &entry) {
  return entry.second.plainBytes > 0 && cast<ComputeOpInterface>(entry.first).getComputeKind() == ComputeKind::Kernel;
}

struct AssignLayouts : cleave::impl::AssignLayoutsBase<AssignLayouts> {
  void runOnOperation() override {
    auto mesh = getOperation()->getParentOp()->getAttrOfType<MeshAttr>(kMeshAttr);
    bool hasOneRank = !mesh || mesh.getNumRanks() == 1;
    for (Block &block : getOperation().getBody()) {
      Forms forms = findForms(block);
      if (llvm::none_of(forms, gains))
        continue;
      llvm::DenseSet<Operation *> taken = LayoutCut(forms).run();
      LayoutWriter(forms, taken, hasOneRank).run(block);
    }
  }
};

} // namespace
