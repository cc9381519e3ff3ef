#include "test/compiler/Sharding/mutation/ShardedMutations.h"

#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/Reason.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

#include <algorithm>
#include <set>

using namespace mlir;

namespace cleave::test {

namespace {

using Axes = std::vector<int16_t>;

// All ops of a module. In every clone they are at the same indices of the list.
std::vector<Operation *> opsOf(ModuleOp module) {
  std::vector<Operation *> ops;
  module.walk([&](Operation *op) { ops.push_back(op); });
  return ops;
}

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

// Changes the shape of `value` to `type` by repeating its elements or by cutting it off.
Value inShape(OpBuilder &builder, Value value, RankedTensorType type) {
  if (value.getType() == type)
    return value;
  Location loc = value.getLoc();
  auto flat = [&](int64_t size) { return RankedTensorType::get({size}, type.getElementType()); };
  int64_t has = typeOf(value).getNumElements(), needs = type.getNumElements(), zero = 0, one = 1;
  value = ReshapeOp::create(builder, loc, flat(has), value);
  if (has < needs) {
    SmallVector<Value> copies((needs + has - 1) / has, value);
    value = ConcatOp::create(builder, loc, copies, 0);
    has *= static_cast<int64_t>(copies.size());
  }
  if (has > needs)
    value = SliceOp::create(builder, loc, value, ArrayRef(zero), ArrayRef(needs), ArrayRef(one));
  return typeOf(value) == type ? value : ReshapeOp::create(builder, loc, type, value).getResult();
}

Axes axesOf(Operation *op) {
  auto axes = op->getAttrOfType<DenseI16ArrayAttr>("grid_axes");
  return axes ? Axes(axes.asArrayRef().begin(), axes.asArrayRef().end()) : Axes();
}

int64_t ranksOf(const Axes &axes, MeshAttr mesh) {
  int64_t ranks = 1;
  for (int16_t axis : axes)
    ranks *= mesh.getSizes()[axis];
  return ranks;
}

// All lists of different axes of the mesh, except this one.
std::vector<Axes> otherAxes(const Axes &axes, MeshAttr mesh) {
  std::set<Axes> all;
  auto count = static_cast<int16_t>(mesh.getSizes().size());
  std::function<void(Axes)> extend = [&](Axes list) {
    if (!list.empty() && list != axes)
      all.insert(list);
    for (int16_t axis = 0; axis < count; ++axis)
      if (mesh.getSizes()[axis] > 1 && std::find(list.begin(), list.end(), axis) == list.end()) {
        Axes longer = list;
        longer.push_back(axis);
        extend(longer);
      }
  };
  extend({});
  return {all.begin(), all.end()};
}

// One of the six kinds of collectives, with its axes and its dimension.
struct Collective {
  enum Kind { AllReduce, ReduceScatter, AllGather, AllSlice, Reduce, Broadcast } kind;
  Axes axes;
  int64_t dim = 0, root = 0;
  shard::ReductionKind reduction = shard::ReductionKind::Sum;

  static std::optional<Collective> of(Operation *op) {
    Collective made;
    made.axes = axesOf(op);
    if (auto reduce = dyn_cast<shard::AllReduceOp>(op)) {
      made.kind = AllReduce;
      made.reduction = reduce.getReduction();
    } else if (auto scatter = dyn_cast<shard::ReduceScatterOp>(op)) {
      made.kind = ReduceScatter;
      made.reduction = scatter.getReduction();
      made.dim = scatter.getScatterAxis().getSExtValue();
    } else if (auto gather = dyn_cast<shard::AllGatherOp>(op)) {
      made.kind = AllGather;
      made.dim = gather.getGatherAxis().getSExtValue();
    } else if (auto slice = dyn_cast<shard::AllSliceOp>(op)) {
      made.kind = AllSlice;
      made.dim = slice.getSliceAxis().getSExtValue();
    } else if (auto reduce = dyn_cast<shard::ReduceOp>(op)) {
      made.kind = Reduce;
      made.reduction = reduce.getReduction();
    } else if (isa<shard::BroadcastOp>(op)) {
      made.kind = Broadcast;
    } else {
      return std::nullopt;
    }
    return made;
  }

  bool hasDim() const { return kind == ReduceScatter || kind == AllGather || kind == AllSlice; }
  bool reduces() const { return kind == AllReduce || kind == ReduceScatter || kind == Reduce; }
  bool hasRoot() const { return kind == Reduce || kind == Broadcast; }

  // Returns null if the shape does not allow the collective.
  Value build(OpBuilder &builder, Location loc, Value input, MeshAttr mesh, int64_t instance) const {
    SmallVector<int64_t> shape(typeOf(input).getShape()), roots(axes.size(), 0);
    if (!roots.empty())
      roots.back() = root;
    int64_t ranks = ranksOf(axes, mesh);
    if (hasDim() && (dim >= static_cast<int64_t>(shape.size()) || (kind != AllGather && shape[dim] % ranks != 0)))
      return {};
    if (hasDim())
      shape[dim] = kind == AllGather ? shape[dim] * ranks : shape[dim] / ranks;
    Type type = RankedTensorType::get(shape, typeOf(input).getElementType());
    ArrayRef<int16_t> over(axes);
    APInt along(64, dim);
    Operation *made = nullptr;
    switch (kind) {
    case AllReduce:
      made = shard::AllReduceOp::create(builder, loc, type, "mesh", over, input, reduction);
      break;
    case ReduceScatter:
      made = shard::ReduceScatterOp::create(builder, loc, type, "mesh", over, input, reduction, along);
      break;
    case AllGather:
      made = shard::AllGatherOp::create(builder, loc, type, "mesh", over, input, along);
      break;
    case AllSlice:
      made = shard::AllSliceOp::create(builder, loc, type, input, StringRef("mesh"), over, dim);
      break;
    case Reduce:
      made = shard::ReduceOp::create(builder, loc, type, "mesh", over, input, reduction, roots, ValueRange());
      break;
    case Broadcast:
      made = shard::BroadcastOp::create(builder, loc, type, "mesh", over, input, roots, ValueRange());
      break;
    }
    made->setAttr("cleave.instance", builder.getI64IntegerAttr(instance));
    made->setAttr("cleave.reason", makeReason(builder.getContext(), "mutant", "mutant", "mutant"));
    return made->getResult(0);
  }
};

class Lister {
public:
  explicit Lister(ModuleOp module) : mesh(module->getAttrOfType<MeshAttr>("cleave.mesh")) {
    auto ops = opsOf(module);
    for (size_t index = 0; index < ops.size(); ++index) {
      if (auto is = Collective::of(ops[index]))
        listCollective(ops[index], index, *is);
      if (auto read = dyn_cast<ReadOp>(ops[index]))
        listCoordinate(module, read, index);
      if (auto state = dyn_cast<StateOp>(ops[index]))
        listStorage(state, index);
      if (auto function = dyn_cast<func::FuncOp>(ops[index]))
        listPorts(function, index);
    }
    listPairs();
  }

  std::vector<ShardedMutation> mutations;

private:
  // Lists a mutation that puts the result of `with(builder, op)` in the op's place. If that is null, it does nothing.
  void replace(const std::string &kind, Operation *op, const std::string &how, size_t index,
               std::function<Value(OpBuilder &, Operation *)> with) {
    mutations.push_back({kind, op->getName().getStringRef().str() + " " + std::to_string(index) + ": " + how,
                         [index, with](ModuleOp clone) {
                           Operation *op = opsOf(clone)[index];
                           OpBuilder builder(op);
                           builder.setInsertionPointAfter(op);
                           Value made = with(builder, op);
                           if (!made)
                             return false;
                           made = inShape(builder, made, typeOf(op->getResult(0)));
                           // If the op is doubled, the new ops read its result.
                           llvm::SmallPtrSet<Operation *, 4> own;
                           for (Operation *next = op->getNextNode(); next && next->getBlock() == op->getBlock(); next = next->getNextNode()) {
                             own.insert(next);
                             if (next == made.getDefiningOp())
                               break;
                           }
                           if (made.getDefiningOp() && !own.contains(made.getDefiningOp()))
                             own.clear();
                           op->getResult(0).replaceAllUsesExcept(made, own);
                           if (op->use_empty())
                             op->erase();
                           return true;
                         }});
  }

  void listChanged(const std::string &kind, Operation *op, size_t index, const Collective &changed,
                   const std::string &how) {
    replace(kind, op, how, index, [changed, mesh = mesh](OpBuilder &builder, Operation *op) {
      auto instance = op->getAttrOfType<IntegerAttr>("cleave.instance");
      return changed.build(builder, op->getLoc(), op->getOperand(0), mesh, instance ? instance.getInt() : -1);
    });
  }

  void listCollective(Operation *op, size_t index, const Collective &is) {
    static const char *const names[] = {"all_reduce", "reduce_scatter", "all_gather", "all_slice", "reduce", "broadcast"};
    replace("drop", op, "dropped", index, [](OpBuilder &, Operation *op) { return op->getOperand(0); });
    for (auto other : {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather, Collective::AllSlice,
                       Collective::Reduce, Collective::Broadcast}) {
      Collective changed = is;
      changed.kind = other;
      if (other != is.kind)
        listChanged("replace", op, index, changed, std::string("made ") + names[other]);
      // Adds one more collective of any kind, after it and before it.
      replace("add", op, std::string(names[other]) + " after it", index,
              [changed, mesh = mesh](OpBuilder &builder, Operation *op) {
                return changed.build(builder, op->getLoc(), op->getResult(0), mesh, 1000000);
              });
      replace("add", op, std::string(names[other]) + " before it", index,
              [is, changed, mesh = mesh](OpBuilder &builder, Operation *op) -> Value {
                Value more = changed.build(builder, op->getLoc(), op->getOperand(0), mesh, 1000000);
                if (!more)
                  return {};
                more = inShape(builder, more, typeOf(op->getOperand(0)));
                return is.build(builder, op->getLoc(), more, mesh, 1000001);
              });
    }
    for (const Axes &axes : otherAxes(is.axes, mesh)) {
      Collective changed = is;
      changed.axes = axes;
      std::string how = "over";
      for (int16_t axis : axes)
        how += " " + std::to_string(axis);
      listChanged("axes", op, index, changed, how);
    }
    for (int64_t dim = 0, rank = typeOf(op->getOperand(0)).getRank(); is.hasDim() && dim < rank; ++dim) {
      Collective changed = is;
      changed.dim = dim;
      if (dim == is.dim)
        continue;
      listChanged("dimension", op, index, changed, "along " + std::to_string(dim));
      if (auto instance = op->getAttrOfType<IntegerAttr>("cleave.instance"); instance && is.kind == Collective::AllSlice)
        mutations.back().slice = instance.getInt();
    }
    for (auto kind : {shard::ReductionKind::Sum, shard::ReductionKind::Max, shard::ReductionKind::Min}) {
      Collective changed = is;
      changed.reduction = kind;
      if (is.reduces() && kind != is.reduction)
        listChanged("reduction", op, index, changed, stringifyEnum(kind).str());
    }
    if (Collective changed = is; is.hasRoot()) {
      changed.root = 1;
      listChanged("root", op, index, changed, "root 1");
    }
  }

  // Drops two neighbours at once. The second one may have hidden the error of dropping the first.
  void listPairs() {
    std::vector<size_t> drops;
    for (size_t i = 0; i < mutations.size(); ++i)
      if (mutations[i].kind == "drop")
        drops.push_back(i);
    for (size_t i = 0; i + 1 < drops.size(); ++i)
      for (size_t next = i + 1; next < std::min(i + 4, drops.size()); ++next) {
        const ShardedMutation first = mutations[drops[i]], second = mutations[drops[next]];
        // The later one is dropped first, so that the earlier one keeps its index.
        mutations.push_back({"drop two", first.what + ", and " + second.what, [first, second](ModuleOp clone) {
                               return second.apply(clone) && first.apply(clone);
                             }});
      }
  }

  // Computes the position of a rank's part wrongly.
  void listCoordinate(ModuleOp module, ReadOp read, size_t index) {
    if (!read.getState().starts_with("coordinate."))
      return;
    replace("origin", read, "zero", index, [](OpBuilder &builder, Operation *op) -> Value {
      auto type = typeOf(op->getResult(0));
      return ConstantOp::create(builder, op->getLoc(), DenseElementsAttr::get(type, int64_t{0}));
    });
    replace("origin", read, "doubled", index, [](OpBuilder &builder, Operation *op) -> Value {
      return AddOp::create(builder, op->getLoc(), op->getResult(0), op->getResult(0));
    });
    for (auto state : module.getOps<StateOp>())
      if (state.getRole() == Role::Coordinate && state.getSymName() != read.getState())
        replace("origin", read, "of @" + state.getSymName().str(), index,
                [name = state.getSymName().str()](OpBuilder &builder, Operation *op) -> Value {
                  return ReadOp::create(builder, op->getLoc(), op->getResult(0).getType(), name);
                });
  }

  // Keeps the local type and changes its meaning: terms of a partial value are declared whole, and the reverse.
  std::vector<ShardingAttr> otherForms(ShardingAttr sharding) {
    SmallVector<Attribute> free;
    for (auto [name, size] : llvm::zip_equal(mesh.getNames(), mesh.getSizes())) {
      bool isUsed = llvm::is_contained(sharding.getPartialAxes(), name.getValue()) ||
                    llvm::is_contained(sharding.getOwnerAxes(), name.getValue());
      for (int64_t dim = 0, rank = sharding.getDims().size(); dim < rank; ++dim)
        isUsed |= llvm::is_contained(sharding.getDimAxes(dim), name.getValue());
      if (!isUsed && size > 1)
        free.push_back(name);
    }
    std::vector<ShardingAttr> forms;
    if (!sharding.getPartialAxes().empty() || sharding.isOwned())
      forms.push_back(ShardingAttr::get(sharding.getDims()));
    if (!free.empty() && sharding.getPartialAxes().empty())
      forms.push_back(ShardingAttr::get(sharding.getDims(), free));
    return forms;
  }

  void listStorage(StateOp state, size_t index) {
    for (ShardingAttr form : otherForms(*state.getStorage()))
      mutations.push_back({"storage", "@" + state.getSymName().str(), [index, form](ModuleOp clone) {
                             cast<StateOp>(opsOf(clone)[index]).setStorageAttr(form);
                             return true;
                           }});
  }

  void listPorts(func::FuncOp function, size_t index) {
    for (unsigned result = 0; result < function.getNumResults(); ++result)
      for (ShardingAttr form : otherForms(function.getResultAttrOfType<ShardingAttr>(result, "cleave.sharding")))
        mutations.push_back({"port", "result " + std::to_string(result) + " of @" + function.getName().str(),
                             [index, result, form](ModuleOp clone) {
                               cast<func::FuncOp>(opsOf(clone)[index]).setResultAttr(result, "cleave.sharding", form);
                               return true;
                             }});
    for (unsigned argument = 0; argument < function.getNumArguments(); ++argument)
      for (ShardingAttr form : otherForms(function.getArgAttrOfType<ShardingAttr>(argument, "cleave.sharding")))
        mutations.push_back({"port", "argument " + std::to_string(argument) + " of @" + function.getName().str(),
                             [index, argument, form](ModuleOp clone) {
                               cast<func::FuncOp>(opsOf(clone)[index]).setArgAttr(argument, "cleave.sharding", form);
                               return true;
                             }});
  }

  MeshAttr mesh;
};

} // namespace

std::vector<ShardedMutation> listMutations(ModuleOp module) { return Lister(module).mutations; }

} // namespace cleave::test
