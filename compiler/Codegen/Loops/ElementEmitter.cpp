#include "compiler/Codegen/Loops/ElementEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace cleave;

// bf16 and f16 are computed as f32. Signed and unsigned integers become signless, as arith requires.
Type cleave::computeType(Type type) {
  if (type.isBF16() || type.isF16())
    return Float32Type::get(type.getContext());
  if (auto integer = dyn_cast<IntegerType>(type))
    return IntegerType::get(type.getContext(), integer.getWidth());
  return type;
}

Type cleave::storageType(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer ? IntegerType::get(type.getContext(), std::max(8u, integer.getWidth())) : type;
}

ElementEmitter::ElementEmitter(const KernelGraph &graph, Scopes &scopes, ModuleOp module)
    : graph(graph), scopes(scopes), module(module), location(module.getLoc()), loopIndices(graph.getDims().size()) {
  for (const LoopNest &nest : graph.getNests())
    nests[nest.op] = &nest;
}

// A failure is reported once, and a zero is returned as the element, so that callers need no special cases. The caller
// of the emitter checks hasFailed() at the end.
Element ElementEmitter::fail(Operation *op, Twine message) {
  if (!failed)
    op->emitError(message);
  failed = true;
  Type type = op->getNumResults() ? computeType(getElementTypeOrSelf(op->getResult(0).getType())) : Type();
  return constant(scopes.at(0).getZeroAttr(type ? type : scopes.at(0).getIndexType()));
}

Element ElementEmitter::constant(TypedAttr value) {
  if (auto number = dyn_cast<FloatAttr>(value)) {
    auto type = cast<FloatType>(computeType(number.getType()));
    APFloat converted = number.getValue();
    bool lost;
    converted.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
    value = FloatAttr::get(type, converted);
  } else if (auto number = dyn_cast<IntegerAttr>(value)) {
    value = IntegerAttr::get(computeType(number.getType()), number.getValue());
  }
  return {arith::ConstantOp::create(scopes.at(0), location, value), 0};
}

// Makes one op for each number, at the beginning of the function, where it dominates all uses.
Element ElementEmitter::constantIndex(int64_t value) {
  auto [entry, inserted] = indexConstants.try_emplace(value);
  if (inserted) {
    OpBuilder &builder = scopes.at(0);
    entry->second = arith::ConstantIndexOp::create(builder, location, value);
    entry->second.getDefiningOp()->moveBefore(&builder.getBlock()->front());
  }
  return {entry->second, 0};
}

// A dimension that no loop walks has size 1.
ElementEmitter::Indices ElementEmitter::currentIndices(Value tensor) {
  Indices indices;
  for (int dim : graph.dimsOf(tensor))
    indices.push_back(dim >= 0 ? loopIndices[dim] : constantIndex(0));
  return indices;
}

// Buffers and finished sums hold only the element of the current iteration. Indices are compared as values, not as
// numbers: an index that was computed counts as another one, and its element is computed again.
bool ElementEmitter::isCurrent(Value tensor, ArrayRef<Element> indices) {
  for (auto [dim, index] : llvm::zip(graph.dimsOf(tensor), indices))
    if (dim < 0 || loopIndices[dim].value != index.value)
      return false;
  return true;
}

Element ElementEmitter::load(const Buffer &buffer) {
  SmallVector<Element> indices;
  for (auto [position, dim] : llvm::enumerate(buffer.dims))
    indices.push_back(buffer.origins.empty() ? loopIndices[dim]
                                             : binary<arith::SubIOp>(loopIndices[dim], buffer.origins[position]));
  return pullInput(buffer.memref, buffer.elementType, indices);
}

// An element is emitted in the outermost loop in which all its indices are known (its depth). So a value that an inner
// loop does not change is computed once, before it.
Element ElementEmitter::pullInput(Value memref, Type elementType, ArrayRef<Element> indices) {
  unsigned depth = 0;
  SmallVector<Value> operands;
  for (Element index : indices) {
    depth = std::max(depth, index.depth);
    operands.push_back(index.value);
  }
  OpBuilder &builder = scopes.at(depth);
  Value value = memref::LoadOp::create(builder, location, memref, operands);
  if (elementType.isBF16() || elementType.isF16())
    value = arith::ExtFOp::create(builder, location, builder.getF32Type(), value);
  if (elementType.isInteger(1))
    value = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::ne, value,
                                  arith::ConstantIntOp::create(builder, location, 0, 8));
  return {value, depth};
}

void ElementEmitter::store(const Buffer &buffer, Element element) {
  Type elementType = buffer.elementType;
  SmallVector<Value> indices;
  for (auto [position, dim] : llvm::enumerate(buffer.dims))
    indices.push_back(buffer.origins.empty() ? loopIndices[dim].value
                                             : binary<arith::SubIOp>(loopIndices[dim], buffer.origins[position]).value);
  OpBuilder &builder = scopes.at(scopes.getDepth());
  Value value = element.value;
  if (elementType.isBF16() || elementType.isF16())
    value = arith::TruncFOp::create(builder, location, elementType, value);
  if (elementType.isInteger(1))
    value = arith::ExtUIOp::create(builder, location, builder.getI8Type(), value);
  memref::StoreOp::create(builder, location, value, buffer.memref, indices);
}

// Emits the element of a tensor at an index, by the first of these that applies:
//
//   it was emitted before in a scope that is open     that value (Scopes)
//   a finished sum, a kept row, a stored result       from where it is kept, only at the current iteration
//   an input of the kernel                            a load
//   a constant                                        a number, or a table in the object
//   a linalg op                                       its body, on elements of its operands (pullGeneric); for a sum
//                                                     that picks one of its terms, on the elements of that term
//   an op that moves elements                         the element that it moves, at another index (pullMoved)
//
// Invariant: the returned value dominates the current insertion points of all scopes from its depth inwards. Example:
// y = exp(x - m) with m : [8192], at (i, j), and j is the inner loop:
//
//   pull(y, i j) -> its body: exp, sub -> pull(x, i j): a load in j's loop
//                                         pull(m, i):   a load in i's loop, before j's
Element ElementEmitter::pull(Value tensor, ArrayRef<Element> indices) {
  Scopes::Key key{tensor.getAsOpaquePointer()};
  for (Element index : indices)
    key.push_back(index.value.getAsOpaquePointer());
  if (const Element *known = scopes.find(key))
    return *known;
  Type elementType = getElementTypeOrSelf(tensor.getType());
  Operation *op = tensor.getDefiningOp();
  Element element;
  if (auto value = values.find(tensor); value != values.end() && isCurrent(tensor, indices))
    element = value->second;
  else if (auto buffer = buffers.find(tensor); buffer != buffers.end() && isCurrent(tensor, indices))
    element = load(buffer->second);
  else if (!op)
    element = pullInput(inputs.lookup(tensor), elementType, indices);
  else if (graph.getSpace().isReduction(op))
    return fail(op, "a reduced value is read away from the current iteration");
  else if (DenseElementsAttr table; matchPattern(op, m_Constant(&table)))
    element = pullConstant(tensor, table, indices);
  else if (auto generic = dyn_cast<linalg::GenericOp>(op))
    element = pullGeneric(generic, cast<OpResult>(tensor).getResultNumber(), indices);
  else if (isa<UnrealizedConversionCastOp, tensor::BitcastOp>(op))
    element = pull(op->getOperand(0), indices);
  else
    element = pullMoved(op, fullIndices(tensor, indices));
  scopes.remember(std::move(key), element);
  return element;
}

// A splat becomes a number, and a table becomes constant data of the object.
Element ElementEmitter::pullConstant(Value tensor, DenseElementsAttr table, ArrayRef<Element> indices) {
  if (table.isSplat())
    return constant(cast<TypedAttr>(table.getSplatValue<Attribute>()));
  Type elementType = table.getElementType(), stored = storageType(elementType);
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto shape = RankedTensorType::get(graph.shapeOf(tensor), stored);
  DenseElementsAttr data = table;
  if (elementType.isInteger(1))
    data = table.mapValues(stored, [](const APInt &bit) { return bit.zext(8); });
  else if (stored != elementType)
    data = table.bitcast(stored);
  data = data.reshape(shape);
  auto type = MemRefType::get(shape.getShape(), stored);
  std::string name = "table" + std::to_string(std::distance(module.getBody()->begin(), module.getBody()->end()));
  memref::GlobalOp::create(builder, location, name, builder.getStringAttr("private"), type, data, /*constant=*/true,
                           builder.getI64IntegerAttr(64));
  Value memref = memref::GetGlobalOp::create(scopes.at(0), location, type, name);
  inputs[tensor] = memref;
  return pullInput(memref, elementType, indices);
}

// floordiv and mod come from joined dimensions and from reshapes.
Element ElementEmitter::evaluateExpr(AffineExpr expr, ArrayRef<Element> loops) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return loops[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constantIndex(constant.getValue());
  auto pair = cast<AffineBinaryOpExpr>(expr);
  Element left = evaluateExpr(pair.getLHS(), loops), right = evaluateExpr(pair.getRHS(), loops);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return binary<arith::AddIOp>(left, right);
  case AffineExprKind::Mul:
    return binary<arith::MulIOp>(left, right);
  case AffineExprKind::Mod:
    return binary<arith::RemUIOp>(left, right);
  default:
    return binary<arith::DivUIOp>(left, right); // indices are not negative
  }
}

// Returns one index for each dimension of the operand's view, at the body's current loop indices: the index of the
// dimension that leads it.
ElementEmitter::Indices ElementEmitter::operandIndices(Operation *op, unsigned operand, Body &body) {
  const LoopNest &nest = *nests.lookup(op);
  Indices indices;
  for (unsigned leader : graph.leadersOf(nest.values[operand]))
    indices.push_back(evaluateExpr(nest.maps[operand].getResult(leader), body.loops));
  return indices;
}

// Maps an index of the result back to the op's loops, and these to the operands' indices. Loops that the result's map
// does not name have size 1, or are the loop of a sum that picks a term (placeOf). Any other op that reduces is a
// finished sum at this point, and never comes here.
Element ElementEmitter::pullGeneric(linalg::GenericOp op, unsigned result, ArrayRef<Element> indices) {
  const LoopNest &nest = *nests.lookup(op);
  unsigned position = op->getNumOperands() + result;
  Body body(op);
  body.loops.assign(nest.iterators.size(), constantIndex(0));
  for (auto [leader, index] : llvm::zip(graph.leadersOf(op.getResult(result)), indices)) {
    auto dim = dyn_cast<AffineDimExpr>(nest.maps[position].getResult(leader));
    if (!dim)
      return fail(op, "the result's indexing map must name loops only");
    body.loops[dim.getPosition()] = index;
  }
  const PickedSum *picked = graph.getSpace().pickedSum(op);
  if (picked)
    body.loops[picked->loop] = placeOf(*picked, body);
  Element element = evaluate(op.getBody()->getTerminator()->getOperand(result), body);
  return picked ? plusZero(element) : element;
}

// Returns the place of the one term that a sum picks. If it has none, this is the end of the row, where the term is
// zero. The body's loops must be at the beginning of the row, so that the counter is its origin.
Element ElementEmitter::placeOf(const PickedSum &picked, Body &body) {
  const LoopNest &nest = *nests.lookup(body.op);
  auto pullThere = [&](Value value) {
    Indices indices;
    for (unsigned leader : graph.leadersOf(value))
      indices.push_back(evaluateExpr(nest.maps[0].getResult(leader), body.loops));
    return pull(value, indices);
  };
  Element place = binary<arith::SubIOp>(pullThere(picked.label), pullThere(picked.counter));
  int64_t size = body.op.getStaticLoopRanges()[picked.loop];
  Type type = place.value.getType(), index = IndexType::get(type.getContext());
  place = binary<arith::MinUIOp>(place, constant(IntegerAttr::get(type, size - 1)));
  return {arith::IndexCastUIOp::create(scopes.at(place.depth), location, index, place.value), place.depth};
}

// A sum adds zeros to the term that is picked, so it is never -0.
Element ElementEmitter::plusZero(Element element) {
  if (!isa<FloatType>(element.value.getType()))
    return element;
  return binary<arith::AddFOp>(element, constant(scopes.at(0).getZeroAttr(element.value.getType())));
}

// Emits one iteration of a reduction: its body, with the accumulators in place of its results. Values that depend on
// them may be reassociated, so that loops of sums are vectorized. No other values may.
SmallVector<Element> ElementEmitter::reduce(Operation *op, ArrayRef<Element> accumulators) {
  auto generic = cast<linalg::GenericOp>(op);
  Body body(generic);
  for (unsigned loop = 0; loop < generic.getNumLoops(); ++loop) {
    int dim = graph.loopOf(op, loop);
    body.loops.push_back(dim >= 0 ? loopIndices[dim] : constantIndex(0));
  }
  for (auto [argument, accumulator] : llvm::zip(generic.getRegionOutputArgs(), accumulators)) {
    body.known[argument] = accumulator;
    body.accumulated.insert(argument);
  }
  SmallVector<Element> results;
  for (Value value : generic.getBody()->getTerminator()->getOperands())
    results.push_back(evaluate(value, body));
  return results;
}

Element ElementEmitter::pullInit(Operation *op, unsigned number) {
  Value init = cast<linalg::GenericOp>(op).getDpsInits()[number];
  return pullCurrent(init);
}
