#include "compiler/Codegen/Loops/IterationSpace.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace cleave;

// The most computed elements of one iteration, for a kernel with few operands.
static constexpr size_t kMaxReads = 256;

LoopNest LoopNest::of(Operation *op) {
  LoopNest nest;
  nest.op = op;
  nest.values.append(op->operand_begin(), op->operand_end());
  nest.values.append(op->result_begin(), op->result_end());
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    nest.maps = linalgOp.getIndexingMapsArray();
    for (OpOperand &init : linalgOp.getDpsInitsMutable())
      if (linalgOp.getNumDpsInits() == op->getNumResults())
        nest.maps.push_back(linalgOp.getMatchingIndexingMap(&init));
    nest.iterators = linalgOp.getIteratorTypesArray();
  } else if (isa<UnrealizedConversionCastOp, tensor::BitcastOp>(op) && op->getNumOperands() == 1) {
    // A cast between signed and signless element types.
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    int64_t rank = type ? type.getRank() : 0;
    nest.maps.assign(2, AffineMap::getMultiDimIdentityMap(rank, op->getContext()));
    nest.iterators.assign(rank, utils::IteratorType::parallel);
  }
  if (nest.maps.size() != nest.values.size()) {
    nest.maps.clear();
    nest.iterators.clear();
  }
  return nest;
}

namespace cleave {

// Union-find over value dimensions and loops: those that are walked together are one class. Each node has a size (-1:
// not known yet). The classes that outputs and reductions need are the dimensions of the space.
//
//   y[i, j] = exp(x[i, j] - m[i]),  m[i] = max over j of x[i, j]
//
//   nodes     x0 x1  m0  y0 y1, loops of both ops       classes   {x0 m0 y0 i}  {x1 y1 j}      j is reduced
class SpaceFinder {
public:
  SpaceFinder(ArrayRef<const LoopNest *> nests, ArrayRef<Value> outputs) : nests(nests), outputs(outputs) {}
  // Returns the violated rule, or an empty text.
  std::string run(IterationSpace &space);

private:
  unsigned makeNode(int64_t size) {
    parents.push_back(parents.size());
    sizes.push_back(size);
    return parents.size() - 1;
  }
  unsigned find(unsigned node) {
    while (parents[node] != node)
      node = parents[node] = parents[parents[node]];
    return node;
  }
  bool unite(unsigned a, unsigned b) {
    a = find(a), b = find(b);
    if (sizes[a] >= 0 && sizes[b] >= 0 && sizes[a] != sizes[b])
      return false;
    parents[b] = a;
    sizes[a] = std::max(sizes[a], sizes[b]);
    return true;
  }
  ArrayRef<unsigned> nodesOf(Value value);
  void unify(const LoopNest &nest);
  bool isOpaque(const LoopNest &nest, unsigned valueIndex);
  void findPickedSums(IterationSpace &space);
  void findReductions(IterationSpace &space);
  std::string chooseDims(IterationSpace &space);
  std::string checkReductions(IterationSpace &space);
  std::string checkOutputs(IterationSpace &space);
  std::string checkDependents(IterationSpace &space);
  std::string checkReads(IterationSpace &space);
  int dimOf(unsigned node) {
    unsigned one = find(node);
    if (sizes[one] == 1)
      return IterationSpace::kUnit;
    auto found = dimOfClass.find(one);
    return found == dimOfClass.end() ? IterationSpace::kOther : found->second;
  }
  SmallVector<int> dimsOf(ArrayRef<unsigned> nodes) {
    return llvm::map_to_vector(nodes, [&](unsigned node) { return dimOf(node); });
  }

  ArrayRef<const LoopNest *> nests;
  ArrayRef<Value> outputs;
  SmallVector<unsigned> parents;
  SmallVector<int64_t> sizes;
  DenseMap<Value, SmallVector<unsigned>> valueNodes;
  DenseMap<Operation *, SmallVector<unsigned>> loopNodes;
  DenseMap<unsigned, int> dimOfClass;
  SmallVector<const LoopNest *> reductions;
};

} // namespace cleave

ArrayRef<unsigned> SpaceFinder::nodesOf(Value value) {
  auto [entry, inserted] = valueNodes.try_emplace(value);
  if (inserted)
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      for (int64_t size : type.getShape())
        entry->second.push_back(makeNode(size));
  return entry->second;
}

// True for a constant that is the same number wherever it is read.
static bool isSplat(Value value) {
  SplatElementsAttr splat;
  return value.getDefiningOp() && matchPattern(value, m_Constant(&splat));
}

// A loop that an indexing map names is walked together with the dimension that it indexes. Splats relate nothing,
// because they are the same number wherever they are read. Otherwise one splat in two places would join independent
// loops.
void SpaceFinder::unify(const LoopNest &nest) {
  SmallVector<unsigned> loops;
  for (size_t i = 0; i < nest.iterators.size(); ++i)
    loops.push_back(makeNode(-1));
  for (Value value : nest.values)
    (void)nodesOf(value); // makes those of values that are new
  for (auto [value, map] : llvm::zip(nest.values, nest.maps)) {
    bool relates = !isSplat(value);
    for (auto [node, expr] : llvm::zip(nodesOf(value), map.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        unite(loops[dim.getPosition()], relates ? node : makeNode(sizes[node]));
  }
  loopNodes[nest.op] = loops;
}

// True if some element of the operand is read at another index than that of the result.
bool SpaceFinder::isOpaque(const LoopNest &nest, unsigned valueIndex) {
  if (nest.maps.empty())
    return true;
  ArrayRef<unsigned> nodes = nodesOf(nest.values[valueIndex]);
  if (nest.maps[valueIndex].getNumResults() != nodes.size())
    return true;
  for (auto [node, expr] : llvm::zip(nodes, nest.maps[valueIndex].getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    bool same = dim && find(loopNodes[nest.op][dim.getPosition()]) == find(node);
    if (!same && sizes[find(node)] != 1)
      return true;
  }
  return false;
}

void SpaceFinder::findPickedSums(IterationSpace &space) {
  llvm::DenseSet<Operation *> inside;
  for (const LoopNest *nest : nests)
    inside.insert(nest->op);
  for (const LoopNest *nest : nests)
    if (auto generic = dyn_cast<linalg::GenericOp>(nest->op))
      if (auto picked = findPickedSum(generic, [&](Operation *op) { return inside.contains(op); }))
        space.pickedSums[nest->op] = *picked;
}

// Finds the ops that reduce, and for each value how many of them are on the longest path to it: the stage that computes
// it.
void SpaceFinder::findReductions(IterationSpace &space) {
  for (const LoopNest *each : nests) {
    const LoopNest &nest = *each;
    bool reduces = false;
    for (auto [loop, iterator] : llvm::zip(loopNodes[nest.op], nest.iterators))
      reduces |= iterator == utils::IteratorType::reduction && sizes[find(loop)] > 1 && !space.pickedSum(nest.op);
    if (reduces) {
      space.reductions[nest.op] = reductions.size();
      reductions.push_back(&nest);
    }
    int level = 0;
    for (Value operand : nest.op->getOperands())
      level = std::max(level, space.levels.lookup(operand));
    for (Value result : nest.op->getResults())
      space.levels[result] = level + (reduces ? 1 : 0);
  }
}

// The dimensions have the order of the first output that has them all, or else that of the first reduction's loops.
std::string SpaceFinder::chooseDims(IterationSpace &space) {
  llvm::DenseSet<unsigned> reduced;
  SmallVector<unsigned> classes;
  auto add = [&](ArrayRef<unsigned> nodes) {
    for (unsigned node : nodes)
      if (sizes[find(node)] != 1)
        classes.push_back(find(node));
  };
  if (!reductions.empty()) {
    add(loopNodes[reductions[0]->op]);
    for (auto [loop, iterator] : llvm::zip(loopNodes[reductions[0]->op], reductions[0]->iterators))
      if (iterator == utils::IteratorType::reduction)
        reduced.insert(find(loop));
  }
  llvm::DenseSet<unsigned> wanted(classes.begin(), classes.end());
  for (Value output : outputs) {
    SmallVector<unsigned> own;
    std::swap(own, classes);
    add(nodesOf(output));
    std::swap(own, classes);
    llvm::DenseSet<unsigned> set(own.begin(), own.end());
    bool full = reductions.empty() ||
                (set.size() == wanted.size() && llvm::all_of(own, [&](unsigned one) { return wanted.contains(one); }));
    if (full) {
      classes = own;
      break;
    }
  }
  for (unsigned one : classes) {
    if (!dimOfClass.try_emplace(one, space.dims.size()).second)
      return "two dimensions of one value are walked by the same loop";
    if (sizes[one] <= 0)
      return "it computes tensors without elements";
    space.dims.push_back({sizes[one], reduced.contains(one)});
  }
  return {};
}

// All reductions must walk the whole space, and reduce the same dimensions of it. Then one nest of loops serves all.
std::string SpaceFinder::checkReductions(IterationSpace &space) {
  for (const LoopNest *nest : reductions) {
    SmallVector<int> seen(space.dims.size(), 0);
    for (auto [loop, iterator] : llvm::zip(loopNodes[nest->op], nest->iterators)) {
      int dim = dimOf(loop);
      if (dim == IterationSpace::kUnit)
        continue;
      if (dim == IterationSpace::kOther || seen[dim]++)
        return "the reductions run over different dimensions";
      if (space.dims[dim].reduced != (iterator == utils::IteratorType::reduction))
        return "the reductions reduce different dimensions";
    }
    if (llvm::is_contained(seen, 0))
      return "the reductions run over different dimensions";
  }
  return {};
}

// An output must have every dimension once, or every one that is not reduced. Then an element is stored in one
// iteration.
std::string SpaceFinder::checkOutputs(IterationSpace &space) {
  for (Value output : outputs) {
    SmallVector<int> seen(space.dims.size(), 0);
    bool reducedSeen = false;
    for (int dim : dimsOf(nodesOf(output))) {
      if (dim == IterationSpace::kUnit)
        continue;
      if (dim == IterationSpace::kOther || seen[dim]++)
        return "an output has dimensions outside the group's space, or one twice";
      reducedSeen |= space.dims[dim].reduced;
    }
    for (size_t dim = 0; dim < seen.size(); ++dim)
      if (!seen[dim] && (!space.dims[dim].reduced || reducedSeen))
        return "an output lacks a dimension of the group's space";
  }
  return {};
}

// A finished sum is known only at the current iteration, so nothing may read it at another index. A picked term is read
// at another index of one dimension. A value that depends on a finished sum does not exist there, unless that dimension
// is reduced.
std::string SpaceFinder::checkDependents(IterationSpace &space) {
  for (const LoopNest *nest : nests)
    for (unsigned i = 0; i < nest->op->getNumOperands(); ++i) {
      if (space.getLevel(nest->values[i]) == 0)
        continue;
      if (isOpaque(*nest, i) || llvm::is_contained(dimsOf(nodesOf(nest->values[i])), IterationSpace::kOther))
        return "a reduced value is read at an index other than the current one";
      const PickedSum *picked = space.pickedSum(nest->op);
      int dim = picked ? dimOf(loopNodes[nest->op][picked->loop]) : IterationSpace::kUnit;
      if (dim >= 0 && !space.dims[dim].reduced)
        return "a value that depends on a reduction is picked along a dimension that is not reduced";
    }
  return {};
}

// Limits how many elements are computed for one iteration: an op is computed once for every index at which its result
// is read. An index is identified by its history: 0 is the current iteration's; any other is a hash of the op or map
// that moved it, and of the index that was moved.
std::string SpaceFinder::checkReads(IterationSpace &space) {
  size_t operands = 0, reads = 0;
  bool moves = false;
  for (const LoopNest *nest : nests) {
    operands += nest->op->getNumOperands();
    moves |= (nest->maps.empty() && nest->op->getNumOperands() != 0) || space.pickedSum(nest->op);
  }
  if (!moves)
    return {};
  DenseMap<Value, llvm::SetVector<size_t>> indices;
  for (Value output : outputs)
    indices[output].insert(0);
  for (const LoopNest *nest : llvm::reverse(nests)) {
    llvm::SetVector<size_t> own;
    for (Value result : nest->op->getResults())
      own.insert_range(indices.lookup(result));
    if (space.isReduction(nest->op))
      own.clear(), own.insert(0);
    reads += own.size();
    if (reads > kMaxReads + 4 * operands)
      return "elements would be computed too often";
    for (unsigned i = 0; i < nest->op->getNumOperands(); ++i)
      for (size_t index : own) {
        bool same = !nest->maps.empty() && (index == 0 ? space.readsAtOwnIndex(*nest, i)
                                                       : nest->maps[i] == nest->maps[nest->op->getNumOperands()]);
        const void *mover =
            nest->maps.empty() ? static_cast<const void *>(nest->op) : nest->maps[i].getAsOpaquePointer();
        size_t moved = llvm::hash_combine(mover, nest->maps.empty() ? i : 0, index);
        indices[nest->values[i]].insert(same ? index : moved | 1);
      }
  }
  return {};
}

// Finds the classes first, then the dimensions, and then checks the rules for all ops. Returns the first violated rule.
std::string SpaceFinder::run(IterationSpace &space) {
  for (const LoopNest *nest : nests)
    unify(*nest);
  findPickedSums(space);
  findReductions(space);
  if (std::string why = chooseDims(space); !why.empty())
    return why;
  for (auto check : {&SpaceFinder::checkReductions, &SpaceFinder::checkOutputs, &SpaceFinder::checkDependents})
    if (std::string why = (this->*check)(space); !why.empty())
      return why;
  for (auto &[value, nodes] : valueNodes)
    space.valueDims[value] = dimsOf(nodes);
  for (auto &[op, nodes] : loopNodes)
    space.loopDims[op] = dimsOf(nodes);
  return checkReads(space);
}

std::optional<IterationSpace> IterationSpace::find(ArrayRef<const LoopNest *> nests, ArrayRef<Value> outputs,
                                                   std::string *why) {
  IterationSpace space;
  std::string reason = SpaceFinder(nests, outputs).run(space);
  if (reason.empty())
    return space;
  if (why)
    *why = reason;
  return std::nullopt;
}

SmallVector<int> IterationSpace::dimsOf(Value value) const { return valueDims.lookup(value); }
SmallVector<int> IterationSpace::loopsOf(Operation *op) const { return loopDims.lookup(op); }

bool IterationSpace::readsAtOwnIndex(const LoopNest &nest, unsigned number) const {
  SmallVector<int> dims = dimsOf(nest.values[number]), loops = loopsOf(nest.op);
  if (nest.maps.empty() || nest.maps[number].getNumResults() != dims.size())
    return false;
  if (const PickedSum *picked = pickedSum(nest.op); picked && nest.maps[number].isFunctionOfDim(picked->loop))
    return false;
  for (auto [dim, expr] : llvm::zip_equal(dims, nest.maps[number].getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (dim != kUnit && (dim == kOther || !loop || loops[loop.getPosition()] != dim))
      return false;
  }
  return true;
}

bool IterationSpace::isFull(Value value) const {
  SmallVector<int> seen(dims.size(), 0);
  for (int dim : dimsOf(value)) {
    if (dim == kUnit)
      continue;
    if (dim == kOther || seen[dim]++)
      return false;
  }
  return !llvm::is_contained(seen, 0);
}
