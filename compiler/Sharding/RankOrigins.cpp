#include "compiler/Sharding/RankOrigins.h"

#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/StepFunctions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

using namespace cleave;
using llvm::SmallVector;
using mlir::DenseElementsAttr;
using mlir::Value;
using mlir::func::FuncOp;

// An origin that has more elements, or is computed by a longer chain of ops, is not evaluated.
static constexpr int64_t kMaxElements = 64;
static constexpr unsigned kMaxDepth = 200;
// The numbers of values that are the same on all ranks: in each round, an element has the first number plus the step for
// each element before it. They are small, zero and negative, and large: what a division, a cast to a narrow type or a
// comparison makes of them differs.
static constexpr struct {
  int64_t first, step;
} kShared[] = {{3, 1}, {2, -1}, {1000003, 7919}, {(int64_t{1} << 33) + 5, 104729}, {-1000003, 15485863}};
// Of meshes with more ranks, some are chosen.
static constexpr int64_t kMostPoints = 64;

RankOrigins::RankOrigins(const mlir::SymbolTable &symbols, MeshAttr mesh) : symbols(symbols), mesh(mesh) {
  symbols.getOp()->walk([&](WriteOp write) { written.insert(symbols.lookup(write.getState())); });
  int64_t ranks = 1;
  for (int64_t size : mesh.getSizes())
    ranks = std::min(ranks * size, kMostPoints + 1); // a product of sizes that fits
  if (ranks <= kMostPoints)
    addAllPoints();
  else
    addChosenPoints();
}

void RankOrigins::addAllPoints() {
  points.push_back(Coordinates(mesh.getSizes().size(), 0));
  for (auto [axis, size] : llvm::enumerate(mesh.getSizes())) {
    size_t before = points.size();
    for (int64_t at = 1; at < size; ++at)
      for (size_t i = 0; i < before; ++i) {
        Coordinates point = points[i];
        point[axis] = at;
        points.push_back(std::move(point));
      }
  }
}

void RankOrigins::addChosenPoints() {
  Coordinates first(mesh.getSizes().size(), 0), last;
  points.push_back(first);
  for (auto [axis, size] : llvm::enumerate(mesh.getSizes())) {
    for (int64_t at = 1; at < size; ++at) {
      if (size > kMostPoints && at != 1 && at != 2 && at != size / 2 && at != size - 1)
        continue;
      Coordinates point = first;
      point[axis] = at;
      points.push_back(std::move(point));
    }
    last.push_back(size - 1);
  }
  points.push_back(last);
}

DenseElementsAttr RankOrigins::sharedNumbers(const void *value, mlir::RankedTensorType type) {
  size_t first = sharedValues.try_emplace(value, sharedCount).first->second;
  if (first == sharedCount)
    sharedCount += static_cast<size_t>(type.getNumElements());
  SmallVector<llvm::APInt> numbers;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    numbers.emplace_back(type.getElementTypeBitWidth(),
                         static_cast<uint64_t>(kShared[round].first + kShared[round].step * (int64_t(first) + i)),
                         /*isSigned=*/true, /*implicitTrunc=*/true);
  return DenseElementsAttr::get(type, numbers);
}

DenseElementsAttr RankOrigins::evaluateRead(ReadOp read, const Coordinates &at) {
  auto state = symbols.lookup<StateOp>(read.getState());
  auto type = llvm::cast<mlir::RankedTensorType>(read.getResult().getType());
  auto element = llvm::dyn_cast<mlir::IntegerType>(type.getElementType());
  if (!state || !element || state.getSegments().size() != 1 || !state.getStorage()->isReplicated())
    return {};
  InitAttr init = llvm::cast<SegmentAttr>(state.getSegments()[0]).getInit();
  // A state that a program writes may have another number at each read.
  if (init.getKind() != InitKind::Coordinate)
    return sharedNumbers(written.contains(state) ? read.getAsOpaquePointer() : state.getAsOpaquePointer(), type);
  int64_t axis = init.getSource() ? mesh.getIndex(init.getSource().getValue()) : -1;
  if (axis < 0)
    return {};
  return DenseElementsAttr::get(type, llvm::cast<mlir::Attribute>(mlir::IntegerAttr::get(element, at[axis])));
}

// Evaluates an input that is whole, or a residual. A kernel's argument has the value that goes into the kernel.
DenseElementsAttr RankOrigins::evaluateArgument(mlir::BlockArgument argument, const Coordinates &at, Known &known,
                                                unsigned depth) {
  mlir::Operation *parent = argument.getOwner()->getParentOp();
  if (auto kernel = llvm::dyn_cast<KernelOp>(parent))
    return evaluate(kernel.getInputs()[argument.getArgNumber()], at, known, depth);
  auto function = llvm::dyn_cast<mlir::func::FuncOp>(parent);
  // A residual or an edge has the value that another function returns.
  if (mlir::OpOperand *source = function ? sourceOf(argument) : nullptr)
    return evaluate(source->get(), at, known, depth);
  auto sharding = function ? function.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(), kShardingAttr) : nullptr;
  auto type = llvm::cast<mlir::RankedTensorType>(argument.getType());
  auto element = llvm::dyn_cast<mlir::IntegerType>(type.getElementType());
  if (!element || !sharding || !sharding.isReplicated())
    return {};
  return sharedNumbers(argument.getAsOpaquePointer(), type);
}

DenseElementsAttr RankOrigins::evaluateOp(mlir::OpResult result, const Coordinates &at, Known &known, unsigned depth) {
  mlir::Operation *op = result.getOwner();
  if (auto read = llvm::dyn_cast<ReadOp>(op))
    return evaluateRead(read, at);
  if (auto kernel = llvm::dyn_cast<KernelOp>(op))
    return evaluate(kernel.getBody().front().getTerminator()->getOperand(result.getResultNumber()), at, known, depth);
  if (!mlir::isMemoryEffectFree(op) || op->getNumRegions() > 0 ||
      llvm::isa<mlir::shard::ShardDialect>(op->getDialect()))
    return {};
  SmallVector<mlir::Attribute> operands;
  for (Value operand : op->getOperands()) {
    auto number = evaluate(operand, at, known, depth);
    if (!number)
      return {};
    operands.push_back(number);
  }
  mlir::Operation *copy = op->clone(); // a folder may change its op
  SmallVector<mlir::OpFoldResult> folded;
  DenseElementsAttr made;
  if (mlir::succeeded(copy->fold(operands, folded)) && result.getResultNumber() < folded.size()) {
    mlir::OpFoldResult here = folded[result.getResultNumber()];
    if (auto attribute = llvm::dyn_cast_if_present<mlir::Attribute>(here))
      made = llvm::dyn_cast<DenseElementsAttr>(attribute);
    else if (auto value = llvm::dyn_cast_if_present<Value>(here))
      for (auto [index, operand] : llvm::enumerate(op->getOperands()))
        if (operand == value)
          made = llvm::cast<DenseElementsAttr>(operands[index]);
  }
  copy->erase();
  return made;
}

DenseElementsAttr RankOrigins::evaluate(Value value, const Coordinates &at, Known &known, unsigned depth) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  if (!type || type.getNumElements() > kMaxElements || depth > kMaxDepth)
    return {};
  DenseElementsAttr made;
  if (mlir::matchPattern(value, mlir::m_Constant(&made)))
    return made;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  if (auto result = llvm::dyn_cast<mlir::OpResult>(value))
    made = evaluateOp(result, at, known, depth + 1);
  else
    made = evaluateArgument(llvm::cast<mlir::BlockArgument>(value), at, known, depth + 1);
  return known[value] = made;
}

std::optional<SmallVector<int64_t>> RankOrigins::numbersAt(Value origin, const Coordinates &at) {
  Known known;
  DenseElementsAttr made = evaluate(origin, at, known);
  if (!made || !made.getElementType().isInteger(64))
    return std::nullopt;
  return llvm::to_vector(made.getValues<int64_t>());
}

std::optional<Distribution> RankOrigins::find(Value origin, mlir::RankedTensorType part) {
  std::optional<Distribution> found;
  for (round = 0; round < std::size(kShared); ++round) {
    sharedValues.clear();
    sharedCount = 0;
    std::optional<Distribution> made = findHere(origin, part);
    if (!made || (found && !(*found == *made)))
      return std::nullopt;
    found = std::move(made);
  }
  return found;
}

std::optional<Distribution> RankOrigins::findHere(Value origin, mlir::RankedTensorType part) {
  SmallVector<SmallVector<int64_t>> places; // at each point
  for (const Coordinates &at : points) {
    auto numbers = numbersAt(origin, at);
    if (!numbers || static_cast<int64_t>(numbers->size()) != part.getRank())
      return std::nullopt;
    places.push_back(std::move(*numbers));
  }
  Distribution made = Distribution::whole(mesh, part.getRank());
  for (int64_t dim = 0; dim < part.getRank(); ++dim) {
    // The axes that the index depends on; the fastest has the smallest step.
    SmallVector<std::pair<int64_t, unsigned>> steps;
    for (auto [at, place] : llvm::zip_equal(points, places))
      for (unsigned axis = 0; axis < at.size(); ++axis)
        if (at[axis] == 1 && llvm::count(at, 0) == static_cast<int64_t>(at.size()) - 1 && place[dim] != places[0][dim])
          if (std::pair step(place[dim] - places[0][dim], axis); !llvm::is_contained(steps, step))
            steps.push_back(step);
    llvm::sort(steps, std::greater<>());
    auto stepOf = [&](unsigned axis) {
      auto found = llvm::find_if(steps, [&](auto step) { return step.second == axis; });
      return found == steps.end() ? 0 : found->first;
    };
    for (auto [at, place] : llvm::zip_equal(points, places)) {
      int64_t expected = places[0][dim];
      for (unsigned axis = 0; axis < at.size(); ++axis)
        expected += at[axis] * stepOf(axis);
      if (place[dim] != expected)
        return std::nullopt;
    }
    int64_t size = part.getDimSize(dim);
    DimSplit split;
    for (auto [step, axis] : llvm::reverse(steps)) {
      if (step != size || made.along[axis] != AxisDistribution::Whole)
        return std::nullopt;
      split.axes.insert(split.axes.begin(), axis);
      size *= mesh.getSizes()[axis];
    }
    if (split.isCut())
      made.cut(dim, split);
  }
  return made;
}
