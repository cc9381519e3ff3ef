#include "compiler/Codegen/CUDA/ThreadEmitter.h"

#include "compiler/Codegen/CUDA/ScaledSum.h"
#include "compiler/Codegen/CUDA/ThreadWriter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <utility>

using namespace mlir;
using namespace cleave;

// The most terms that one thread adds in f32 before it adds their sum to a total in f64.
static constexpr int64_t kChain = 256;

static Type elementTypeOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getElementType(); }

Element ThreadWriter::asIndex(Element i32) {
  OpBuilder &builder = scopes.at(i32.depth);
  return {arith::IndexCastUIOp::create(builder, location, builder.getIndexType(), i32.value), i32.depth};
}

Element ThreadWriter::asI32(Element index) {
  OpBuilder &builder = scopes.at(index.depth);
  return {arith::IndexCastUIOp::create(builder, location, builder.getI32Type(), index.value), index.depth};
}

Element ThreadWriter::less(Element a, Element b) {
  unsigned depth = std::max(a.depth, b.depth);
  return {arith::CmpIOp::create(scopes.at(depth), location, arith::CmpIPredicate::ult, a.value, b.value), depth};
}

void ThreadWriter::placeThread() {
  OpBuilder &builder = scopes.at(0);
  Type i32 = builder.getI32Type();
  thread = asIndex({NVVM::ThreadIdXOp::create(builder, location, i32), 0});
  block = asIndex({NVVM::BlockIdXOp::create(builder, location, i32), 0});
  blocks = asIndex({NVVM::GridDimXOp::create(builder, location, i32), 0});
  auto part = [&](Element of, int64_t inner, int64_t size) {
    Element part = inner == 1 ? of : quotient(of, inner);
    return inner * size == form.blockSize() ? part : remainder(part, size);
  };
  auto whole = [&](int64_t inner, int64_t size) { return size == 1 ? number(0) : part(thread, inner, size); };
  lane = whole(1, form.lanes);
  sharer = whole(form.lanes, form.sharers);
  row = whole(form.lanes * form.sharers, form.rows);
}

// Returns the annotation by which LLVM makes `copies` copies of a loop's body.
static LLVM::LoopAnnotationAttr unrolled(MLIRContext *context, int copies) {
  auto count = IntegerAttr::get(IntegerType::get(context, 32), copies);
  auto unroll = copies == 1 ? LLVM::LoopUnrollAttr::get(context, BoolAttr::get(context, true), {}, {}, {}, {}, {}, {})
                            : LLVM::LoopUnrollAttr::get(context, {}, count, {}, {}, {}, {}, {});
  return LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {});
}

ThreadWriter::Elements ThreadWriter::forLoop(Element begin, Element end, Element step, ArrayRef<Element> inits,
                                             llvm::function_ref<Elements(Element, ArrayRef<Element>)> body,
                                             int copies) {
  SmallVector<NamedAttribute> attributes;
  if (copies > 0) {
    MLIRContext *context = location.getContext();
    attributes.emplace_back(StringAttr::get(context, LLVM::LoopAnnotationAttr::name), unrolled(context, copies));
  }
  return scopes.addLoop(location, begin, end, step, inits, body, attributes);
}

void ThreadWriter::guarded(Element condition, llvm::function_ref<void()> body) {
  if (!condition.value)
    return body();
  auto branch = scf::IfOp::create(here(), location, condition.value, /*withElseRegion=*/false);
  scopes.open(branch, branch.thenBlock());
  body();
  scopes.close();
}

ThreadWriter::Elements ThreadWriter::either(Element condition, TypeRange types, llvm::function_ref<Elements()> first,
                                            llvm::function_ref<Elements()> second) {
  auto branch = scf::IfOp::create(here(), location, types, condition.value, /*withElseRegion=*/true);
  for (bool isFirst : {true, false}) {
    scopes.open(branch, isFirst ? branch.thenBlock() : branch.elseBlock());
    Elements found = isFirst ? first() : second();
    if (!types.empty())
      scf::YieldOp::create(here(), location, llvm::map_to_vector(found, [](Element element) { return element.value; }));
    scopes.close();
  }
  return llvm::map_to_vector(branch.getResults(), [&](Value value) { return Element{value, scopes.getDepth()}; });
}

// Returns the indices of loops that were joined to one of `size` iterations. The last loop is the fastest part. For a
// wide loop, it also returns the indices of its vector. A division of 32 bits is a few instructions, one of 64 bits
// dozens.
ThreadWriter::LoopIndices ThreadWriter::takeApart(Element flat, int64_t size, ArrayRef<int> dims) {
  bool isShort = dims.size() > 1 && size + form.blockSize() * form.splits <= INT32_MAX;
  if (isShort)
    flat = asI32(flat);
  auto constant = [&](int64_t value) {
    return isShort ? elements.constant(scopes.at(0).getI32IntegerAttr(static_cast<int32_t>(value))) : number(value);
  };
  LoopIndices at;
  at.indices.resize(dims.size());
  for (size_t left = dims.size(); left > 0; --left) {
    int dim = dims[left - 1];
    bool isWide = form.isWide(dim), isOutermost = left == 1;
    Element extent = constant(graph.getDims()[dim].size / (isWide ? form.width : 1));
    Element index = isOutermost ? flat : elements.binary<arith::RemUIOp>(flat, extent);
    if (!isOutermost)
      flat = elements.binary<arith::DivUIOp>(flat, extent);
    if (isShort)
      index = asIndex(index);
    if (isWide) {
      innermost = dim;
      index = times(index, number(form.width));
      for (int64_t i = 0; i < form.width; ++i)
        at.vector.push_back(plus(index, number(i)));
    }
    at.indices[left - 1] = index;
  }
  return at;
}

void ThreadWriter::goTo(const LoopIndices &at, ArrayRef<int> dims) {
  for (auto [dim, index] : llvm::zip_equal(dims, at.indices))
    elements.setIndex(dim, index);
  if (!at.vector.empty())
    vector = at.vector;
}

// Uses the same indices in every stage, so that values of the term from an earlier stage are found again.
void ThreadWriter::goToTerm(int64_t position) {
  if (position == static_cast<int64_t>(keptTerms.size())) {
    Element term = plus(sharer, number(position * form.sharers));
    term.depth = scopes.getDepth(); // in the tile, after which the registers are free again
    keptTerms.push_back(takeApart(term, form.terms, form.reduced));
  }
  goTo(keptTerms[static_cast<size_t>(position)], form.reduced);
}

void ThreadWriter::forEachElement(llvm::function_ref<void(unsigned)> body) {
  if (vector.empty())
    return body(0);
  for (auto [position, index] : llvm::enumerate(vector)) {
    elements.setIndex(innermost, index);
    body(position);
  }
}

// Emits the loop over the block's tiles, and in it all stages of a tile. For a softmax of [8192, 768*] (width 4, 32
// sharers, 8 rows), thread (sharer, row) of a block gets this code:
//
//   for tile = block; tile < 1024; tile += blocks                         overTiles
//     p = tile * 8 + row                                                  the row of the tensor
//     max = largest x[p, 4 * r + 0..3] for r = sharer, sharer + 32, ...   emitStage: reduceTerms
//     max = largest of the 32 sharers                                                share
//     sum = ...                                                           the next stage: the same with exponentials
//     y[p, 4 * r + 0..3] = exp(x - max) / sum for the same r              the last stage: storeVectors
//
// While ops are emitted, `elements` knows the indices of the current place (goTo), and `scopes` the open loops and
// branches. An element is emitted in the outermost scope in which its operands are known, and is used again from there.
void ThreadWriter::overTiles(const StagePlan &plan) {
  forLoop(block, number(form.pieces()), blocks, {}, [&](Element piece, ArrayRef<Element>) {
    bool isSplit = form.splits > 1;
    split = isSplit ? remainder(piece, form.splits) : number(0);
    tile = isSplit ? quotient(piece, form.splits) : piece;
    Element p = plus(times(plus(times(tile, number(form.rows)), row), number(form.lanes)), lane);
    auto emit = [&] {
      goTo(takeApart(p, form.parallel, form.outer), form.outer);
      emitTile(plan);
    };
    if (!form.isRagged()) {
      emit();
    } else if (form.meetsInBlock()) { // all threads go on to the barriers; those without a p of their own store nothing
      valid = less(p, number(form.parallel));
      p = elements.binary<arith::MinUIOp>(p, number(form.parallel - 1));
      emit();
    } else {
      Element inside = less(p, number(form.parallel));
      guarded(inside, [&] {
        // Values that depend on p stay in the branch, because outside of it p may belong to no element.
        p = {p.value, scopes.getDepth()};
        emit();
      });
    }
    return Elements();
  });
}

void ThreadWriter::emitTile(const StagePlan &plan) {
  keptTerms.clear();
  for (const Stage &stage : plan.stages)
    emitStage(stage);
}

Element ThreadWriter::converted(Element element, bool widen) {
  OpBuilder &builder = scopes.at(element.depth);
  if (widen)
    return {arith::ExtFOp::create(builder, location, builder.getF64Type(), element.value), element.depth};
  return {arith::TruncFOp::create(builder, location, builder.getF32Type(), element.value), element.depth};
}

// Returns the sum as one of exponentials whose maximum is `to` instead of `from`.
Element ThreadWriter::scaled(Element sum, Element from, Element to) {
  Element change = elements.binary<arith::SubFOp>(from, to);
  Element factor{math::ExpOp::create(scopes.at(change.depth), location, change.value), change.depth};
  return elements.binary<arith::MulFOp>(sum, factor);
}

// Adds the vector at the current place to a scaled sum, whose maximum was `before` and is `now`. While all elements so
// far are -inf, any other number may be used as the maximum, because the exponentials are zeros.
Element ThreadWriter::addScaled(const Accumulator &accumulator, Element sum, Element before, Element now) {
  auto type = cast<FloatType>(now.value.getType());
  Element least = elements.constant(FloatAttr::get(type, APFloat::getInf(type.getFloatSemantics(), /*Negative=*/true)));
  Element zero = elements.constant(FloatAttr::get(type, 0.0));
  Element maximum{{}, scopes.getDepth()};
  Value isLeast = arith::CmpFOp::create(here(), location, arith::CmpFPredicate::OEQ, now.value, least.value);
  maximum.value = arith::SelectOp::create(here(), location, isLeast, zero.value, now.value);
  sum = scaled(sum, before, maximum);
  elements.setValue(maximumOfScaledSum(cast<linalg::GenericOp>(accumulator.reduction))->getResult(0), maximum);
  forEachElement([&](unsigned) { sum = elements.reduce(accumulator.reduction, sum).front(); });
  return sum;
}

// Adds the terms at the current place to the sums. Sums are those of the vector's first column, then its second, ...
ThreadWriter::Elements ThreadWriter::addTerm(const Stage &stage, ArrayRef<Accumulator> accumulators,
                                             ArrayRef<Element> sums) {
  Elements next(sums);
  storeVectors(stage.fullResults, valid, [&](unsigned position) {
    size_t first = form.columns() > 1 ? position * accumulators.size() : 0;
    for (const auto &[number, accumulator] : llvm::enumerate(accumulators)) {
      size_t at = first + number, count = accumulator.reduction->getNumResults();
      if (accumulator.maximum || accumulator.number > 0)
        continue;
      llvm::copy(elements.reduce(accumulator.reduction, ArrayRef<Element>(next).slice(at, count)), next.begin() + at);
    }
  });
  for (auto [accumulator, sum] : llvm::zip(accumulators, next))
    if (accumulator.maximum)
      sum = addScaled(accumulator, sum, sums[*accumulator.maximum], next[*accumulator.maximum]);
  return next;
}

// For sums of columns, each thread should have several loads under way: those of a few terms, unless one term has as
// many.
int ThreadWriter::copiesOfTerm() const {
  constexpr int kAccesses = 8, kMost = 4;
  if (form.columns() == 1)
    return 0;
  auto isWalked = [&](Value value) {
    return llvm::any_of(graph.dimsOf(value), [&](int dim) { return llvm::is_contained(form.reduced, dim); });
  };
  int accesses = llvm::count_if(graph.getInputs(), isWalked) + llvm::count_if(graph.getResults(), isWalked);
  return std::clamp(kAccesses / std::max(1, accesses), 1, kMost);
}

ThreadWriter::Elements ThreadWriter::overTerms(const Stage &stage, ArrayRef<Accumulator> accumulators, Element begin,
                                               Element end, ArrayRef<Element> inits) {
  auto add = [&](Element term, ArrayRef<Element> carried) {
    goTo(takeApart(term, form.terms, form.reduced), form.reduced);
    return addTerm(stage, accumulators, carried);
  };
  return forLoop(begin, end, number(form.sharers * form.splits), inits, add, copiesOfTerm());
}

// Adds the elements after the last vector of the row to the sums, one element for each thread.
ThreadWriter::Elements ThreadWriter::overTail(const Stage &stage, ArrayRef<Accumulator> accumulators, Element mine,
                                              ArrayRef<Element> inits) {
  if (form.tail == 0)
    return Elements(inits);
  Element step = number(form.sharers * form.splits), end = number(form.tail);
  return forLoop(mine, end, step, inits, [&](Element element, ArrayRef<Element> carried) {
    elements.setIndex(form.reduced.front(), plus(number(form.terms * form.width), element));
    vector.clear();
    return addTerm(stage, accumulators, carried);
  });
}

// Returns this thread's part of each accumulator.
ThreadWriter::Elements ThreadWriter::reduceTerms(const Stage &stage, ArrayRef<Accumulator> accumulators) {
  Elements inits;
  for (int64_t column = 0; column < form.columns(); ++column)
    for (const Accumulator &accumulator : accumulators)
      inits.push_back(first(accumulator));
  if (form.kept > 0) {
    for (int64_t position = 0; position < form.kept; ++position) {
      goToTerm(position);
      inits = addTerm(stage, accumulators, inits);
    }
    return inits;
  }
  auto isChained = [&](size_t sum) { return accumulators[sum % accumulators.size()].chained; };
  // Neighbouring sharers have neighbouring terms, and so have blocks.
  Element terms = number(form.terms), mine = plus(times(split, number(form.sharers)), sharer);
  if (llvm::none_of(accumulators, [](const Accumulator &accumulator) { return accumulator.chained; }))
    return overTail(stage, accumulators, mine, overTerms(stage, accumulators, mine, terms, inits));
  for (auto [sum, init] : llvm::enumerate(inits))
    if (isChained(sum))
      init = converted(init, /*widen=*/true);
  auto inChain = [&](ArrayRef<Element> totals, llvm::function_ref<Elements(ArrayRef<Element>)> add) {
    Elements chains(totals);
    for (auto [sum, chain] : llvm::enumerate(chains))
      if (isChained(sum))
        chain = elements.constant(scopes.at(0).getF32FloatAttr(0.0f));
    Elements sums = add(chains);
    for (auto [number, sum] : llvm::enumerate(sums))
      if (isChained(number))
        sum = elements.binary<arith::AddFOp>(totals[number], converted(sum, /*widen=*/true));
    return sums;
  };
  int64_t length = kChain / (form.columns() > 1 ? 1 : form.width) * form.sharers * form.splits;
  Elements totals = forLoop(number(0), terms, number(length), inits, [&](Element base, ArrayRef<Element> carried) {
    Element begin = plus(base, mine);
    Element end = elements.binary<arith::MinUIOp>(plus(base, number(length)), terms);
    auto add = [&](ArrayRef<Element> chains) { return overTerms(stage, accumulators, begin, end, chains); };
    return inChain(carried, add);
  });
  if (form.tail == 0)
    return totals;
  return inChain(totals, [&](ArrayRef<Element> chains) { return overTail(stage, accumulators, mine, chains); });
}

// Computes everything before it stores anything, because a tied result overwrites an input that other results may read.
void ThreadWriter::storeResults(ArrayRef<unsigned> numbers, Element condition) {
  Elements pulled;
  for (unsigned number : numbers)
    pulled.push_back(elements.pullCurrent(graph.getResults()[number]));
  if (!numbers.empty())
    guarded(condition, [&] {
      for (auto [number, element] : llvm::zip(numbers, pulled))
        elements.store(resultBuffers[number], element);
    });
}

// Does the same for each element of the thread's vector. `onElement` is called for each before its results are
// computed.
void ThreadWriter::storeVectors(ArrayRef<unsigned> numbers, Element condition,
                                llvm::function_ref<void(unsigned)> onElement) {
  SmallVector<Elements> pulled;
  readParts();
  forEachElement([&](unsigned position) {
    onElement(position);
    pulled.emplace_back();
    for (unsigned number : numbers)
      pulled.back().push_back(elements.pullCurrent(graph.getResults()[number]));
  });
  if (!numbers.empty())
    guarded(condition, [&] {
      for (unsigned result = 0; result < numbers.size(); ++result) // neighbours are stored together
        forEachElement(
            [&](unsigned position) { elements.store(resultBuffers[numbers[result]], pulled[position][result]); });
    });
}

// Stores results that have one value for all sharers. One of them stores it, after no other reads the input of a tied
// one.
void ThreadWriter::storeOuter(const Stage &stage) {
  if (stage.outerResults.empty())
    return;
  if (form.sharers == 1)
    return storeResults(stage.outerResults, valid);
  // Computed before other threads may go on. The stores find the values again by their keys in the scopes.
  for (unsigned number : stage.outerResults)
    elements.pullCurrent(graph.getResults()[number]);
  if (llvm::any_of(stage.outerResults, [&](unsigned number) { return graph.getTies()[number] >= 0; }))
    sync();
  Element stores = less(sharer, number(1));
  if (valid.value)
    stores = elements.binary<arith::AndIOp>(stores, valid);
  storeResults(stage.outerResults, stores);
}

// Sets the results of sums that all threads have now, and stores those that leave the kernel, one column after the
// other.
void ThreadWriter::setSums(const Stage &stage, ArrayRef<Accumulator> accumulators, ArrayRef<Element> sums) {
  for (int64_t column = 0; column < form.columns(); ++column) {
    if (form.columns() > 1)
      elements.setIndex(innermost, vector[static_cast<size_t>(column)]);
    for (const Accumulator &accumulator : accumulators) {
      elements.setValue(accumulator.reduction->getResult(accumulator.number), finish(accumulator, sums.front()));
      sums = sums.drop_front();
    }
    storeOuter(stage);
  }
}

SmallVector<ThreadWriter::Accumulator> ThreadWriter::accumulatorsOf(const Stage &stage) {
  SmallVector<Accumulator> accumulators;
  for (Operation *op : stage.reductions) {
    auto generic = cast<linalg::GenericOp>(op);
    Operation *maximum = maximumOfScaledSum(generic);
    auto found = llvm::find_if(accumulators, [&](const Accumulator &other) { return other.reduction == maximum; });
    std::optional<size_t> scale;
    if (maximum && found != accumulators.end())
      scale = found - accumulators.begin();
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      Operation *combiner = combinerOf(generic, i);
      bool isSum = isa_and_nonnull<arith::AddFOp>(combiner) && computeType(elementTypeOf(op->getResult(i))).isF32();
      accumulators.push_back({op, i, combiner, isSum && form.depth() > kChain, scale});
    }
  }
  return accumulators;
}

void ThreadWriter::emitStage(const Stage &stage) {
  if (form.reduced.empty())
    return storeElements(stage.fullResults);
  SmallVector<Accumulator> accumulators = accumulatorsOf(stage);
  Elements sums;
  if (!accumulators.empty() || !stage.fullResults.empty()) {
    sums = reduceTerms(stage, accumulators);
    for (Element &sum : sums)
      sum.depth = scopes.getDepth();
    share(accumulators, sums);
    if (form.splits > 1)
      return finishSplit(stage, accumulators, sums);
  }
  setSums(stage, accumulators, sums);
  // The thread that stored a result reads it from memory again. Threads without a p of their own have stored none.
  if (!valid.value)
    for (unsigned number : stage.fullResults)
      elements.setBuffer(graph.getResults()[number], resultBuffers[number]);
}

LogicalResult ThreadWriter::run(const StagePlan &plan) {
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
  findParts();
  overTiles(plan);
  func::ReturnOp::create(scopes.at(0), location);
  return failure(elements.hasFailed());
}

static MemRefType memoryOf(const KernelGraph &graph, Value tensor) {
  return MemRefType::get(graph.shapeOf(tensor), storageType(elementTypeOf(tensor)));
}

// Moves sums to the stage of their maxima, if this saves a pass over rows that registers do not hold. It costs an
// exponential for each vector, which scales the sum so far, and this must cost less than the pass. A scaled sum can
// only be of one column, and the terms of a row may not be split over blocks, which would need each other's maxima.
static void joinScaledSums(const ThreadForm &form, StagePlan &plan) {
  constexpr int64_t kWorthwhile = 4;
  if (form.kept > 0 || form.sharers == 1 || form.columns() > 1 || form.splits > 1 || form.width < kWorthwhile ||
      form.depth() > kChain)
    return;
  for (size_t i = 1; i < plan.stages.size(); ++i) {
    Stage &stage = plan.stages[i], &before = plan.stages[i - 1];
    auto isScaled = [&](Operation *op) {
      Operation *maximum = maximumOfScaledSum(cast<linalg::GenericOp>(op));
      return maximum && llvm::is_contained(before.reductions, maximum);
    };
    if (stage.fullResults.empty() && llvm::all_of(stage.reductions, isScaled))
      before.reductions.append(std::exchange(stage.reductions, {}));
  }
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
    // No larger alignment than the plan states: a view (of a slice, of a part of a concatenation) may begin at any
    // element.
    int64_t bytes = std::max<int64_t>(1, cast<MemRefType>(types[argument]).getElementTypeBitWidth() / 8);
    if (argument < alignments.size())
      bytes = std::max<int64_t>(bytes, alignments[argument]);
    function.setArgAttr(argument, LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(bytes));
  }
  StagePlan plan = StagePlan::make(graph);
  joinScaledSums(form, plan);
  return ThreadWriter(graph, form, function, module).run(plan);
}
