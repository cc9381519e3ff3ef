#include "compiler/Codegen/CUDA/ThreadEmitter.h"

#include "compiler/Codegen/CUDA/WarpOps.h"
#include "compiler/Codegen/Loops/ElementEmitter.h"
#include "compiler/Codegen/Loops/StagePlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

using namespace mlir;
using namespace cleave;

// Terms that one thread adds in f32 before it adds their sum to a total in f64.
static constexpr int64_t kChain = 256;

namespace {

class ThreadEmitter {
public:
  ThreadEmitter(const KernelGraph &graph, const ThreadForm &form, func::FuncOp function, ModuleOp module)
      : graph(graph), form(form), function(function), module(module), scopes(&function.getBody().front()),
        elements(graph, scopes, module), location(function.getLoc()) {}

  LogicalResult run(const StagePlan &plan);

private:
  using Elements = SmallVector<Element>;
  // One accumulator of a stage.
  struct Accumulator {
    Operation *reduction;
    unsigned number;
    Operation *combiner; // null where one thread takes all terms
    bool chained;        // its total is f64
  };

  Element special(Value value) { return {index(value), 0}; }
  Value index(Value i32) {
    OpBuilder &builder = scopes.at(0);
    return arith::IndexCastUIOp::create(builder, location, builder.getIndexType(), i32);
  }
  Element less(Element a, Element b) {
    unsigned depth = std::max(a.depth, b.depth);
    return {arith::CmpIOp::create(scopes.at(depth), location, arith::CmpIPredicate::ult, a.value, b.value), depth};
  }
  Element number(int64_t value) { return elements.constantIndex(value); }
  Element times(Element a, Element b) { return elements.binary<arith::MulIOp>(a, b); }
  Element plus(Element a, Element b) { return elements.binary<arith::AddIOp>(a, b); }
  OpBuilder &here() { return scopes.at(scopes.getDepth()); }

  void placeThread();
  void overTiles(const StagePlan &plan);
  void emitTile(const StagePlan &plan);
  void takeApart(Element flat, ArrayRef<int> dims);
  void forEachElement(llvm::function_ref<void(unsigned)> body);
  void guarded(Element condition, llvm::function_ref<void()> body);
  Elements forLoop(Element begin, Element end, Element step, ArrayRef<Element> inits,
                   llvm::function_ref<Elements(Element, ArrayRef<Element>)> body);
  void emitStage(const Stage &stage);
  Elements reduceTerms(const Stage &stage, ArrayRef<Accumulator> accumulators);
  Elements overTerms(const Stage &stage, ArrayRef<Accumulator> accumulators, Element begin, Element end,
                     ArrayRef<Element> inits);
  Element first(const Accumulator &accumulator);
  Element finish(const Accumulator &accumulator, Element sum);
  void finishSplit(const Stage &stage, ArrayRef<Accumulator> accumulators, Elements sums);
  Element isLastBlock();
  Element combine(Operation *combiner, Element a, Element b);
  Element share(Operation *combiner, Element value);
  Element neutral(const Accumulator &accumulator);
  Element converted(Element element, bool widen);
  void storeResults(ArrayRef<unsigned> numbers, Element condition);
  void storeVectors(ArrayRef<unsigned> numbers, Element condition, llvm::function_ref<void()> onElement = [] {});
  void storeOuter(const Stage &stage);
  void sync() { form.meetsInBlock() ? syncBlock(here(), location) : syncWarp(here(), location); }

  const KernelGraph &graph;
  const ThreadForm &form;
  func::FuncOp function;
  ModuleOp module;
  Scopes scopes;
  ElementEmitter elements;
  Location location;
  std::vector<ElementEmitter::Buffer> resultBuffers;
  std::optional<Slots> slots;
  Element thread, lane, sharer, row, block, blocks, tile, split;
  SmallVector<Element> vector; // indices of the innermost loop that the thread takes together; one where it is not wide
  int innermost = -1;
  Element valid; // whether the thread has a p of its own; no value where all have
};

} // namespace

static Type elementTypeOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getElementType(); }

void ThreadEmitter::placeThread() {
  OpBuilder &builder = scopes.at(0);
  Type i32 = builder.getI32Type();
  thread = special(NVVM::ThreadIdXOp::create(builder, location, i32));
  block = special(NVVM::BlockIdXOp::create(builder, location, i32));
  blocks = special(NVVM::GridDimXOp::create(builder, location, i32));
  auto part = [&](Element of, int64_t inner, int64_t size) {
    Element part = inner == 1 ? of : elements.binary<arith::DivUIOp>(of, number(inner));
    return inner * size == form.blockSize() ? part : elements.binary<arith::RemUIOp>(part, number(size));
  };
  auto whole = [&](int64_t inner, int64_t size) { return size == 1 ? number(0) : part(thread, inner, size); };
  lane = whole(1, form.lanes);
  sharer = whole(form.lanes, form.sharers);
  row = whole(form.lanes * form.sharers, form.rows);
}

ThreadEmitter::Elements ThreadEmitter::forLoop(Element begin, Element end, Element step, ArrayRef<Element> inits,
                                               llvm::function_ref<Elements(Element, ArrayRef<Element>)> body) {
  unsigned depth = scopes.getDepth();
  SmallVector<Value> initValues = llvm::map_to_vector(inits, [](Element init) { return init.value; });
  auto loop = scf::ForOp::create(scopes.at(depth), location, begin.value, end.value, step.value, initValues);
  scopes.open(loop, loop.getBody());
  Elements carried;
  for (Value argument : loop.getRegionIterArgs())
    carried.push_back({argument, depth + 1});
  Elements yielded = body({loop.getInductionVar(), depth + 1}, carried);
  if (!inits.empty())
    scf::YieldOp::create(scopes.at(depth + 1), location,
                         llvm::map_to_vector(yielded, [](Element element) { return element.value; }));
  scopes.close();
  Elements results;
  for (Value value : loop.getResults())
    results.push_back({value, depth});
  return results;
}

void ThreadEmitter::guarded(Element condition, llvm::function_ref<void()> body) {
  if (!condition.value)
    return body();
  auto branch = scf::IfOp::create(here(), location, condition.value, /*withElseRegion=*/false);
  scopes.open(branch, branch.thenBlock());
  body();
  scopes.close();
}

// Sets the indices of loops that were joined to one, the last being its fastest part; of a wide loop, those of its vector.
void ThreadEmitter::takeApart(Element flat, ArrayRef<int> dims) {
  for (size_t left = dims.size(); left > 0; --left) {
    int dim = dims[left - 1];
    bool isWide = form.isWide(dim), isOutermost = left == 1;
    Element size = number(graph.getDims()[dim].size / (isWide ? form.width : 1));
    Element index = isOutermost ? flat : elements.binary<arith::RemUIOp>(flat, size);
    if (!isOutermost)
      flat = elements.binary<arith::DivUIOp>(flat, size);
    if (isWide) {
      innermost = dim;
      vector.clear();
      Element first = times(index, number(form.width));
      for (int64_t i = 0; i < form.width; ++i)
        vector.push_back(plus(first, number(i)));
      index = first;
    }
    elements.setIndex(dim, index);
  }
}

void ThreadEmitter::forEachElement(llvm::function_ref<void(unsigned)> body) {
  if (vector.empty())
    return body(0);
  for (auto [position, index] : llvm::enumerate(vector)) {
    elements.setIndex(innermost, index);
    body(position);
  }
}

void ThreadEmitter::overTiles(const StagePlan &plan) {
  forLoop(block, number(form.pieces()), blocks, {}, [&](Element piece, ArrayRef<Element>) {
    bool isSplit = form.splits > 1;
    split = isSplit ? elements.binary<arith::RemUIOp>(piece, number(form.splits)) : number(0);
    tile = isSplit ? elements.binary<arith::DivUIOp>(piece, number(form.splits)) : piece;
    Element p = plus(times(plus(times(tile, number(form.rows)), row), number(form.lanes)), lane);
    auto emit = [&] {
      takeApart(p, form.outer);
      emitTile(plan);
    };
    if (!form.isRagged()) {
      emit();
    } else if (form.meetsInBlock()) { // all threads go on to where they meet; those without a p of their own store none
      valid = less(p, number(form.parallel));
      p = elements.binary<arith::MinUIOp>(p, number(form.parallel - 1));
      emit();
    } else {
      Element inside = less(p, number(form.parallel));
      guarded(inside, [&] {
        // What depends on p stays in the branch: outside, p may be of no element.
        p = {p.value, scopes.getDepth()};
        emit();
      });
    }
    return Elements();
  });
}

void ThreadEmitter::emitTile(const StagePlan &plan) {
  for (const Stage &stage : plan.stages)
    emitStage(stage);
}

Element ThreadEmitter::converted(Element element, bool widen) {
  OpBuilder &builder = scopes.at(element.depth);
  if (widen)
    return {arith::ExtFOp::create(builder, location, builder.getF64Type(), element.value), element.depth};
  return {arith::TruncFOp::create(builder, location, builder.getF32Type(), element.value), element.depth};
}

Element ThreadEmitter::combine(Operation *combiner, Element a, Element b) {
  unsigned depth = std::max(a.depth, b.depth);
  OperationState state(location, combiner->getName());
  state.operands = {a.value, b.value};
  state.types = {a.value.getType()};
  Operation *op = scopes.at(depth).create(state);
  return {op->getResult(0), depth};
}

// The combination of all sharers' values, equal in all of them; the order is the same in each run.
Element ThreadEmitter::share(Operation *combiner, Element value) {
  unsigned depth = scopes.getDepth();
  int64_t partials = form.sharers;
  Element slot = plus(times(sharer, number(form.lanes)), lane), writes;
  if (form.lanes == 1) {
    for (unsigned mask = ThreadForm::kWarp / 2; mask > 0; mask /= 2) {
      Element other{exchange(here(), location, value.value, mask), depth};
      value = combine(combiner, value, other);
    }
    partials /= ThreadForm::kWarp;
    slot = elements.binary<arith::DivUIOp>(sharer, number(ThreadForm::kWarp));
    Element inWarp = elements.binary<arith::RemUIOp>(sharer, number(ThreadForm::kWarp));
    writes = less(inWarp, number(1));
  }
  if (partials == 1)
    return value;
  if (!slots)
    slots.emplace(module, (function.getName() + "_slots").str(), partials * form.lanes, Slots::Where::Block);
  syncBlock(here(), location); // nobody reads what was there before
  guarded(writes, [&] { slots->store(here(), location, slot.value, value.value); });
  syncBlock(here(), location);
  Type type = value.value.getType();
  for (int64_t i = 0; i < partials; ++i) {
    Element from = plus(number(i * form.lanes), lane);
    Element part{slots->load(here(), location, from.value, type), depth};
    value = i == 0 ? part : combine(combiner, value, part);
  }
  return value;
}

// What an accumulator begins with: the reduction's own first value, or, where it is shared, what changes no sum.
Element ThreadEmitter::first(const Accumulator &accumulator) {
  if (form.sharers == 1)
    return elements.pullInit(accumulator.reduction, accumulator.number);
  return neutral(accumulator);
}

Element ThreadEmitter::neutral(const Accumulator &accumulator) {
  return elements.constant(*arith::getNeutralElement(accumulator.combiner));
}

// From what all sharers have together to the reduction's result.
Element ThreadEmitter::finish(const Accumulator &accumulator, Element sum) {
  if (accumulator.chained)
    sum = converted(sum, /*widen=*/false);
  if (form.sharers > 1)
    sum = combine(accumulator.combiner, elements.pullInit(accumulator.reduction, accumulator.number), sum);
  sum.depth = scopes.getDepth();
  return sum;
}

// Whether this block is the last of its tile's to come here; the same in all its threads. Their counter is 0 again then.
Element ThreadEmitter::isLastBlock() {
  Slots counters(module, (function.getName() + "_counters").str(), form.tiles(), Slots::Where::Device);
  Slots flag(module, (function.getName() + "_flag").str(), 1, Slots::Where::Block);
  Element isFirst = less(thread, number(1)), zero = number(0);
  fenceDevice(here(), location);
  syncBlock(here(), location);
  guarded(isFirst, [&] {
    Value before = counters.increment(here(), location, tile.value);
    flag.store(here(), location, zero.value, before);
  });
  syncBlock(here(), location);
  Value before = flag.load(here(), location, zero.value, here().getI32Type());
  Value last = arith::ConstantIntOp::create(here(), location, form.splits - 1, 32);
  Element isLast{arith::CmpIOp::create(here(), location, arith::CmpIPredicate::eq, before, last), scopes.getDepth()};
  Element resets{arith::AndIOp::create(here(), location, isLast.value, isFirst.value), scopes.getDepth()};
  guarded(resets, [&] {
    Value nobody = arith::ConstantIntOp::create(here(), location, 0, 32);
    counters.store(here(), location, tile.value, nobody);
  });
  fenceDevice(here(), location);
  return isLast;
}

// Each block leaves its sums in the device's memory; the last one of a tile adds them up, and stores the results.
void ThreadEmitter::finishSplit(const Stage &stage, ArrayRef<Accumulator> accumulators, Elements sums) {
  int64_t places = form.pieces() * form.lanes;
  Slots partials(module, (function.getName() + "_partials").str(), places * static_cast<int64_t>(sums.size()),
                 Slots::Where::Device);
  auto place = [&](size_t accumulator, Element ofSplit) {
    Element slot = plus(times(plus(times(tile, number(form.splits)), ofSplit), number(form.lanes)), lane);
    return plus(slot, number(static_cast<int64_t>(accumulator) * places));
  };
  guarded(less(sharer, number(1)), [&] {
    for (auto [position, sum] : llvm::enumerate(sums))
      partials.store(here(), location, place(position, split).value, sum.value);
  });
  guarded(isLastBlock(), [&] {
    unsigned depth = scopes.getDepth();
    Element has = less(sharer, number(form.splits));
    Element from = elements.binary<arith::MinUIOp>(sharer, number(form.splits - 1));
    for (auto [position, accumulator] : llvm::enumerate(accumulators)) {
      Type type = sums[position].value.getType();
      Element part{partials.load(here(), location, place(position, from).value, type), depth}, none = neutral(accumulator);
      if (accumulator.chained)
        none = converted(none, /*widen=*/true);
      part.value = arith::SelectOp::create(here(), location, has.value, part.value, none.value);
      Element sum = finish(accumulator, share(accumulator.combiner, part));
      elements.setValue(accumulator.reduction->getResult(accumulator.number), sum);
    }
    storeOuter(stage);
  });
}

ThreadEmitter::Elements ThreadEmitter::overTerms(const Stage &stage, ArrayRef<Accumulator> accumulators, Element begin,
                                                 Element end, ArrayRef<Element> inits) {
  return forLoop(begin, end, number(form.sharers * form.splits), inits, [&](Element term, ArrayRef<Element> carried) {
    takeApart(term, form.reduced);
    Elements sums(carried);
    storeVectors(stage.fullResults, valid, [&] {
      ArrayRef<Element> old = sums;
      Elements next;
      for (Operation *op : stage.reductions) {
        next.append(elements.reduce(op, old.take_front(op->getNumResults())));
        old = old.drop_front(op->getNumResults());
      }
      sums = next;
    });
    return sums;
  });
}

// This thread's part of each accumulator.
ThreadEmitter::Elements ThreadEmitter::reduceTerms(const Stage &stage, ArrayRef<Accumulator> accumulators) {
  Elements inits;
  for (const Accumulator &accumulator : accumulators)
    inits.push_back(first(accumulator));
  bool hasChains = llvm::any_of(accumulators, [](const Accumulator &accumulator) { return accumulator.chained; });
  // Neighbouring sharers have neighbouring terms, and so have blocks.
  Element terms = number(form.terms), mine = plus(times(split, number(form.sharers)), sharer);
  if (!hasChains)
    return overTerms(stage, accumulators, mine, terms, inits);
  for (auto [accumulator, init] : llvm::zip(accumulators, inits))
    if (accumulator.chained)
      init = converted(init, /*widen=*/true);
  int64_t length = kChain / form.width * form.sharers * form.splits;
  return forLoop(number(0), terms, number(length), inits, [&](Element base, ArrayRef<Element> totals) {
    Element begin = plus(base, mine);
    Element end = elements.binary<arith::MinUIOp>(plus(base, number(length)), terms);
    Elements chains(totals);
    for (auto [accumulator, chain] : llvm::zip(accumulators, chains))
      if (accumulator.chained)
        chain = elements.constant(scopes.at(0).getF32FloatAttr(0.0f));
    Elements sums = overTerms(stage, accumulators, begin, end, chains);
    for (auto [accumulator, sum, total] : llvm::zip(accumulators, sums, totals))
      if (accumulator.chained)
        sum = elements.binary<arith::AddFOp>(total, converted(sum, /*widen=*/true));
    return sums;
  });
}

// All is computed before anything is stored: a tied result overwrites what others still read.
void ThreadEmitter::storeResults(ArrayRef<unsigned> numbers, Element condition) {
  Elements pulled;
  for (unsigned number : numbers)
    pulled.push_back(elements.pullCurrent(graph.getResults()[number]));
  if (!numbers.empty())
    guarded(condition, [&] {
      for (auto [number, element] : llvm::zip(numbers, pulled))
        elements.store(resultBuffers[number], element);
    });
}

// The same for each element of the thread's vector; `onElement` is called at each before its results are computed.
void ThreadEmitter::storeVectors(ArrayRef<unsigned> numbers, Element condition,
                                 llvm::function_ref<void()> onElement) {
  SmallVector<Elements> pulled;
  forEachElement([&](unsigned) {
    onElement();
    pulled.emplace_back();
    for (unsigned number : numbers)
      pulled.back().push_back(elements.pullCurrent(graph.getResults()[number]));
  });
  if (!numbers.empty())
    guarded(condition, [&] {
      for (unsigned result = 0; result < numbers.size(); ++result) // neighbours are stored together
        forEachElement([&](unsigned position) {
          elements.store(resultBuffers[numbers[result]], pulled[position][result]);
        });
    });
}

// Results that have one value for all sharers: one of them stores it, when no other reads what a tied one overwrites.
void ThreadEmitter::storeOuter(const Stage &stage) {
  if (stage.outerResults.empty())
    return;
  if (form.sharers == 1)
    return storeResults(stage.outerResults, valid);
  // Pulled before the others may go on; found again, by their places in the scopes, when they are stored.
  for (unsigned number : stage.outerResults)
    elements.pullCurrent(graph.getResults()[number]);
  if (llvm::any_of(stage.outerResults, [&](unsigned number) { return graph.getTies()[number] >= 0; }))
    sync();
  Element stores = less(sharer, number(1));
  if (valid.value)
    stores = elements.binary<arith::AndIOp>(stores, valid);
  storeResults(stage.outerResults, stores);
}

void ThreadEmitter::emitStage(const Stage &stage) {
  if (form.reduced.empty())
    return storeVectors(stage.fullResults, valid);
  SmallVector<Accumulator> accumulators;
  for (Operation *op : stage.reductions)
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      Operation *combiner = combinerOf(cast<linalg::GenericOp>(op), i);
      bool isSum = isa_and_nonnull<arith::AddFOp>(combiner) && computeType(elementTypeOf(op->getResult(i))).isF32();
      accumulators.push_back({op, i, combiner, isSum && form.depth() > kChain});
    }
  if (!accumulators.empty() || !stage.fullResults.empty()) {
    Elements sums = reduceTerms(stage, accumulators);
    for (auto [accumulator, sum] : llvm::zip(accumulators, sums)) {
      sum.depth = scopes.getDepth();
      if (form.sharers > 1)
        sum = share(accumulator.combiner, sum);
    }
    if (form.splits > 1)
      return finishSplit(stage, accumulators, sums);
    for (auto [accumulator, sum] : llvm::zip(accumulators, sums))
      elements.setValue(accumulator.reduction->getResult(accumulator.number), finish(accumulator, sum));
  }
  storeOuter(stage);
  // Found again by the thread that stored it; threads without a p of their own have stored none.
  if (!valid.value)
    for (unsigned number : stage.fullResults)
      elements.setBuffer(graph.getResults()[number], resultBuffers[number]);
}

LogicalResult ThreadEmitter::run(const StagePlan &plan) {
  Block *entry = &function.getBody().front();
  size_t inputs = graph.getInputs().size();
  for (auto [input, memref] : llvm::zip(graph.getInputs(), entry->getArguments()))
    elements.setInput(input, memref);
  for (auto [position, value] : llvm::enumerate(graph.getResults())) {
    int64_t tied = graph.getTies()[position];
    Value memref = entry->getArgument(tied >= 0 ? tied : inputs + position);
    resultBuffers.push_back({memref, elementTypeOf(value), graph.dimsOf(value), {}});
  }
  placeThread();
  overTiles(plan);
  func::ReturnOp::create(scopes.at(0), location);
  return failure(elements.hasFailed());
}

static MemRefType memoryOf(const KernelGraph &graph, Value tensor) {
  return MemRefType::get(graph.shapeOf(tensor), storageType(elementTypeOf(tensor)));
}

LogicalResult cleave::emitThread(const KernelGraph &graph, const ThreadForm &form, StringRef name, ModuleOp module,
                                 ArrayRef<uint32_t> alignments) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  SmallVector<Type> types;
  for (Value input : graph.getInputs())
    types.push_back(memoryOf(graph, input));
  for (auto [index, result] : llvm::enumerate(graph.getResults())) {
    types.push_back(memoryOf(graph, result));
    if (int64_t tied = graph.getTies()[index]; tied >= 0 && types[tied] != types.back())
      return graph.getFunction().emitError("a tied result must be laid out as its input");
  }
  auto function = func::FuncOp::create(builder, module.getLoc(), name, builder.getFunctionType(types, {}));
  function.addEntryBlock();
  for (unsigned argument = 0; argument < types.size(); ++argument) {
    function.setArgAttr(argument, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
    // No more than the plan says: a view (of a slice, of a part of a concatenation) begins at any element.
    int64_t bytes = std::max<int64_t>(1, cast<MemRefType>(types[argument]).getElementTypeBitWidth() / 8);
    if (argument < alignments.size())
      bytes = std::max<int64_t>(bytes, alignments[argument]);
    function.setArgAttr(argument, LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(bytes));
  }
  return ThreadEmitter(graph, form, function, module).run(StagePlan::make(graph));
}
