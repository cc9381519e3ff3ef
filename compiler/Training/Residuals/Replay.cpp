#include "compiler/Training/Residuals/Replay.h"

#include "compiler/Training/Chunks/ChunkPorts.h"
#include "compiler/Training/Residuals/SplitFunction.h"
#include "dialects/Cleave/IR/Attributes.h"
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

bool isCollective(Operation *op) { return isa<shard::ShardDialect>(op->getDialect()); }

// True for views, for casts to narrower types, and for collectives, which move values between ranks.
bool passesOn(Operation *op) {
  if (isCollective(op) || (narrows(op) && isMemoryEffectFree(op)))
    return true;
  auto compute = dyn_cast<ComputeOpInterface>(op);
  return compute && compute.getComputeKind() == ComputeKind::View;
}

// The number of results that leave the chunk. They come before the residuals.
int64_t numEdges(func::FuncOp forward) {
  int64_t edges = 0;
  for (unsigned i = 0; i < forward.getNumResults(); ++i)
    edges += !edgeOfResult(forward, i).empty();
  return edges;
}

// Makes the forward function return its edges, and then the kept values. The residual numbers of the backward functions
// are indices into these results.
void returnKept(func::FuncOp forward, const llvm::SetVector<Value> &kept) {
  Block &body = forward.getBody().front();
  SmallVector<std::pair<DictionaryAttr, Value>> edges;
  for (auto [number, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (!edgeOfResult(forward, number).empty())
      edges.emplace_back(forward.getResultAttrDict(number), value);
  ChunkPorts ports(forward);
  ports.dropResults(0);
  for (auto [attributes, value] : edges)
    ports.addResult(attributes, value);
  for (Value value : kept)
    ports.addResult(DictionaryAttr(), value);
  ports.finish();
  eraseDeadOps(body);
}

class Replayer {
public:
  Replayer(func::FuncOp forward, func::FuncOp backward, const llvm::SetVector<Value> &kept, const FreeValues &free)
      : forward(forward), backward(backward), kept(kept), free(free), body(backward.getBody().front()),
        builder(backward.getContext()) {}

  LogicalResult run() {
    ValueRange old = forward.getBody().front().getTerminator()->getOperands();
    std::vector<std::pair<BlockArgument, Value>> residuals; // each old argument, with its value in the forward function
    for (BlockArgument argument : body.getArguments()) {
      auto number = backward.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), kResidualAttr);
      if (!number)
        continue;
      if (number.getInt() < 0 || number.getInt() >= static_cast<int64_t>(old.size()) ||
          old[number.getInt()].getType() != argument.getType())
        return backward.emitError("expected argument ")
               << argument.getArgNumber() << " to be a residual of @" << forward.getName();
      residuals.emplace_back(argument, old[number.getInt()]);
    }
    for (Operation &op : body)
      order[&op] = order.size();
    addKept(residuals);
    collectFree();
    llvm::erase_if(residuals, [&](const auto &one) { return kept.contains(one.second) || one.first.use_empty(); });
    llvm::SmallVector<Remade> remade;
    for (auto [argument, value] : residuals)
      remade.push_back({argument, value, firstUser(argument)});
    joinReturned(remade);
    llvm::stable_sort(remade,
                      [&](const Remade &a, const Remade &b) { return order.lookup(a.at) < order.lookup(b.at); });
    for (Remade &one : remade) {
      builder.setInsertionPoint(one.at);
      one.argument.replaceAllUsesWith(make(one.value));
    }
    finish();
    return success();
  }

private:
  // A residual that is computed again, before the op `at`.
  struct Remade {
    BlockArgument argument;
    Value value;
    Operation *at;
  };

  // A value that is only returned (for the second half of a split backward pass) is made together with the first of its
  // block's other values.
  static void joinReturned(llvm::MutableArrayRef<Remade> remade) {
    auto blockOf = [](const Remade &one) {
      Operation *maker = one.value.getDefiningOp();
      return maker ? getBlockMark(maker) : std::nullopt;
    };
    llvm::DenseMap<int64_t, Operation *> firstOf;
    for (const Remade &one : remade)
      if (auto block = blockOf(one); block && !isa<func::ReturnOp>(one.at)) {
        Operation *&first = firstOf[*block];
        first = !first || one.at->isBeforeInBlock(first) ? one.at : first;
      }
    for (Remade &one : remade)
      if (auto block = blockOf(one); block && isa<func::ReturnOp>(one.at))
        if (Operation *first = firstOf.lookup(*block))
          one.at = first;
  }

  Operation *firstUser(BlockArgument argument) const {
    Operation *first = nullptr;
    for (Operation *user : argument.getUsers()) {
      Operation *inBody = body.findAncestorOpInBlock(*user);
      if (!first || order.lookup(inBody) < order.lookup(first))
        first = inBody;
    }
    return first;
  }

  // Adds arguments for all kept values, after the old ones. finish() erases the old ones.
  void addKept(ArrayRef<std::pair<BlockArgument, Value>> residuals) {
    oldArguments = body.getNumArguments();
    int64_t edges = numEdges(forward);
    for (auto [number, value] : llvm::enumerate(kept)) {
      auto known = llvm::find_if(residuals, [&, value = value](const auto &one) { return one.second == value; });
      NamedAttrList attributes;
      if (known != residuals.end())
        attributes = NamedAttrList(backward.getArgAttrDict(known->first.getArgNumber()));
      attributes.set(kResidualAttr, builder.getI64IntegerAttr(edges + static_cast<int64_t>(number)));
      BlockArgument fresh = addArgument(value, attributes.getDictionary(builder.getContext()));
      if (known != residuals.end())
        BlockArgument(known->first).replaceAllUsesWith(fresh);
    }
    for (unsigned i = 0; i < oldArguments; ++i)
      if (StringAttr name = inputName(backward, i))
        inputs[name] = body.getArgument(i);
  }

  // Returns the name of a model's input, or of an edge.
  static StringAttr inputName(func::FuncOp function, unsigned argument) {
    auto name = function.getArgAttrOfType<StringAttr>(argument, kNameAttr);
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

  // Collects the reads, constants, views, collectives and narrowing casts that the backward function has already.
  // repeat() uses them instead of a copy.
  void collectFree() {
    for (Operation &op : body)
      if (isa<ReadOp, ConstantOp>(op) || passesOn(&op))
        known[op.getName()].push_back(&op);
  }

  Operation *findEqual(Operation *op) {
    // Marks and instance numbers say where an op is, not what it computes.
    auto plain = [](Operation *one) {
      NamedAttrList attributes;
      for (NamedAttribute attribute : one->getAttrs())
        if (!attribute.getName().getValue().starts_with("cleave."))
          attributes.push_back(attribute);
      return attributes.getDictionary(one->getContext());
    };
    auto kernel = dyn_cast<KernelOp>(op);
    if (kernel && !kernel.getLabel()) // only the label says what a kernel computes
      return nullptr;
    for (Operation *other : known.lookup(op->getName()))
      if (other->getResultTypes() == op->getResultTypes() &&
          llvm::equal(llvm::map_range(op->getOperands(), [&](Value v) { return mapping.lookupOrNull(v); }),
                      other->getOperands()) &&
          plain(op) == plain(other))
        return other;
    return nullptr;
  }

  // Makes the value in the backward function, at the builder's insertion point. It uses a stack instead of recursion,
  // because chains may be long.
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
      // The op may be after the insertion point. Its operands have been made before, so it can be moved.
      if (order.lookup_or(copy, 0) >= order.lookup(&*builder.getInsertionPoint()))
        copy->moveBefore(&*builder.getInsertionPoint());
      order[copy] = 0;
    } else {
      copy = builder.clone(*op, mapping);
      copy->removeAttr(kBlockAttr);
      if (isCollective(copy))
        copy->setAttr(kInstanceAttr, builder.getI64IntegerAttr(nextInstance(backward->getParentOfType<ModuleOp>())));
    }
    for (auto [from, to] : llvm::zip_equal(op->getResults(), copy->getResults()))
      if (!mapping.contains(from)) // do not replace a kept result
        mapping.map(from, to);
  }

  // Erases the old arguments of residuals, and those of kept values that this function does not read. Inputs keep their
  // order.
  void finish() {
    SmallVector<Attribute> attributes;
    llvm::BitVector gone(body.getNumArguments());
    for (unsigned i = 0; i < body.getNumArguments(); ++i) {
      bool isOld = i < oldArguments;
      DictionaryAttr known = dictionaryOr(isOld ? backward.getArgAttrDict(i) : newAttributes[i - oldArguments]);
      if (known.contains(kResidualAttr) && (isOld || body.getArgument(i).use_empty()))
        gone.set(i);
      else
        attributes.push_back(known);
    }
    backward.removeArgAttrsAttr();
    body.eraseArguments(gone);
    backward.setFunctionType(builder.getFunctionType(body.getArgumentTypes(), backward.getResultTypes()));
    backward.setArgAttrsAttr(builder.getArrayAttr(attributes));
    eraseDeadOps(body);
  }

  DictionaryAttr dictionaryOr(DictionaryAttr attributes) {
    return attributes ? attributes : builder.getDictionaryAttr({});
  }

  func::FuncOp forward, backward;
  const llvm::SetVector<Value> &kept;
  const FreeValues &free;
  Block &body;
  OpBuilder builder;
  IRMapping mapping; // forward value -> backward value
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

int64_t nextInstance(ModuleOp module) {
  int64_t next = 0;
  module.walk([&](Operation *op) {
    if (auto instance = op->getAttrOfType<IntegerAttr>(kInstanceAttr))
      next = std::max(next, instance.getInt() + 1);
  });
  return next;
}

// Residuals that the second half reads, and that are neither kept nor free, are made by the first half, which returns
// them as edges.
static void passOn(func::FuncOp forward, func::FuncOp first, func::FuncOp second, const llvm::SetVector<Value> &kept,
                   const FreeValues &free) {
  MLIRContext *context = forward.getContext();
  auto residual = StringAttr::get(context, kResidualAttr);
  ValueRange old = forward.getBody().front().getTerminator()->getOperands();
  llvm::DenseMap<int64_t, BlockArgument> ofFirst;
  ChunkPorts ports(first);
  for (BlockArgument argument : first.getArguments())
    if (auto number = first.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), residual))
      ofFirst[number.getInt()] = argument;
  std::string prefix = chunkName(*chunkNumber(forward.getName())) + ".x:r";
  for (unsigned i = 0; i < second.getNumArguments(); ++i) {
    auto number = second.getArgAttrOfType<IntegerAttr>(i, residual);
    if (!number || number.getInt() < 0 || number.getInt() >= static_cast<int64_t>(old.size()))
      continue; // the replay reports the error
    Value value = old[number.getInt()];
    if (kept.contains(value) || free.contains(value) || second.getArgument(i).use_empty())
      continue;
    BlockArgument &made = ofFirst[number.getInt()];
    if (!made)
      made = ports.addArgument(DictionaryAttr::get(context, NamedAttribute(residual, number)), value);
    std::string edge = prefix + std::to_string(number.getInt());
    ports.addResult(edge, made);
    second.removeArgAttr(i, residual);
    second.setArgAttr(i, kEdgeAttr, StringAttr::get(context, edge));
  }
  ports.finish();
}

LogicalResult replayInBackward(func::FuncOp forward, ArrayRef<func::FuncOp> backward,
                               const llvm::SetVector<Value> &kept, const FreeValues &free) {
  if (backward.size() == 2)
    passOn(forward, backward[0], backward[1], kept, free);
  for (func::FuncOp half : backward)
    if (failed(Replayer(forward, half, kept, free).run()))
      return failure();
  if (backward.size() == 2)
    markSharedResiduals(backward[0], backward[1]);
  returnKept(forward, kept);
  return success();
}

} // namespace cleave
