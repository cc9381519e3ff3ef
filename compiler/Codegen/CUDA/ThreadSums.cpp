// How threads combine their sums: in a warp, in a block, over the blocks of a tile. The order is the same in each run.
#include "compiler/Codegen/CUDA/ThreadWriter.h"

using namespace mlir;
using namespace cleave;

Element ThreadWriter::combine(Operation *combiner, Element a, Element b) {
  unsigned depth = std::max(a.depth, b.depth);
  OperationState state(location, combiner->getName());
  state.operands = {a.value, b.value};
  state.types = {a.value.getType()};
  Operation *op = scopes.at(depth).create(state);
  return {op->getResult(0), depth};
}

Slots &ThreadWriter::slotsOf(int64_t count) {
  if (!slots)
    slots.emplace(module, (function.getName() + "_slots").str(), count, Slots::Where::Block);
  return *slots;
}

// Returns the combination of all sharers' values of a row, equal in all of them.
Element ThreadWriter::shareRow(Operation *combiner, Element value) {
  unsigned depth = scopes.getDepth();
  for (unsigned mask = ThreadForm::kWarp / 2; mask > 0; mask /= 2)
    value = combine(combiner, value, {exchange(here(), location, value.value, mask), depth});
  int64_t warps = form.sharers / ThreadForm::kWarp;
  if (warps == 1)
    return value;
  Slots &room = slotsOf(warps);
  Element warp = quotient(sharer, ThreadForm::kWarp), isFirst = less(remainder(sharer, ThreadForm::kWarp), number(1));
  syncBlock(here(), location); // nobody still reads the old values
  guarded(isFirst, [&] { room.store(here(), location, warp.value, value.value); });
  syncBlock(here(), location);
  Type type = value.value.getType();
  for (int64_t i = 0; i < warps; ++i) {
    Element part{room.load(here(), location, number(i).value, type), depth};
    value = i == 0 ? part : combine(combiner, value, part);
  }
  return value;
}

// Does the same for neighbouring columns, of which each thread has some: `values[i]` belongs to its i-th column. A warp
// adds up the sums of its own threads. Then one thread for each column adds up those of the warps.
void ThreadWriter::shareColumns(Operation *combiner, MutableArrayRef<Element> values) {
  int64_t columns = form.lanes * static_cast<int64_t>(values.size()), warps = form.blockSize() / ThreadForm::kWarp;
  unsigned depth = scopes.getDepth();
  for (Element &value : values)
    for (unsigned mask = ThreadForm::kWarp / 2; mask >= form.lanes; mask /= 2)
      value = combine(combiner, value, {exchange(here(), location, value.value, mask), depth});
  // Slot warp * columns + column has a warp's sum of a column. After these, slot `column` has the sum of all warps.
  Slots &room = slotsOf((warps + 1) * columns); // all sums of a kernel have as many columns
  Type type = values.front().value.getType();
  Element sums = number(warps * columns);
  auto columnOf = [&](size_t position) {
    return plus(lane, number(static_cast<int64_t>(position) * form.lanes));
  };
  Element at = times(quotient(thread, ThreadForm::kWarp), number(columns));
  syncBlock(here(), location); // nobody still reads the old values
  guarded(less(remainder(thread, ThreadForm::kWarp), number(form.lanes)), [&] {
    for (auto [position, value] : llvm::enumerate(values))
      room.store(here(), location, plus(at, columnOf(position)).value, value.value);
  });
  syncBlock(here(), location);
  guarded(less(thread, number(columns)), [&] {
    unsigned inner = scopes.getDepth();
    Element sum;
    for (int64_t warp = 0; warp < warps; ++warp) {
      Element part{room.load(here(), location, plus(thread, number(warp * columns)).value, type), inner};
      sum = warp == 0 ? part : combine(combiner, sum, part);
    }
    room.store(here(), location, plus(thread, sums).value, sum.value);
  });
  syncBlock(here(), location);
  for (auto [position, value] : llvm::enumerate(values))
    value = {room.load(here(), location, plus(sums, columnOf(position)).value, type), depth};
}

// Makes each sum that of all sharers, equal in all of them. A scaled sum comes after its maximum: first, each thread's
// part is scaled to the maximum of all threads.
void ThreadWriter::share(ArrayRef<Accumulator> accumulators, Elements &sums) {
  if (form.sharers == 1)
    return;
  Elements own(sums);
  for (auto [number, accumulator] : llvm::enumerate(accumulators)) {
    if (accumulator.maximum)
      sums[number] = scaled(sums[number], own[*accumulator.maximum], sums[*accumulator.maximum]);
    Elements columns;
    for (size_t at = number; at < sums.size(); at += accumulators.size())
      columns.push_back(sums[at]);
    if (form.lanes == 1)
      columns.front() = shareRow(accumulator.combiner, columns.front());
    else
      shareColumns(accumulator.combiner, columns);
    for (auto [column, sum] : llvm::enumerate(columns))
      sums[column * accumulators.size() + number] = sum;
  }
}

// Returns the first value of an accumulator: the reduction's own, or if it is shared, the neutral element.
Element ThreadWriter::first(const Accumulator &accumulator) {
  if (form.sharers == 1)
    return elements.pullInit(accumulator.reduction, accumulator.number);
  return neutral(accumulator);
}

Element ThreadWriter::neutral(const Accumulator &accumulator) {
  return elements.constant(*arith::getNeutralElement(accumulator.combiner));
}

// Makes the reduction's result from the combined sum of all sharers.
Element ThreadWriter::finish(const Accumulator &accumulator, Element sum) {
  if (accumulator.chained)
    sum = converted(sum, /*widen=*/false);
  if (form.sharers > 1)
    sum = combine(accumulator.combiner, elements.pullInit(accumulator.reduction, accumulator.number), sum);
  sum.depth = scopes.getDepth();
  return sum;
}

// True if this block is the last one of its tile that comes here; all its threads get the same answer. The counter is
// then 0 again. Two launches at the same time would count together. The runtime recognizes the counters by their name,
// and does not run such launches at the same time (runtime/device/cuda/CudaModules.h, "Memory of a kernel's own").
Element ThreadWriter::isLastBlock() {
  Slots counters(module, (function.getName() + "_counters").str(), form.tiles(), Slots::Where::Device);
  Slots flag(module, (function.getName() + "_flag").str(), 1, Slots::Where::Block);
  Element isFirst = less(thread, number(1)), zero = number(0);
  fenceDevice(here(), location);
  syncBlock(here(), location);
  // Barriers make writes visible within a block, and the counter must make them visible to other blocks (PTX ISA,
  // "Memory Consistency Model"): the thread that counts needs its own fences between the barriers and the counter.
  guarded(isFirst, [&] {
    fenceDevice(here(), location);
    Value before = counters.increment(here(), location, tile.value);
    fenceDevice(here(), location);
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

// Each block leaves its sums in the device's memory. The last block of a tile adds them up, and stores the results.
void ThreadWriter::finishSplit(const Stage &stage, ArrayRef<Accumulator> accumulators, Elements sums) {
  int64_t places = form.pieces() * form.lanes;
  Slots partials(module, (function.getName() + "_partials").str(), places * static_cast<int64_t>(sums.size()),
                 Slots::Where::Device);
  auto at = [&](size_t sum, Element ofSplit) {
    Element slot = plus(times(plus(times(tile, number(form.splits)), ofSplit), number(form.lanes)), lane);
    return plus(slot, number(static_cast<int64_t>(sum) * places));
  };
  guarded(less(sharer, number(1)), [&] {
    for (auto [position, sum] : llvm::enumerate(sums))
      partials.store(here(), location, at(position, split).value, sum.value);
  });
  guarded(isLastBlock(), [&] {
    unsigned depth = scopes.getDepth();
    Element has = less(sharer, number(form.splits));
    Element from = elements.binary<arith::MinUIOp>(sharer, number(form.splits - 1));
    for (auto [position, sum] : llvm::enumerate(sums)) {
      const Accumulator &accumulator = accumulators[position % accumulators.size()];
      Type type = sum.value.getType();
      Element part{partials.load(here(), location, at(position, from).value, type), depth}, none = neutral(accumulator);
      if (accumulator.chained)
        none = converted(none, /*widen=*/true);
      sum = {arith::SelectOp::create(here(), location, has.value, part.value, none.value), depth};
    }
    share(accumulators, sums);
    setSums(stage, accumulators, sums);
  });
}
