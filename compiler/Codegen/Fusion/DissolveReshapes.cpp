// dissolve-reshapes: see Passes.td.
//
// Ops whose loops may be cut (CutLoops.h) and that are connected, also through reshapes and by reading the same bytes,
// are one *part* of the program. In a part, all dimensions that one loop walks are one class. A class has factors, the
// sizes into which it is cut.
//
//   %c = cast %x    [8, 16, 56, 56]          a b c d
//   %r = reshape    [1, 8, 16, 3136]         - b e g      the factors of g become 56 and 56, as those of c and d
//   %s = reduce sum %r, [1, 3]               all is computed as [8, 16, 56, 56], and the reshape is gone
//
// The new shape of a value has the factors of its dimensions, without those of one element. A reshape stays if its two
// shapes have no common cut. A new one is made if an op outside of the part uses a value.
#include "compiler/Codegen/Fusion/Grouping.h"
#include "compiler/Codegen/Fusion/Passes.h"
#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/BlockMarks.h"
#include "dialects/Cleave/IR/CutLoops.h"
#include "dialects/Cleave/IR/OpSupport.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SmallBitVector.h"

namespace cleave {
#define GEN_PASS_DEF_DISSOLVERESHAPES
#include "compiler/Codegen/Fusion/Passes.h.inc"
} // namespace cleave

using namespace mlir;
using namespace cleave;

using Shape = SmallVector<int64_t>;

// Returns the coarsest shape into which both can be cut while elements keep their order; nothing if there is none.
// Neither shape may have dimensions of one element.
static std::optional<Shape> commonCut(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  Shape cut;
  int64_t restOfA = 1, restOfB = 1; // of a dimension that was begun
  const int64_t *nextOfA = a.begin(), *nextOfB = b.begin();
  while (true) {
    if (restOfA == 1 && nextOfA != a.end())
      restOfA = *nextOfA++;
    if (restOfB == 1 && nextOfB != b.end())
      restOfB = *nextOfB++;
    if (restOfA == 1 && restOfB == 1)
      return cut;
    int64_t less = std::min(restOfA, restOfB);
    if (less <= 1 || restOfA % less != 0 || restOfB % less != 0)
      return std::nullopt;
    cut.push_back(less);
    restOfA /= less, restOfB /= less;
  }
}

namespace {

class Dissolver {
public:
  Dissolver(Block &block, bool hasWholes) : block(block), hasWholes(hasWholes) {}
  void run();

private:
  using Loops = SmallVector<std::optional<unsigned>>; // a node of each loop; none if only constants have it
  unsigned makeNode(int64_t size);
  ArrayRef<unsigned> nodesOf(Value value);
  Shape &factorsOf(unsigned node) { return factors[nodes.getLeaderValue(node)]; }
  Shape shapeOf(Value value);
  const void *partOf(Value value) const;
  Loops loopsOf(Operation *op);
  void addOp(Operation *op);
  void addReshape(Operation *op);
  bool cut(Value value, ArrayRef<int64_t> shape);
  bool cutBoth(Operation *op);
  bool isReplaced(Operation *op) const { return replaced.contains(op); }
  bool isRigid(Value value) const;
  bool isBorder(Value value) const;
  void choose();
  bool isChosen(Value value) const { return chosen.contains(partOf(value)); }
  void rewrite(Operation *op);
  void readPlain(Operation *op);
  Value viewAs(Value value, ArrayRef<int64_t> shape, Operation *reader);

  Block &block;
  bool hasWholes;
  llvm::EquivalenceClasses<unsigned> nodes;
  std::vector<Shape> factors;                   // of each class, at its leader
  DenseMap<Value, SmallVector<unsigned>> dims;  // nodes of a value's dimensions
  llvm::EquivalenceClasses<const void *> parts; // of values
  SmallVector<Operation *> reshapes;            // of parts
  DenseSet<Operation *> replaced;               // ops and reshapes of parts
  DenseSet<const void *> chosen, refused;       // leaders of parts
  DenseMap<Value, Value> made;                  // the new values of the old program's results
  DenseMap<std::pair<Value, RankedTensorType>, Value> views;
};

} // namespace

unsigned Dissolver::makeNode(int64_t size) {
  nodes.insert(factors.size());
  factors.push_back(size == 1 ? Shape() : Shape{size});
  return factors.size() - 1;
}

// Returns the leader of the value's part; null if it is in no part.
const void *Dissolver::partOf(Value value) const {
  auto member = parts.findLeader(value.getAsOpaquePointer());
  return member == parts.member_end() ? nullptr : *member;
}

ArrayRef<unsigned> Dissolver::nodesOf(Value value) {
  auto [entry, isNew] = dims.try_emplace(value);
  if (isNew)
    for (int64_t size : tensorTypeOf(value).getShape())
      entry->second.push_back(makeNode(size));
  return entry->second;
}

Shape Dissolver::shapeOf(Value value) {
  Shape shape;
  for (unsigned node : nodesOf(value))
    llvm::append_range(shape, factorsOf(node));
  return shape;
}

// True if all readers of the value belong to one part. This does not hold for a single number, which any op may read,
// and for a constant, which each reader may make for itself.
static bool connects(Value value) {
  Operation *op = value.getDefiningOp();
  return !(op && op->hasTrait<OpTrait::ConstantLike>()) && tensorTypeOf(value).getNumElements() > 1;
}

static SmallVector<Value> valuesOf(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  llvm::append_range(values, op->getResults());
  return values;
}

// Returns the maps of the operands, then that of the result.
static SmallVector<AffineMap> mapsOf(Operation *op) { return cast<shard::ShardingInterface>(op).getIndexingMaps(); }

static int64_t loopOf(AffineExpr expr) { return cast<AffineDimExpr>(expr).getPosition(); }

Dissolver::Loops Dissolver::loopsOf(Operation *op) {
  SmallVector<AffineMap> maps = mapsOf(op);
  Loops loops(maps.front().getNumDims());
  for (auto [value, map] : llvm::zip_equal(valuesOf(op), maps))
    if (connects(value))
      for (auto [node, expr] : llvm::zip_equal(nodesOf(value), map.getResults()))
        loops[loopOf(expr)] = node;
  return loops;
}

// Returns the size of each loop.
static Shape sizesOf(Operation *op) {
  SmallVector<AffineMap> maps = mapsOf(op);
  Shape sizes(maps.front().getNumDims(), 1);
  for (auto [value, map] : llvm::zip_equal(valuesOf(op), maps))
    for (auto [size, expr] : llvm::zip_equal(tensorTypeOf(value).getShape(), map.getResults()))
      sizes[loopOf(expr)] = size;
  return sizes;
}

// Makes one class of all dimensions that a loop walks, and one part of all values that the op reads and makes.
void Dissolver::addOp(Operation *op) {
  Value first;
  for (Value value : valuesOf(op))
    if (connects(value)) {
      first = first ? first : value;
      parts.unionSets(first.getAsOpaquePointer(), value.getAsOpaquePointer());
    }
  if (!first)
    return;
  replaced.insert(op);
  Loops loops = loopsOf(op);
  for (auto [value, map] : llvm::zip_equal(valuesOf(op), mapsOf(op)))
    if (connects(value))
      for (auto [node, expr] : llvm::zip_equal(nodesOf(value), map.getResults()))
        nodes.unionSets(*loops[loopOf(expr)], node);
}

// Adds a reshape of a value that such an op makes, or that has other users too, if such an op reads the result. Both
// sides belong to one part.
void Dissolver::addReshape(Operation *op) {
  Value from = reshapedOperand(op), to = op->getResult(0);
  Operation *maker = from.getDefiningOp();
  bool isInside = (maker && hasCutLoops(maker)) || !from.hasOneUse();
  if (!isInside || !connects(from) || !connects(to) || llvm::none_of(to.getUsers(), hasCutLoops))
    return;
  parts.unionSets(from.getAsOpaquePointer(), to.getAsOpaquePointer());
  reshapes.push_back(op);
  replaced.insert(op);
}

// Cuts the classes of the value's dimensions into the sizes of `shape`, which must be a cut of the value's own shape.
// Returns false if this contradicts their other cuts.
bool Dissolver::cut(Value value, ArrayRef<int64_t> shape) {
  for (auto [node, size] : llvm::zip_equal(nodesOf(value), tensorTypeOf(value).getShape())) {
    size_t count = 0;
    for (int64_t product = 1; product < size; ++count)
      product *= shape[count];
    std::optional<Shape> both = commonCut(factorsOf(node), shape.take_front(count));
    if (!both)
      return false;
    factorsOf(node) = *both;
    shape = shape.drop_front(count);
  }
  return true;
}

// True if the two sides of the reshape had different shapes, and were cut so that they have one shape.
bool Dissolver::cutBoth(Operation *op) {
  Value from = op->getOperand(0), to = op->getResult(0);
  Shape a = shapeOf(from), b = shapeOf(to);
  std::optional<Shape> both = commonCut(a, b);
  if (a == b || !both || refused.contains(partOf(to)))
    return false;
  if (cut(from, *both) && cut(to, *both))
    return true;
  refused.insert(partOf(to));
  return false;
}

// True if an op that may not be cut, but may be in a kernel, makes or reads the value.
bool Dissolver::isRigid(Value value) const {
  auto mayNotBeCut = [&](Operation *op) { return isFusible(op) && !hasCutLoops(op); };
  return (value.getDefiningOp() && mayNotBeCut(value.getDefiningOp())) || llvm::any_of(value.getUsers(), mayNotBeCut);
}

// True if the value would be reshaped: an op outside of its part makes or reads it.
bool Dissolver::isBorder(Value value) const {
  return !isReplaced(value.getDefiningOp()) ||
         !llvm::all_of(value.getUsers(), [&](Operation *user) { return isReplaced(user); });
}

// True if the op makes a dimension of one element that no operand has, as a broadcast does. Constants do not count.
static bool addsOneElement(Operation *op) {
  if (!hasCutLoops(op))
    return false;
  SmallVector<AffineMap> maps = mapsOf(op);
  llvm::SmallBitVector ofOperands(maps.front().getNumDims());
  for (auto [operand, map] : llvm::zip(op->getOperands(), maps))
    if (!matchPattern(operand, m_Constant()))
      for (AffineExpr expr : map.getResults())
        ofOperands.set(loopOf(expr));
  return llvm::any_of(llvm::zip_equal(tensorTypeOf(op->getResult(0)).getShape(), maps.back().getResults()),
                      [&](auto dim) { return std::get<0>(dim) == 1 && !ofOperands[loopOf(std::get<1>(dim))]; });
}

// True if ranks may have parts of a dimension of which each rank has a single element. Such a dimension says which sums
// are finished, and with which values an op may be combined. A reshape records it. An op that reads or makes a single
// number may have such a dimension, and so may an op that adds one.
static bool maySplitOneElement(Operation *op) {
  if (auto whole = op->getAttrOfType<TypeAttr>(kWholeAttr)) {
    auto sizes = cast<RankedTensorType>(whole.getValue()).getShape();
    return llvm::any_of(llvm::zip(sizes, tensorTypeOf(op->getResult(0)).getShape()),
                        [](auto both) { return std::get<0>(both) != 1 && std::get<1>(both) == 1; });
  }
  return addsOneElement(op) || llvm::any_of(valuesOf(op), [](Value value) {
           return !matchPattern(value, m_Constant()) && tensorTypeOf(value).getRank() != 0 && !connects(value);
         });
}

// Chooses the parts in which a reshape goes away. A part is refused if another op that may be in a kernel would have to
// read one of its values under a new shape. If ranks have parts of tensors, a part is refused if it needs a new
// reshape, because that would not say which dimension is split (kWholeAttr).
void Dissolver::choose() {
  for (Operation *op : reshapes)
    if (shapeOf(op->getOperand(0)) == shapeOf(op->getResult(0)))
      chosen.insert(partOf(op->getResult(0)));
  for (Operation *op : replaced)
    if (!hasWholes && maySplitOneElement(op))
      for (Value value : valuesOf(op))
        refused.insert(partOf(value));
  for (auto &[value, nodes] : dims) {
    bool isChanged = isChosen(value) && ArrayRef<int64_t>(shapeOf(value)) != tensorTypeOf(value).getShape();
    if (isChanged && (hasWholes ? isRigid(value) : isBorder(value)))
      refused.insert(partOf(value));
  }
  for (const void *part : refused)
    chosen.erase(part);
}

// Returns the value under another shape. The reshape is made directly after the value, or for a constant before
// `reader`.
Value Dissolver::viewAs(Value value, ArrayRef<int64_t> shape, Operation *reader) {
  RankedTensorType type = tensorTypeOf(value).clone(shape);
  if (type == value.getType())
    return value;
  Operation *maker = value.getDefiningOp();
  if (Value bytes = maker ? reshapedOperand(maker) : Value())
    return viewAs(bytes, shape, reader);
  bool isConstant = maker && maker->hasTrait<OpTrait::ConstantLike>();
  Value known = isConstant ? Value() : views.lookup({value, type});
  if (known)
    return known;
  OpBuilder builder(reader);
  if (isConstant)
    return builder.createOrFold<ReshapeOp>(value.getLoc(), type, value);
  builder.setInsertionPointAfterValue(value);
  auto view = ReshapeOp::create(builder, value.getLoc(), type, value);
  setBlockMark(view, getBlockMark(reader));
  return views[{value, type}] = view;
}

// Makes the op with cut loops, next to the old one. A loop that only constants have (a sum over a constant's columns)
// is not cut.
void Dissolver::rewrite(Operation *op) {
  Loops loops = loopsOf(op);
  Shape sizes = sizesOf(op);
  auto factorsOfLoop = [&](int64_t loop) {
    return loops[loop] ? factorsOf(*loops[loop]) : sizes[loop] == 1 ? Shape() : Shape{sizes[loop]};
  };
  SmallVector<Shape> shapes;
  for (AffineMap map : mapsOf(op)) {
    shapes.emplace_back();
    for (AffineExpr expr : map.getResults())
      llvm::append_range(shapes.back(), factorsOfLoop(loopOf(expr)));
  }
  SmallVector<Value> operands;
  for (auto [operand, shape] : llvm::zip(op->getOperands(), shapes)) {
    Value now = made.lookup(operand);
    operands.push_back(viewAs(now ? now : operand, shape, op));
  }
  SmallVector<int64_t> counts;
  for (size_t loop = 0; loop < loops.size(); ++loop)
    counts.push_back(factorsOfLoop(loop).size());
  OpBuilder builder(op);
  Value result = cutLoops(builder, op, operands, tensorTypeOf(op->getResult(0)).clone(shapes.back()), counts);
  if (!llvm::is_contained(operands, result))
    result.getDefiningOp()->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  made[op->getResult(0)] = result;
}

// Makes an op that stays read the new values, under the shapes of its old operands.
void Dissolver::readPlain(Operation *op) {
  op->walk([&](Operation *inner) {
    for (OpOperand &use : inner->getOpOperands())
      if (Value now = made.lookup(use.get()))
        use.set(viewAs(now, tensorTypeOf(use.get()).getShape(), op));
  });
}

void Dissolver::run() {
  for (Operation &op : block)
    if (hasCutLoops(&op))
      addOp(&op);
    else if (reshapedOperand(&op))
      addReshape(&op);
  for (bool changes = true; changes;) {
    changes = false;
    for (Operation *op : reshapes)
      changes |= cutBoth(op);
    std::reverse(reshapes.begin(), reshapes.end()); // a cut travels along a chain in one of the two orders at once
  }
  choose();
  if (chosen.empty())
    return;
  SmallVector<Operation *> old;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isReplaced(&op) || llvm::none_of(valuesOf(&op), [&](Value value) { return isChosen(value); })) {
      readPlain(&op);
      continue;
    }
    if (hasCutLoops(&op)) {
      rewrite(&op);
    } else {
      Value from = made.lookup(op.getOperand(0));
      made[op.getResult(0)] = viewAs(from ? from : op.getOperand(0), shapeOf(op.getResult(0)), &op);
    }
    old.push_back(&op);
  }
  for (Operation *op : llvm::reverse(old))
    op->erase();
  for (Operation &op : llvm::make_early_inc_range(block)) // constants that have been replaced
    if (op.hasTrait<OpTrait::ConstantLike>() && op.use_empty())
      op.erase();
}

// True if each rank has whole tensors. The axis of a pipeline splits no tensor, so a pipeline has the kernels of one
// rank.
static bool hasWholeTensors(ModuleOp module) {
  auto mesh = module->getAttrOfType<MeshAttr>(kMeshAttr);
  if (!mesh)
    return true;
  auto pipeline = module->getAttrOfType<DictionaryAttr>(kPipelineAttr);
  int64_t stages = pipeline ? mesh.getSize(pipeline.getAs<StringAttr>("axis").getValue()) : 1;
  return mesh.getNumRanks() == stages;
}

namespace {
struct DissolveReshapes : cleave::impl::DissolveReshapesBase<DissolveReshapes> {
  void runOnOperation() override {
    bool hasWholes = hasWholeTensors(getOperation()->getParentOfType<ModuleOp>());
    for (Block &block : getOperation().getBody())
      Dissolver(block, hasWholes).run();
  }
};
} // namespace
