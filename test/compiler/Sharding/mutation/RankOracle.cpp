#include "test/compiler/Sharding/mutation/RankOracle.h"

#include "test/compiler/Sharding/mutation/Elements.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"

#include <algorithm>

using namespace mlir;

namespace cleave::test {

namespace {

using Id = uint64_t;

Id hashOf(llvm::StringRef text) {
  Id made = 0xcbf29ce484222325ull;
  for (char c : text)
    made = (made ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return made;
}

template <typename T> Id hashOfPrinted(T thing) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  thing.print(stream);
  return hashOf(text);
}

class Ranks {
public:
  explicit Ranks(ModuleOp module)
      : module(module), mesh(module->getAttrOfType<MeshAttr>("cleave.mesh")), inElements(Elements::canHold(module)) {
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
      std::vector<int64_t> at(mesh.getSizes().size());
      int64_t rest = rank;
      for (size_t axis = at.size(); axis-- > 0; rest /= mesh.getSizes()[axis])
        at[axis] = rest % mesh.getSizes()[axis];
      coordinates.push_back(at);
    }
  }

  std::optional<Execution> run(std::string *error) {
    why = error;
    for (auto state : module.getOps<StateOp>())
      states[state.getSymName().str()] =
          begin("state " + state.getSymName().str(), *state.getStorage(), state.getTensorType(), coordinateAxis(state));
    for (bool hasInputs : {true, false}) // first the samples, then the update
      for (auto function : module.getOps<func::FuncOp>())
        if (!function->hasAttr("cleave.backward_of") && (function.getNumArguments() > 0) == hasInputs &&
            !runWithBackward(function))
          return std::nullopt;
    for (auto state : module.getOps<StateOp>())
      note("state " + state.getSymName().str(), states[state.getSymName().str()], *state.getStorage());
    return Execution{outcome, localSlices};
  }

private:
  using Values = std::vector<Id>; // one for each rank

  bool fail(Operation *op, llvm::StringRef reason) {
    *why = (op->getName().getStringRef() + ": " + reason).str();
    return false;
  }

  std::optional<unsigned> coordinateAxis(StateOp state) {
    for (auto segment : state.getSegments().getAsRange<SegmentAttr>())
      if (segment.getInit().getKind() == InitKind::Coordinate)
        return mesh.getIndex(segment.getInit().getSource().getValue());
    return std::nullopt;
  }

  // An initial value. Ranks have different expressions if they differ in a coordinate over which it is split or
  // partial.
  Values begin(const std::string &name, ShardingAttr sharding, Type type, std::optional<unsigned> coordinate = std::nullopt) {
    llvm::SmallVector<llvm::StringRef> axes = sharding.getPartialAxes();
    for (int64_t dim = 0, rank = sharding.getDims().size(); dim < rank; ++dim)
      axes.append(sharding.getDimAxes(dim));
    axes.append(sharding.getOwnerAxes());
    Values made;
    for (const auto &at : coordinates) {
      Id id = hashOf(name);
      for (llvm::StringRef axis : axes)
        if (int64_t index = mesh.getIndex(axis); index >= 0)
          id = mix(id, mix(hashOf(axis), at[index]));
      if (coordinate)
        id = mix(id, at[*coordinate]);
      made.push_back(named(id, type));
    }
    return made;
  }

  // Records the values of all ranks. If the value has an owner, records only the owners' values.
  void note(const std::string &name, const Values &values, ShardingAttr sharding) {
    auto owners = sharding.getOwnerAxes();
    for (auto [rank, id] : llvm::enumerate(values)) {
      auto isOwner = [&, at = coordinates[rank]](llvm::StringRef axis) { return at[mesh.getIndex(axis)] == 0; };
      if (llvm::all_of(owners, isOwner))
        outcome[name + " on rank " + std::to_string(rank)] = id;
    }
  }

  bool runWithBackward(func::FuncOp forward) {
    std::vector<Values> results;
    if (!runFunction(forward, {}, results))
      return false;
    for (auto backward : module.getOps<func::FuncOp>())
      if (auto of = backward->getAttrOfType<FlatSymbolRefAttr>("cleave.backward_of"); of && of.getValue() == forward.getName())
        if (std::vector<Values> none; !runFunction(backward, results, none))
          return false;
    return true;
  }

  bool runFunction(func::FuncOp function, const std::vector<Values> &residuals, std::vector<Values> &results) {
    llvm::DenseMap<Value, Values> values;
    for (BlockArgument argument : function.getArguments()) {
      unsigned index = argument.getArgNumber();
      if (auto residual = function.getArgAttrOfType<IntegerAttr>(index, "cleave.residual")) {
        if (static_cast<size_t>(residual.getInt()) >= residuals.size())
          return fail(function, "no such residual");
        values[argument] = residuals[residual.getInt()];
        continue;
      }
      auto name = function.getArgAttrOfType<StringAttr>(index, "cleave.name");
      values[argument] = begin("input " + (name ? name.getValue().str() : std::to_string(index)),
                               function.getArgAttrOfType<ShardingAttr>(index, "cleave.sharding"), argument.getType());
    }
    if (!runBlock(function.getBody().front(), values))
      return false;
    for (OpOperand &operand : function.getBody().front().getTerminator()->getOpOperands()) {
      results.push_back(values.lookup(operand.get()));
      if (auto name = function.getResultAttrOfType<StringAttr>(operand.getOperandNumber(), "cleave.name"))
        note("output " + name.getValue().str() + " of " + function.getName().str(), results.back(),
             function.getResultAttrOfType<ShardingAttr>(operand.getOperandNumber(), "cleave.sharding"));
    }
    return true;
  }

  bool runBlock(Block &block, llvm::DenseMap<Value, Values> &values) {
    for (Operation &op : block.without_terminator())
      if (!runOp(&op, values))
        return false;
    return true;
  }

  bool runOp(Operation *op, llvm::DenseMap<Value, Values> &values) {
    if (auto read = dyn_cast<ReadOp>(op)) {
      values[read.getResult()] = states[read.getState().str()];
      return true;
    }
    if (auto write = dyn_cast<WriteOp>(op)) {
      states[write.getState().str()] = values.lookup(write.getValue());
      return true;
    }
    if (auto kernel = dyn_cast<KernelOp>(op)) {
      Block &body = kernel.getBody().front();
      for (auto [argument, input] : llvm::zip_equal(body.getArguments(), kernel.getInputs())) {
        Values outer = values.lookup(input);
        values[argument] = outer;
      }
      if (!runBlock(body, values))
        return false;
      for (auto [result, yielded] : llvm::zip_equal(kernel.getResults(), body.getTerminator()->getOperands())) {
        Values inner = values.lookup(yielded);
        values[result] = inner;
      }
      return true;
    }
    if (isa<shard::ShardDialect>(op->getDialect()))
      return runCollective(op, values);
    Id what = mix(hashOf(op->getName().getStringRef()), 0);
    for (NamedAttribute attribute : op->getAttrDictionary())
      if (attribute.getName() != "cleave.instance" && attribute.getName() != "cleave.reason")
        what = mix(what, mix(hashOf(attribute.getName()), hashOfPrinted(attribute.getValue())));
    for (OpResult result : op->getResults()) {
      Values made;
      for (size_t rank = 0; rank < coordinates.size(); ++rank) {
        if (inElements) {
          made.push_back(elementsMadeBy(op, result, what, rank, values));
          continue;
        }
        Id id = mix(mix(what, result.getResultNumber()), hashOfPrinted(result.getType()));
        for (Value operand : op->getOperands())
          id = mix(id, values.lookup(operand)[rank]);
        auto kind = mix(what, result.getResultNumber());
        auto copied = isElementwise(op) ? copiesOfElements(op, kind, rank, values) : copiesMadeBy(op, rank, values);
        made.push_back(copied.value_or(id));
      }
      values[result] = made;
    }
    return true;
  }

  //===--- Elements -------------------------------------------------------===//

  // The list of elements for a name, if the program is executed by elements. Otherwise the name itself.
  Id named(Id id, Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return inElements && tensor ? elements.name(elements.of(id, tensor), tensor) : id;
  }

  Id elementsMadeBy(Operation *op, OpResult result, Id what, size_t rank, llvm::DenseMap<Value, Values> &values) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    what = mix(what, result.getResultNumber());
    if (type)
      what = mix(what, hashOfPrinted(type.getElementType()));
    llvm::SmallVector<Id> operands;
    for (Value operand : op->getOperands())
      operands.push_back(values.lookup(operand)[rank]);
    if (type && op->getNumResults() == 1)
      return elements.run(op, what, operands);
    for (Id operand : operands)
      what = mix(what, operand);
    return named(what, result.getType());
  }

  // The value of a rank after a collective of its group, in which it has the index `index`.
  std::optional<Id> elementsMoved(Operation *op, llvm::ArrayRef<Id> ids, size_t index) {
    RankedTensorType from = typeOf(op->getOperand(0)), type = typeOf(op->getResult(0));
    auto sum = [&](shard::ReductionKind kind) {
      return elements.zipped(ids, from, [&](std::vector<Id> terms) { return reduced(kind, std::move(terms)); });
    };
    if (auto reduce = dyn_cast<shard::AllReduceOp>(op))
      return sum(reduce.getReduction());
    if (auto scatter = dyn_cast<shard::ReduceScatterOp>(op))
      return elements.part(sum(scatter.getReduction()), from, type, scatter.getScatterAxis().getSExtValue(), index);
    if (auto slice = dyn_cast<shard::AllSliceOp>(op))
      return elements.part(ids[index], from, type, slice.getSliceAxis().getSExtValue(), index);
    if (auto gather = dyn_cast<shard::AllGatherOp>(op))
      return elements.joined(ids, llvm::SmallVector<RankedTensorType>(ids.size(), from), type,
                             gather.getGatherAxis().getSExtValue());
    if (auto toOne = dyn_cast<shard::ReduceOp>(op))
      return sum(toOne.getReduction());
    return std::nullopt;
  }

  //===--- Copies ---------------------------------------------------------===//

  // A value that repeats `size` elements in row-major order.
  struct Copies {
    Id of;
    int64_t size;
  };

  static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

  Id copiesOf(Copies what, RankedTensorType type) {
    Id made = mix(mix(mix(hashOf("copies"), what.of), what.size), hashOfPrinted(type));
    copies.try_emplace(made, what);
    return made;
  }

  // A part of a value that consists of copies, if the part is whole copies. It does not matter which copies it has.
  std::optional<Id> copiesIn(Id value, RankedTensorType part) {
    auto known = copies.find(value);
    if (known == copies.end() || part.getNumElements() % known->second.size != 0)
      return std::nullopt;
    return copiesOf(known->second, part);
  }

  // A value that is equal at all indices of the dimensions that are not in `dims`, as a broadcast makes it.
  struct Spread {
    Id of;
    llvm::SmallVector<int64_t> dims; // the dimensions of `of`, in ascending order
    llvm::SmallVector<int64_t> shape; // of `of`
  };

  // Such a value. Along its first dimensions it is row-major copies of its value along the others.
  Id spread(const Spread &what, RankedTensorType type) {
    int64_t leading = what.dims.empty() ? type.getRank() : what.dims.front();
    Id block = what.of;
    if (auto inner = type.getShape().drop_front(leading); inner != llvm::ArrayRef(what.shape)) {
      block = mix(hashOf("spread"), block);
      for (int64_t dim : what.dims)
        block = mix(block, dim - leading);
      for (int64_t size : inner)
        block = mix(block, size);
    }
    Id made = copiesOf({block, ShapedType::getNumElements(type.getShape().drop_front(leading))}, type);
    spreads.try_emplace(made, what);
    return made;
  }

  static bool isOntoSame(llvm::ArrayRef<int64_t> dims, RankedTensorType from, RankedTensorType type) {
    return llvm::all_of(llvm::enumerate(dims),
                        [&](auto dim) { return type.getDimSize(dim.value()) == from.getDimSize(dim.index()); });
  }

  // The result of a broadcast, or of an op that reshapes, cuts or joins such values.
  std::optional<Id> copiesMadeBy(Operation *op, size_t rank, llvm::DenseMap<Value, Values> &values) {
    if (op->getNumResults() != 1 || op->getNumOperands() == 0)
      return std::nullopt;
    RankedTensorType type = typeOf(op->getResult(0)), from = typeOf(op->getOperand(0));
    Id first = values.lookup(op->getOperand(0))[rank];
    if (auto broadcast = dyn_cast<BroadcastOp>(op); broadcast && type.getNumElements() > 0)
      if (llvm::is_sorted(broadcast.getDims()) && isOntoSame(broadcast.getDims(), from, type))
        return spread({first, llvm::to_vector(broadcast.getDims()), llvm::to_vector(from.getShape())}, type);
    auto slice = dyn_cast<SliceOp>(op);
    bool isFront = slice && type.getRank() == 1 && slice.getStarts()[0] == 0 && slice.getSteps()[0] == 1;
    if (isa<ReshapeOp>(op) || isFront)
      return copiesIn(first, type);
    bool areSame = llvm::all_of(op->getOperands(), [&](Value other) { return values.lookup(other)[rank] == first; });
    return isa<ConcatOp>(op) && type.getRank() == 1 && areSame ? copiesIn(first, type) : std::nullopt;
  }

  // An element-wise op on copies of the same size: the result is copies of the op's result on one of them.
  std::optional<Id> copiesOfElements(Operation *op, Id what, size_t rank, llvm::DenseMap<Value, Values> &values) {
    RankedTensorType type = typeOf(op->getResult(0));
    Copies made{mix(what, hashOfPrinted(type.getElementType())), 0};
    for (Value operand : op->getOperands()) {
      auto known = copies.find(values.lookup(operand)[rank]);
      if (known == copies.end() || (made.size != 0 && known->second.size != made.size))
        return std::nullopt;
      made = {mix(made.of, known->second.of), known->second.size};
    }
    return made.size == 0 ? std::nullopt : std::optional(copiesOf(made, type));
  }

  //===--- Collectives ----------------------------------------------------===//

  struct Part {
    Id whole;
    int64_t dim, index, count;
  };

  // The ranks of one group, in the order of its axes (the first is the slowest), and the index of `rank` among them.
  std::pair<std::vector<size_t>, size_t> groupOf(size_t rank, llvm::ArrayRef<shard::GridAxis> axes) const {
    std::vector<std::pair<std::vector<int64_t>, size_t>> members;
    for (size_t other = 0; other < coordinates.size(); ++other) {
      auto rest = coordinates[other];
      std::vector<int64_t> place;
      for (shard::GridAxis axis : axes) {
        place.push_back(rest[axis]);
        rest[axis] = coordinates[rank][axis];
      }
      if (rest == coordinates[rank])
        members.push_back({place, other});
    }
    std::sort(members.begin(), members.end());
    std::vector<size_t> group;
    size_t index = 0;
    for (const auto &[place, other] : members) {
      index = other == rank ? group.size() : index;
      group.push_back(other);
    }
    return {group, index};
  }

  Id reduced(shard::ReductionKind kind, std::vector<Id> terms) {
    std::sort(terms.begin(), terms.end());
    bool isIdempotent = kind == shard::ReductionKind::Max || kind == shard::ReductionKind::Min;
    if (isIdempotent && terms.front() == terms.back())
      return terms.front();
    Id made = mix(hashOf("reduce"), static_cast<Id>(kind));
    for (Id term : terms)
      made = mix(made, term);
    return made;
  }

  Id partOf(Id whole, int64_t dim, int64_t index, int64_t count) {
    if (count == 1)
      return whole;
    Id made = mix(mix(mix(mix(hashOf("part"), whole), dim), index), count);
    parts[made] = {whole, dim, index, count};
    return made;
  }

  Id gathered(const std::vector<Id> &pieces, int64_t dim) {
    bool areParts = true;
    for (size_t index = 0; index < pieces.size(); ++index) {
      auto part = parts.find(pieces[index]), first = parts.find(pieces[0]);
      areParts = areParts && part != parts.end() && part->second.whole == first->second.whole &&
                 part->second.dim == dim && part->second.index == static_cast<int64_t>(index) &&
                 part->second.count == static_cast<int64_t>(pieces.size());
    }
    if (areParts)
      return parts.find(pieces[0])->second.whole;
    Id made = mix(hashOf("gather"), dim);
    for (Id piece : pieces)
      made = mix(made, piece);
    return made;
  }

  // The index of the root in the group, from its coordinates.
  static size_t rootIndex(llvm::ArrayRef<int64_t> root, llvm::ArrayRef<shard::GridAxis> axes, MeshAttr mesh) {
    size_t index = 0;
    for (auto [at, axis] : llvm::zip(root, axes))
      index = index * mesh.getSizes()[axis] + at;
    return index;
  }

  // If values are cut or joined at the ends of copies, they remain copies. A rank's part is runs of `run` elements of
  // the whole.
  std::optional<Id> copiesMoved(Operation *op, llvm::ArrayRef<Id> ids) {
    auto gather = dyn_cast<shard::AllGatherOp>(op);
    auto slice = dyn_cast<shard::AllSliceOp>(op);
    auto known = copies.find(ids[0]);
    if ((!gather && !slice) || !llvm::all_equal(ids))
      return std::nullopt;
    llvm::APInt dim = gather ? gather.getGatherAxis() : slice.getSliceAxis();
    if (auto same = spreads.find(ids[0]); same != spreads.end())
      if (!llvm::is_contained(same->second.dims, dim.getSExtValue()))
        return spread(same->second, typeOf(op->getResult(0)));
    if (known == copies.end())
      return std::nullopt;
    llvm::ArrayRef<int64_t> part = typeOf(gather ? op->getOperand(0) : op->getResult(0)).getShape();
    int64_t run = ShapedType::getNumElements(part.drop_front(dim.getZExtValue()));
    return run % known->second.size == 0 ? copiesIn(ids[0], typeOf(op->getResult(0))) : std::nullopt;
  }

  bool runCollective(Operation *op, llvm::DenseMap<Value, Values> &values) {
    auto axes = op->getAttrOfType<DenseI16ArrayAttr>("grid_axes");
    if (!axes || op->getNumOperands() != 1 || op->getNumResults() != 1)
      return fail(op, "unknown to the oracle");
    const Values input = values.lookup(op->getOperand(0));
    Values made;
    for (size_t rank = 0; rank < coordinates.size(); ++rank) {
      auto [group, index] = groupOf(rank, axes.asArrayRef());
      std::vector<Id> ids;
      for (size_t member : group)
        ids.push_back(input[member]);
      int64_t count = group.size();
      if (auto moved = inElements && !isa<shard::ReduceOp>(op) ? elementsMoved(op, ids, index) : copiesMoved(op, ids))
        made.push_back(*moved);
      else if (auto reduce = dyn_cast<shard::AllReduceOp>(op))
        made.push_back(reduced(reduce.getReduction(), ids));
      else if (auto scatter = dyn_cast<shard::ReduceScatterOp>(op))
        made.push_back(
            partOf(reduced(scatter.getReduction(), ids), scatter.getScatterAxis().getSExtValue(), index, count));
      else if (auto gather = dyn_cast<shard::AllGatherOp>(op))
        made.push_back(gathered(ids, gather.getGatherAxis().getSExtValue()));
      else if (auto slice = dyn_cast<shard::AllSliceOp>(op))
        made.push_back(partOf(input[rank], slice.getSliceAxis().getSExtValue(), index, count));
      else if (auto broadcast = dyn_cast<shard::BroadcastOp>(op))
        made.push_back(ids[rootIndex(broadcast.getRoot(), axes.asArrayRef(), mesh)]);
      else if (auto toOne = dyn_cast<shard::ReduceOp>(op))
        made.push_back(index == rootIndex(toOne.getRoot(), axes.asArrayRef(), mesh)
                           ? inElements ? *elementsMoved(op, ids, index) : reduced(toOne.getReduction(), ids)
                           : mix(hashOf("nothing"), rank));
      else
        return fail(op, "unknown to the oracle");
    }
    if (auto instance = op->getAttrOfType<IntegerAttr>("cleave.instance"); instance && isa<shard::AllSliceOp>(op))
      if (llvm::all_equal(input) && llvm::all_equal(made))
        localSlices.insert(instance.getInt());
    values[op->getResult(0)] = made;
    return true;
  }

  ModuleOp module;
  MeshAttr mesh;
  std::vector<std::vector<int64_t>> coordinates; // of each rank
  std::map<std::string, Values, std::less<>> states;
  std::map<Id, Part> parts;
  std::map<Id, Copies> copies;
  std::map<Id, Spread> spreads;
  const bool inElements; // for a small program: tensors are lists of elements
  Elements elements;
  Outcome outcome;
  std::set<int64_t> localSlices;
  std::string *why = nullptr;
};

} // namespace

std::optional<Execution> execute(ModuleOp module, std::string *why) { return Ranks(module).run(why); }

} // namespace cleave::test
