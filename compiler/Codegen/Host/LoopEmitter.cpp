#include "compiler/Codegen/Host/LoopEmitter.h"

#include "compiler/Codegen/Loops/ElementEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

using namespace mlir;
using namespace cleave;

namespace {

// Emits the loops of one kernel on a host: one flat loop over `extent`, which threads share, and in it the stages one
// after the other, each with the loops that LoopForm has chosen. Elements are pulled when they are needed
// (ElementEmitter).
//
//   softmax of [8192, 1024], row by row          bias gradient, [8192, 768] -> [768], in tiles of 128 columns
//
//   for row in [begin, end)                      for tile in [begin, end)
//     for j: m = max(m, x)       stage 0           column[0..128) = 0
//     for j: s = s + e^(x - m)   stage 1           for i: for c in the tile: column[c] += x[i, c]
//     for j: y = e^(x - m) / s   stage 2           for c in the tile: y[c] = column[c]
//
// Invariant: when a stage's loops are emitted, the values of earlier stages are known (setValue, setBuffer). When a
// loop's body is emitted, the loop's index is set.
class LoopEmitter {
public:
  LoopEmitter(const KernelGraph &graph, const LoopForm &form, func::FuncOp function, ModuleOp module)
      : graph(graph), form(form), function(function), scopes(&function.getBody().front()),
        elements(graph, scopes, module), location(function.getLoc()) {}

  LogicalResult run(const StagePlan &plan, ArrayRef<Value> results);

private:
  using Elements = Scopes::Elements;
  using LoopBody = llvm::function_ref<Elements(ArrayRef<Element> carried)>;
  using Buffer = ElementEmitter::Buffer;
  // The code before and after each of a sum's chains (LoopForm.h): `begin` makes the accumulators of a chain, and `end`
  // adds its sums to the totals.
  struct Chains {
    llvm::function_ref<Elements(ArrayRef<Element> totals)> begin;
    llvm::function_ref<Elements(ArrayRef<Element> totals, ArrayRef<Element> chain)> end;
  };
  // A reduction's accumulators along the tile. Totals are f64, and only exist for sums of several chains.
  struct Column {
    Buffer sum;
    std::optional<Buffer> total;
  };

  void openOuter();
  void setTile(const LoopForm::Tile &tile, Element number, Element &begin, Element &end);
  Elements forLoop(Element begin, Element end, ArrayRef<Element> inits,
                   llvm::function_ref<Elements(Element, ArrayRef<Element>)> body);
  Elements overReduced(unsigned position, ArrayRef<Element> carried, LoopBody body, const Chains *chains = nullptr);
  Elements overChains(unsigned position, ArrayRef<Element> totals, LoopBody body, const Chains &chains);
  Element widened(Element element);
  Element narrowed(Element element);
  Element zero();
  void overTiles(llvm::function_ref<void()> body);
  Element iteration(int dim, Element index) {
    elements.setIndex(dim, index);
    return index;
  }
  void emitStage(const Stage &stage);
  void reduceInRegisters(const Stage &stage);
  void reduceInTile(const Stage &stage);
  void reduceColumns(const Stage &stage, MutableArrayRef<Column> columns);
  void stepColumns(const Stage &stage, ArrayRef<Column> columns);
  void storeResults(ArrayRef<unsigned> numbers);
  void storeRows(const Stage &stage);
  void makeRowBuffers(const Stage &stage);
  Buffer makeBuffer(Type tensorElement, ArrayRef<int> dims);

  const KernelGraph &graph;
  const LoopForm &form;
  func::FuncOp function;
  Scopes scopes;
  ElementEmitter elements;
  Location location;
  std::vector<Buffer> resultBuffers;
  DenseMap<Value, Buffer> rowBuffers;
  Element tileBegin, tileEnd, turnedBegin, turnedEnd;
};

} // namespace

// True if result `number` is its accumulator plus a value that does not depend on it, in f32.
static bool isSumInF32(linalg::GenericOp op, unsigned number) {
  Value accumulator = op.getRegionOutputArgs()[number];
  auto add = op.getBody()->getTerminator()->getOperand(number).getDefiningOp<arith::AddFOp>();
  return add && add.getType().isF32() && accumulator.hasOneUse() && llvm::is_contained(add->getOperands(), accumulator);
}

static Type elementTypeOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getElementType(); }

LoopEmitter::Elements LoopEmitter::forLoop(Element begin, Element end, ArrayRef<Element> inits,
                                           llvm::function_ref<Elements(Element, ArrayRef<Element>)> body) {
  return scopes.addLoop(location, begin, end, elements.constantIndex(1), inits, body);
}

// Emits the reduced loops from `position` inwards, around the body.
LoopEmitter::Elements LoopEmitter::overReduced(unsigned position, ArrayRef<Element> carried, LoopBody body,
                                               const Chains *chains) {
  if (position == form.reduced.size())
    return body(carried);
  int dim = form.reduced[position];
  if (chains && dim == form.chain.dim)
    return overChains(position, carried, body, *chains);
  return forLoop(elements.constantIndex(0), elements.constantIndex(graph.getDims()[dim].size), carried,
                 [&](Element index, ArrayRef<Element> inner) {
                   iteration(dim, index);
                   return overReduced(position + 1, inner, body, chains);
                 });
}

// Emits the loop over chains, and in it the loops of one chain.
LoopEmitter::Elements LoopEmitter::overChains(unsigned position, ArrayRef<Element> totals, LoopBody body,
                                              const Chains &chains) {
  return forLoop(elements.constantIndex(0), elements.constantIndex(form.chain.count()), totals,
                 [&](Element number, ArrayRef<Element> old) {
                   Element begin, end;
                   setTile(form.chain, number, begin, end);
                   Elements sums = forLoop(begin, end, chains.begin(old), [&](Element index, ArrayRef<Element> inner) {
                     iteration(form.chain.dim, index);
                     return overReduced(position + 1, inner, body);
                   });
                   return chains.end(old, sums);
                 });
}

Element LoopEmitter::widened(Element element) {
  OpBuilder &builder = scopes.at(element.depth);
  return {arith::ExtFOp::create(builder, location, builder.getF64Type(), element.value), element.depth};
}

Element LoopEmitter::narrowed(Element element) {
  OpBuilder &builder = scopes.at(element.depth);
  return {arith::TruncFOp::create(builder, location, builder.getF32Type(), element.value), element.depth};
}

Element LoopEmitter::zero() {
  OpBuilder &builder = scopes.at(0);
  return {arith::ConstantOp::create(builder, location, builder.getF32FloatAttr(0.0f)), 0};
}

// Emits the loops over one tile of the parallel dimensions; a single iteration if there is no tile.
void LoopEmitter::overTiles(llvm::function_ref<void()> body) {
  auto inner = [&] {
    if (!form.tile)
      return body();
    forLoop(tileBegin, tileEnd, {}, [&](Element index, ArrayRef<Element>) {
      iteration(form.tile.dim, index);
      body();
      return Elements();
    });
  };
  if (!form.turned)
    return inner();
  forLoop(turnedBegin, turnedEnd, {}, [&](Element index, ArrayRef<Element>) {
    iteration(form.turned.dim, index);
    inner();
    return Elements();
  });
}

// Sets the range of the loop that tile `number` has: [number * length, (number + 1) * length), limited to the loop's
// end.
void LoopEmitter::setTile(const LoopForm::Tile &tile, Element number, Element &begin, Element &end) {
  begin = elements.binary<arith::MulIOp>(number, elements.constantIndex(tile.length));
  end = elements.binary<arith::AddIOp>(begin, elements.constantIndex(tile.length));
  if (tile.size % tile.length != 0)
    end = elements.binary<arith::MinSIOp>(end, elements.constantIndex(tile.size));
  if (tile.count() == 1)
    begin = elements.constantIndex(0), end = elements.constantIndex(tile.size);
}

// Opens the loop over [begin, end), and computes the indices of its parts from its index. The tile's number is the
// fastest part.
void LoopEmitter::openOuter() {
  unsigned count = function.getNumArguments();
  auto loop = scf::ForOp::create(scopes.at(0), location, function.getArgument(count - 2),
                                 function.getArgument(count - 1), elements.constantIndex(1).value);
  scopes.open(loop, loop.getBody());
  Element rest{loop.getInductionVar(), 1};
  int64_t remaining = form.extent;
  auto take = [&](int64_t size) {
    if (size == 1)
      return elements.constantIndex(0);
    Element divisor = elements.constantIndex(size), index = rest;
    remaining /= size;
    if (remaining > 1) {
      index = elements.binary<arith::RemUIOp>(rest, divisor);
      rest = elements.binary<arith::DivUIOp>(rest, divisor);
    }
    return index;
  };
  if (form.tile)
    setTile(form.tile, take(form.tile.count()), tileBegin, tileEnd);
  if (form.turned)
    setTile(form.turned, take(form.turned.count()), turnedBegin, turnedEnd);
  for (int dim : llvm::reverse(form.outer))
    iteration(dim, take(graph.getDims()[dim].size));
}

// Makes an array on the stack along the given loops.
LoopEmitter::Buffer LoopEmitter::makeBuffer(Type tensorElement, ArrayRef<int> dims) {
  Buffer buffer;
  buffer.elementType = computeType(tensorElement);
  SmallVector<int64_t> shape;
  for (int dim : dims) {
    bool tiled = dim == form.tile.dim;
    shape.push_back(tiled ? form.tile.length : graph.getDims()[dim].size);
    buffer.dims.push_back(dim);
    buffer.origins.push_back(tiled ? tileBegin : elements.constantIndex(0));
  }
  OpBuilder &builder = scopes.at(0);
  builder.setInsertionPointToStart(&function.getBody().front());
  buffer.memref = memref::AllocaOp::create(builder, location, MemRefType::get(shape, storageType(buffer.elementType)),
                                           builder.getI64IntegerAttr(64));
  return buffer;
}

// Computes everything before it stores anything, because a tied result overwrites an input that other results may read.
void LoopEmitter::storeResults(ArrayRef<unsigned> numbers) {
  Elements pulled;
  for (unsigned number : numbers)
    pulled.push_back(elements.pullCurrent(graph.getResults()[number]));
  for (auto [number, element] : llvm::zip(numbers, pulled))
    elements.store(resultBuffers[number], element);
}

void LoopEmitter::storeRows(const Stage &stage) {
  for (Value value : stage.rowBuffers)
    elements.store(rowBuffers[value], elements.pullCurrent(value));
}

void LoopEmitter::makeRowBuffers(const Stage &stage) {
  SmallVector<int> dims(form.reduced);
  if (form.tile)
    dims.push_back(form.tile.dim);
  for (Value value : stage.rowBuffers)
    rowBuffers[value] = makeBuffer(elementTypeOf(value), dims);
}

// Returns which of a stage's results are f32 sums of more than one chain.
static SmallVector<bool> findChained(const Stage &stage, const LoopForm &form) {
  SmallVector<bool> chained;
  for (Operation *op : stage.reductions)
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      chained.push_back(form.chain && isSumInF32(cast<linalg::GenericOp>(op), i));
  return chained;
}

// Accumulators are values that the loops carry. A sum of several chains carries its total in f64. Each chain begins at
// zero, in f32, and at its end its sum is added to the total:
//
//   total = f64(init)
//   for chain: { s = 0; for i in the chain: s += x[i]; total += f64(s) }      result = f32(total)
void LoopEmitter::reduceInRegisters(const Stage &stage) {
  SmallVector<bool> chained = findChained(stage, form);
  auto forChained = [&](Elements all, llvm::function_ref<Element(unsigned)> replace) {
    for (unsigned i = 0; i < all.size(); ++i)
      if (chained[i])
        all[i] = replace(i);
    return all;
  };
  auto begin = [&](ArrayRef<Element> totals) { return forChained(Elements(totals), [&](unsigned) { return zero(); }); };
  auto end = [&](ArrayRef<Element> totals, ArrayRef<Element> chain) {
    return forChained(Elements(chain),
                      [&](unsigned i) { return elements.binary<arith::AddFOp>(totals[i], widened(chain[i])); });
  };
  Chains chains{begin, end};
  Elements inits;
  for (Operation *op : stage.reductions)
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      inits.push_back(elements.pullInit(op, i));
  inits = forChained(inits, [&](unsigned i) { return widened(inits[i]); });
  auto body = [&](ArrayRef<Element> carried) {
    Elements next;
    for (Operation *op : stage.reductions) {
      next.append(elements.reduce(op, carried.take_front(op->getNumResults())));
      carried = carried.drop_front(op->getNumResults());
    }
    storeRows(stage);
    overTiles([&] { storeResults(stage.fullResults); });
    return next;
  };
  Elements sums = overReduced(0, inits, body, llvm::is_contained(chained, true) ? &chains : nullptr);
  sums = forChained(sums, [&](unsigned i) { return narrowed(sums[i]); });
  unsigned position = 0;
  for (Operation *op : stage.reductions)
    for (Value result : op->getResults())
      elements.setValue(result, sums[position++]);
  storeResults(stage.outerResults);
}

// Emits one iteration of the reduced loops, for all columns of the tile.
void LoopEmitter::stepColumns(const Stage &stage, ArrayRef<Column> columns) {
  overTiles([&] {
    ArrayRef<Column> rest = columns;
    for (Operation *op : stage.reductions) {
      Elements old;
      for (const Column &column : rest.take_front(op->getNumResults()))
        old.push_back(elements.load(column.sum));
      for (auto [column, element] : llvm::zip(rest, elements.reduce(op, old)))
        elements.store(column.sum, element);
      rest = rest.drop_front(op->getNumResults());
    }
    storeRows(stage);
    storeResults(stage.fullResults);
  });
}

// Does the same for arrays of accumulators. At the beginning and at the end of a chain, all columns of the tile are
// walked.
void LoopEmitter::reduceColumns(const Stage &stage, MutableArrayRef<Column> columns) {
  bool hasChains = llvm::any_of(columns, [](const Column &column) { return column.total.has_value(); });
  auto forTotals = [&](llvm::function_ref<void(Column &)> visit) {
    if (hasChains)
      overTiles([&] {
        for (Column &column : columns)
          if (column.total)
            visit(column);
      });
    return Elements();
  };
  auto begin = [&](ArrayRef<Element>) {
    return forTotals([&](Column &column) { elements.store(column.sum, zero()); });
  };
  auto end = [&](ArrayRef<Element>, ArrayRef<Element>) {
    return forTotals([&](Column &column) {
      Element chain = widened(elements.load(column.sum));
      elements.store(*column.total, elements.binary<arith::AddFOp>(elements.load(*column.total), chain));
    });
  };
  Chains chains{begin, end};
  forTotals([&](Column &column) { elements.store(*column.total, widened(elements.load(column.sum))); });
  auto body = [&](ArrayRef<Element>) {
    stepColumns(stage, columns);
    return Elements();
  };
  overReduced(0, {}, body, hasChains ? &chains : nullptr);
  forTotals([&](Column &column) { elements.store(column.sum, narrowed(elements.load(*column.total))); });
}

// Accumulators are arrays on the stack, along the tile. The reduced loops are outside, and the innermost loop walks
// contiguous elements.
void LoopEmitter::reduceInTile(const Stage &stage) {
  SmallVector<bool> chained = findChained(stage, form);
  std::vector<Column> columns;
  for (Operation *op : stage.reductions)
    for (Value result : op->getResults()) {
      Column column{makeBuffer(elementTypeOf(result), {form.tile.dim}), {}};
      if (chained[columns.size()])
        column.total = makeBuffer(Float64Type::get(result.getContext()), {form.tile.dim});
      columns.push_back(column);
    }
  if (!columns.empty())
    overTiles([&] {
      ArrayRef<Column> rest = columns;
      for (Operation *op : stage.reductions)
        for (unsigned i = 0; i < op->getNumResults(); ++i, rest = rest.drop_front())
          elements.store(rest.front().sum, elements.pullInit(op, i));
    });
  if (!columns.empty() || !stage.fullResults.empty())
    reduceColumns(stage, columns);
  unsigned position = 0;
  for (Operation *op : stage.reductions)
    for (Value result : op->getResults())
      elements.setBuffer(result, columns[position++].sum);
  for (Value value : stage.tileValues) {
    Buffer buffer = makeBuffer(elementTypeOf(value), {form.tile.dim});
    overTiles([&] { elements.store(buffer, elements.pullCurrent(value)); });
    elements.setBuffer(value, buffer);
  }
  if (!stage.outerResults.empty())
    overTiles([&] { storeResults(stage.outerResults); });
}

void LoopEmitter::emitStage(const Stage &stage) {
  makeRowBuffers(stage);
  if (form.accumulatesInTile())
    reduceInTile(stage);
  else if (stage.reductions.empty() && stage.fullResults.empty())
    storeResults(stage.outerResults);
  else
    reduceInRegisters(stage);
  for (Value value : stage.rowBuffers)
    elements.setBuffer(value, rowBuffers[value]);
  for (unsigned number : stage.fullResults)
    if (graph.getSpace().hasReductions())
      elements.setBuffer(graph.getResults()[number], resultBuffers[number]);
}

LogicalResult LoopEmitter::run(const StagePlan &plan, ArrayRef<Value> results) {
  for (auto [input, memref] : llvm::zip(graph.getInputs(), function.getArguments()))
    elements.setInput(input, memref);
  for (auto [value, memref] : llvm::zip(graph.getResults(), results))
    resultBuffers.push_back({memref, elementTypeOf(value), graph.dimsOf(value), {}});
  openOuter();
  for (const Stage &stage : plan.stages)
    emitStage(stage);
  scopes.close();
  func::ReturnOp::create(scopes.at(0), location);
  return failure(elements.hasFailed());
}

static MemRefType memoryOf(const KernelGraph &graph, Value tensor) {
  return MemRefType::get(graph.shapeOf(tensor), storageType(elementTypeOf(tensor)));
}

LogicalResult cleave::emitLoops(const KernelGraph &graph, StringRef name, ModuleOp module,
                                SmallVectorImpl<unsigned> &buffers) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  SmallVector<Type> types;
  for (auto [index, input] : llvm::enumerate(graph.getInputs())) {
    types.push_back(memoryOf(graph, input));
    buffers.push_back(index);
  }
  SmallVector<unsigned> argumentOf;
  for (auto [index, result] : llvm::enumerate(graph.getResults())) {
    int64_t tied = graph.getTies()[index];
    argumentOf.push_back(tied >= 0 ? tied : types.size());
    if (tied >= 0) {
      if (types[tied] != memoryOf(graph, result))
        return graph.getFunction().emitError("a tied result must be laid out as its input");
      continue;
    }
    buffers.push_back(graph.getInputs().size() + index);
    types.push_back(memoryOf(graph, result));
  }
  types.append(2, builder.getIndexType());
  auto function = func::FuncOp::create(builder, module.getLoc(), name, builder.getFunctionType(types, {}));
  Block *entry = function.addEntryBlock();
  for (unsigned argument = 0; argument + 2 < types.size(); ++argument) {
    function.setArgAttr(argument, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
    // No larger alignment: a view (of a slice, of a part of a concatenation, of a rank's share) may begin at any
    // element.
    int64_t bytes = std::max<int64_t>(1, cast<MemRefType>(types[argument]).getElementTypeBitWidth() / 8);
    function.setArgAttr(argument, LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(bytes));
  }
  LoopForm form = LoopForm::choose(graph);
  SmallVector<Value> results;
  for (unsigned argument : argumentOf)
    results.push_back(entry->getArgument(argument));
  StagePlan plan = StagePlan::make(graph);
  keepValues(graph, form, plan);
  return LoopEmitter(graph, form, function, module).run(plan, results);
}
