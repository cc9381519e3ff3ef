// The class that emitThread (ThreadEmitter.h) uses. The loops of one thread are in ThreadEmitter.cpp, the combination of
// threads' sums in ThreadSums.cpp, and reads of rows that have parts in ThreadParts.cpp.
#ifndef CLEAVE_COMPILER_CODEGEN_CUDA_THREADWRITER_H
#define CLEAVE_COMPILER_CODEGEN_CUDA_THREADWRITER_H

#include "compiler/Codegen/CUDA/ThreadForm.h"
#include "compiler/Codegen/CUDA/WarpOps.h"
#include "compiler/Codegen/Loops/ElementEmitter.h"
#include "compiler/Codegen/Loops/StagePlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace cleave {

class ThreadWriter {
public:
  ThreadWriter(const KernelGraph &graph, const ThreadForm &form, mlir::func::FuncOp function, mlir::ModuleOp module)
      : graph(graph), form(form), function(function), module(module), scopes(&function.getBody().front()),
        elements(graph, scopes, module), location(function.getLoc()) {}

  mlir::LogicalResult run(const StagePlan &plan);

private:
  using Elements = llvm::SmallVector<Element>;
  // One accumulator of a stage.
  struct Accumulator {
    mlir::Operation *reduction;
    unsigned number;
    mlir::Operation *combiner; // null if one thread takes all terms
    bool chained; // its total is f64
    std::optional<size_t> maximum; // of a scaled sum (ScaledSum.h): the accumulator of its maximum, an earlier one
  };

  // The indices of the loops that a flat index stands for.
  struct LoopIndices {
    Elements indices;
    Elements vector; // the indices of a wide innermost loop that the thread takes together
  };

  // A range of indices of one dimension, mostly of a row's columns, whose elements are those of `source`.
  struct RowPart {
    mlir::Value source;
    int64_t begin, end;
  };

  int64_t widthAlong(int dim) const;
  void findParts();
  void readParts();
  Elements readPart(size_t number);
  Element isInPart(const RowPart &part);
  Element asIndex(Element i32);
  Element asI32(Element index);
  Element less(Element a, Element b);
  Element number(int64_t value) { return elements.constantIndex(value); }
  static constexpr auto kNoOverflow = ElementEmitter::Overflow::nsw | ElementEmitter::Overflow::nuw;
  Element times(Element a, Element b) { return elements.multiplyIndices(a, b, kNoOverflow); }
  Element plus(Element a, Element b) { return elements.addIndices(a, b, kNoOverflow); }
  Element quotient(Element a, int64_t b) { return elements.binary<mlir::arith::DivUIOp>(a, number(b)); }
  Element remainder(Element a, int64_t b) { return elements.binary<mlir::arith::RemUIOp>(a, number(b)); }
  mlir::OpBuilder &here() { return scopes.at(scopes.getDepth()); }

  void placeThread();
  void overTiles(const StagePlan &plan);
  void emitTile(const StagePlan &plan);
  LoopIndices takeApart(Element flat, int64_t size, llvm::ArrayRef<int> dims);
  void goTo(const LoopIndices &at, llvm::ArrayRef<int> dims);
  void goToTerm(int64_t number);
  void forEachElement(llvm::function_ref<void(unsigned)> body);
  void guarded(Element condition, llvm::function_ref<void()> body);
  // Emits two branches, and returns the values of the one that runs, which have these types.
  Elements either(Element condition, mlir::TypeRange types, llvm::function_ref<Elements()> first,
                  llvm::function_ref<Elements()> second);
  // `copies` is the number of copies of the body in the code; 0 if LLVM may choose.
  Elements forLoop(Element begin, Element end, Element step, llvm::ArrayRef<Element> inits,
                   llvm::function_ref<Elements(Element, llvm::ArrayRef<Element>)> body, int copies = 0);
  void emitStage(const Stage &stage);
  llvm::SmallVector<Accumulator> accumulatorsOf(const Stage &stage);
  Elements reduceTerms(const Stage &stage, llvm::ArrayRef<Accumulator> accumulators);
  Elements addTerm(const Stage &stage, llvm::ArrayRef<Accumulator> accumulators, llvm::ArrayRef<Element> sums);
  Element addScaled(const Accumulator &accumulator, Element sum, Element before, Element now);
  Element scaled(Element sum, Element from, Element to);
  int copiesOfTerm() const;
  Elements overTerms(const Stage &stage, llvm::ArrayRef<Accumulator> accumulators, Element begin, Element end,
                     llvm::ArrayRef<Element> inits);
  Elements overTail(const Stage &stage, llvm::ArrayRef<Accumulator> accumulators, Element mine,
                    llvm::ArrayRef<Element> inits);
  Element first(const Accumulator &accumulator);
  Element finish(const Accumulator &accumulator, Element sum);
  void finishSplit(const Stage &stage, llvm::ArrayRef<Accumulator> accumulators, Elements sums);
  Element isLastBlock();
  Element combine(mlir::Operation *combiner, Element a, Element b);
  Element shareRow(mlir::Operation *combiner, Element value);
  void shareColumns(mlir::Operation *combiner, llvm::MutableArrayRef<Element> values);
  void share(llvm::ArrayRef<Accumulator> accumulators, Elements &sums);
  void setSums(const Stage &stage, llvm::ArrayRef<Accumulator> accumulators, llvm::ArrayRef<Element> sums);
  Slots &slotsOf(int64_t count);
  Element neutral(const Accumulator &accumulator);
  Element converted(Element element, bool widen);
  void storeResults(llvm::ArrayRef<unsigned> numbers, Element condition);
  void storeElements(llvm::ArrayRef<unsigned> numbers);
  void storeVectors(llvm::ArrayRef<unsigned> numbers, Element condition, llvm::function_ref<void(unsigned)> onElement = [](unsigned) {});
  void storeOuter(const Stage &stage);
  void sync() { form.meetsInBlock() ? syncBlock(here(), location) : syncWarp(here(), location); }

  const KernelGraph &graph;
  const ThreadForm &form;
  mlir::func::FuncOp function;
  mlir::ModuleOp module;
  Scopes scopes;
  ElementEmitter elements;
  mlir::Location location;
  std::vector<ElementEmitter::Buffer> resultBuffers;
  std::optional<Slots> slots;
  Element thread, lane, sharer, row, block, blocks, tile, split;
  Elements vector; // at the current place of the thread
  int innermost = -1;
  mlir::Value rowOfParts; // null if there are no parts
  int dimOfParts = 0;
  llvm::SmallVector<RowPart> parts;
  bool hasOnlyParts = false; // true if each vector is in one of them
  std::vector<LoopIndices> keptTerms; // of a tile, if each stage visits the same terms (ThreadForm::kept)
  Element valid; // true if the thread has a p of its own; null if all threads have
};

} // namespace cleave

#endif
