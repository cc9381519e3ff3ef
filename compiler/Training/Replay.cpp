#include "compiler/Training/Replay.h"

#include "compiler/Training/ChunkPorts.h"
#include "dialects/Cleave/IR/BlockMarks.h"
#include "dialects/Cleave/IR/Narrowing.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace cleave {

namespace {

constexpr llvm::StringLiteral kInstanceAttr = "cleave.instance";

bool isCollective(Operation *op) { return isa<shard::ShardDialect>(op->getDialect()); }

// Ops that show values anew, in fewer bytes too, or move them between ranks.
bool passesOn(Operation *op) {
  if (isCollective(op) || (narrows(op) && isMemoryEffectFree(op)))
    return true;
  auto compute = dyn_cast<ComputeOpInterface>(op);
  return compute && compute.getComputeKind() == ComputeKind::View;
}

class Replayer {
public:
  Replayer(func::FuncOp forward, func::FuncOp backward, const llvm::SetVector<Value> &kept, const FreeValues &free)
      : forward(forward), backward(backward), kept(kept), free(free), body(backward.getBody().front()),
        builder(backward.getContext()) {}

  LogicalResult run() {
    ValueRange old = forward.getBody().front().getTerminator()->getOperands();
    std::vector<std::pair<BlockArgument, Value>> residuals; // old ones: the argument, and the value it stands for
    for (BlockArgument argument : body.getArguments()) {
      auto number = backward.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "cleave.residual");
      if (!number)
        continue;
      if (number.getInt() < 0 || number.getInt() >= static_cast<int64_t>(old.size()) ||
          old[number.getInt()].getType() != argument.getType())
        return backward.emitError("expected argument ")
               << argument.getArgNumber() << " to be a residual of @" << forward.getName();
      residuals.emplace_back(argument, old[number.getInt()]);
    }
    for (auto [number, value] : llvm::enumerate(old))
      if (!edgeOfResult(forward, number).empty())
        edges.emplace_back(forward.getResultAttrDict(number), value);
    for (Operation &op : body)
      order[&op] = order.size();
    addKept(residuals);
    collectFree();
    llvm::erase_if(residuals, [&](const auto &one) { return kept.contains(one.second) || one.first.use_empty(); });
    llvm::stable_sort(residuals, [&](const auto &a, const auto &b) { return firstUse(a.first) < firstUse(b.first); });
    for (auto [argument, value] : residuals) {
      builder.setInsertionPoint(firstUser(argument));
      argument.replaceAllUsesWith(make(value));
    }
    finish();
    return success();
  }

private:
  size_t firstUse(BlockArgument argument) const { return order.lookup(firstUser(argument)); }
  Operation *firstUser(BlockArgument argument) const {
    Operation *first = nullptr;
    for (Operation *user : argument.getUsers()) {
      Operation *inBody = body.findAncestorOpInBlock(*user);
      if (!first || order.lookup(inBody) < order.lookup(first))
        first = inBody;
    }
    return first;
  }

  // Arguments for all kept values, behind those that are there, which go at the end.
  void addKept(ArrayRef<std::pair<BlockArgument, Value>> residuals) {
    oldArguments = body.getNumArguments();
    for (auto [number, value] : llvm::enumerate(kept)) {
      auto known = llvm::find_if(residuals, [&, value = value](const auto &one) { return one.second == value; });
      NamedAttrList attributes;
      if (known != residuals.end())
        attributes = NamedAttrList(backward.getArgAttrDict(known->first.getArgNumber()));
      attributes.set("cleave.residual", builder.getI64IntegerAttr(static_cast<int64_t>(edges.size() + number)));
      BlockArgument fresh = addArgument(value, attributes.getDictionary(builder.getContext()));
      if (known != residuals.end())
        BlockArgument(known->first).replaceAllUsesWith(fresh);
    }
    for (unsigned i = 0; i < oldArguments; ++i)
      if (StringAttr name = inputName(backward, i))
        inputs[name] = body.getArgument(i);
  }

  // Of a model's input, or of an edge.
  static StringAttr inputName(func::FuncOp function, unsigned argument) {
    auto name = function.getArgAttrOfType<StringAttr>(argument, "cleave.name");
    if (name)
      return name;
    auto edge = function.getArgAttrOfType<StringAttr>(argument, kEdgeAttr);
    return edge ? StringAttr::get(edge.getContext(), "edge " + edge.getValue()) : StringAttr();
  }

  BlockArgument addArgument(Value value, DictionaryAttr attributes) {
    BlockArgument fresh = body.addArgument(value.getType(), value.getLoc());
    newAttributes.push_back(attributes);
    mapping.map(value, fresh);
    return fresh;
  }

  // Reads and what becomes of them are done once: they are found again in the backward function.
  void collectFree() {
    for (Operation &op : body)
      if (isa<ReadOp, ConstantOp>(op) || passesOn(&op))
        known[op.getName()].push_back(&op);
  }

  Operation *findEqual(Operation *op) {
    // Marks and instance numbers say where an op stands, not what it does.
    auto plain = [](Operation *one) {
      NamedAttrList attributes;
      for (NamedAttribute attribute : one->getAttrs())
        if (!attribute.getName().getValue().starts_with("cleave."))
          attributes.push_back(attribute);
      return attributes.getDictionary(one->getContext());
    };
    auto kernel = dyn_cast<KernelOp>(op);
    if (kernel && !kernel.getLabel()) // which says what it does
      return nullptr;
    for (Operation *other : known.lookup(op->getName()))
      if (other->getResultTypes() == op->getResultTypes() &&
          llvm::equal(llvm::map_range(op->getOperands(), [&](Value v) { return mapping.lookupOrNull(v); }),
                      other->getOperands()) &&
          plain(op) == plain(other))
        return other;
    return nullptr;
  }

  // The value in the backward function, at the builder's place. With a stack of its own: chains may be long.
  Value make(Value wanted) {
    SmallVector<Operation *> stack;
    auto need = [&](Value value) {
      if (mapping.contains(value))
        return true;
      if (auto argument = dyn_cast<BlockArgument>(value))
        return mapInput(argument), true;
      stack.push_back(value.getDefiningOp());
      return false;
    };
    need(wanted);
    while (!stack.empty()) {
      Operation *op = stack.back();
      bool ready = true;
      for (Value operand : op->getOperands())
        ready &= need(operand);
      if (!ready)
        continue;
      stack.pop_back();
      if (!llvm::all_of(op->getResults(), [&](Value v) { return mapping.contains(v); }))
        repeat(op);
    }
    return mapping.lookup(wanted);
  }

  void mapInput(BlockArgument argument) {
    StringAttr name = inputName(forward, argument.getArgNumber());
    if (Value known = name ? inputs.lookup(name) : Value())
      return mapping.map(argument, known);
    inputs[name] = addArgument(argument, forward.getArgAttrDict(argument.getArgNumber()));
  }

  void repeat(Operation *op) {
    bool isFree = llvm::all_of(op->getResults(), [&](Value v) { return free.contains(v); });
    Operation *copy = isFree ? findEqual(op) : nullptr;
    if (copy) {
      // It may stand behind the place; what it needs has been asked for before it.
      if (order.lookup_or(copy, 0) >= order.lookup(&*builder.getInsertionPoint()))
        copy->moveBefore(&*builder.getInsertionPoint());
      order[copy] = 0;
    } else {
      copy = builder.clone(*op, mapping);
      copy->removeAttr(kBlockAttr);
      if (isCollective(copy))
        copy->setAttr(kInstanceAttr, builder.getI64IntegerAttr(nextInstance()));
    }
    for (auto [from, to] : llvm::zip_equal(op->getResults(), copy->getResults()))
      if (!mapping.contains(from)) // a kept result stays what was kept
        mapping.map(from, to);
  }

  int64_t nextInstance() {
    int64_t next = 0;
    backward->getParentOfType<ModuleOp>().walk([&](Operation *op) {
      if (auto instance = op->getAttrOfType<IntegerAttr>(kInstanceAttr))
        next = std::max(next, instance.getInt() + 1);
    });
    return next;
  }

  void finish() {
    // Old residual arguments go, inputs stay where they are.
    SmallVector<Attribute> attributes;
    llvm::BitVector gone(body.getNumArguments());
    for (unsigned i = 0; i < oldArguments; ++i)
      if (backward.getArgAttr(i, "cleave.residual"))
        gone.set(i);
      else
        attributes.push_back(dictionaryOr(backward.getArgAttrDict(i)));
    for (DictionaryAttr one : newAttributes)
      attributes.push_back(dictionaryOr(one));
    backward.removeArgAttrsAttr();
    body.eraseArguments(gone);
    backward.setFunctionType(builder.getFunctionType(body.getArgumentTypes(), backward.getResultTypes()));
    backward.setArgAttrsAttr(builder.getArrayAttr(attributes));

    Block &forwardBody = forward.getBody().front();
    ChunkPorts ports(forward);
    ports.dropResults(0);
    for (auto [attributes, value] : edges)
      ports.addResult(attributes, value);
    for (Value value : kept)
      ports.addResult(DictionaryAttr(), value);
    ports.finish();
    for (Block *block : {&forwardBody, &body})
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
        if (isOpTriviallyDead(&op))
          op.erase();
  }

  DictionaryAttr dictionaryOr(DictionaryAttr attributes) {
    return attributes ? attributes : builder.getDictionaryAttr({});
  }

  func::FuncOp forward, backward;
  const llvm::SetVector<Value> &kept;
  const FreeValues &free;
  Block &body;
  OpBuilder builder;
  SmallVector<std::pair<DictionaryAttr, Value>> edges; // what the forward function returns besides residuals
  IRMapping mapping;                                   // forward value -> backward value
  unsigned oldArguments = 0;
  SmallVector<DictionaryAttr> newAttributes;
  llvm::DenseMap<Attribute, Value> inputs; // by name
  llvm::DenseMap<Operation *, size_t> order;
  llvm::DenseMap<OperationName, SmallVector<Operation *>> known;
};

} // namespace

FreeValues::FreeValues(func::FuncOp forward) {
  Block &body = forward.getBody().front();
  llvm::StringSet<> written;
  for (WriteOp write : body.getOps<WriteOp>())
    written.insert(write.getState());
  values.insert(body.args_begin(), body.args_end());
  for (Operation &op : body) {
    auto read = dyn_cast<ReadOp>(op);
    bool isFree = read ? !written.contains(read.getState())
                       : op.hasTrait<OpTrait::ConstantLike>() ||
                             (passesOn(&op) && op.getNumOperands() > 0 &&
                              llvm::all_of(op.getOperands(), [&](Value v) { return values.contains(v); }));
    if (isFree)
      values.insert(op.result_begin(), op.result_end());
  }
}

LogicalResult replayInBackward(func::FuncOp forward, func::FuncOp backward, const llvm::SetVector<Value> &kept,
                               const FreeValues &free) {
  return Replayer(forward, backward, kept, free).run();
}

} // namespace cleave
