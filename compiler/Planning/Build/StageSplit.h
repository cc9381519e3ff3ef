// Which stage of a pipeline runs which op of a function that is for all stages: the update, and evaluation.
//
// A state lies on the stages whose chunks use it; a value on the stages that compute it. An op runs where its operands
// are: on all stages that have all of them, or, if no stage has, on the one to which the fewest bytes must go (what is
// read from states counts most: weights do not travel; a stage before that of the newest operand must need far fewer).
// A value that another stage needs crosses right after the op
// that makes it, by a send and a receive. All stages meet crossings in the function's order, so that none waits for
// itself.
//
//   %a = read @w0.grad        stage 0              stage 0                       stage 1
//   %b = read @w1.grad        stage 1              %a = read @w0.grad            %b = read @w1.grad
//   %x = sum %a               stage 0              %x = sum %a                   %x = receive from 0
//   %y = sum %b               stage 1       =>     send %x to 1                  %y = sum %b
//   %n = add %x, %y           stage 1                                            %n = add %x, %y
//   write %n, @norm           both                 %n = receive from 1           send %n to 0
//                                                  write %n, @norm               write %n, @norm
//
// So a pipeline adds in the order in which one rank adds, and computes the same bits.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_STAGESPLIT_H
#define CLEAVE_COMPILER_PLANNING_BUILD_STAGESPLIT_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace cleave::plan {

// Of a state, or a value: a bit for each stage that has it.
using StageSet = llvm::BitVector;
using StateStages = llvm::StringMap<StageSet>;

// The axis of the mesh along which the stages lie.
struct StageAxis {
  int16_t index = 0;
  unsigned stages = 1;
};

// Adds to or takes from a value on its way to another stage, at the builder's place; plans keep the orders of channels
// apart.
void createSend(mlir::OpBuilder &builder, mlir::Value value, const StageAxis &axis, int64_t to, int64_t channel);
mlir::Value createReceive(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, const StageAxis &axis,
                          int64_t from, int64_t channel);

class StageSplit {
public:
  StageSplit(mlir::func::FuncOp function, StageAxis axis) : function(function), axis(axis) {}

  // Decides where each op runs. A state that `states` does not have yet, and that the function writes, lies where it is
  // computed, and is added.
  void place(StateStages &states);

  // Makes of a copy of the function what one stage does of it. What is returned is on all stages.
  void specialize(mlir::func::FuncOp copy, int64_t stage, int64_t channel) const;

private:
  struct Crossing {
    size_t op; // that makes it
    unsigned result;
    int64_t from, to;
    mlir::Attribute owners; // the axes, where only owners have the value
  };

  StageSet everywhere() const { return StageSet(axis.stages, true); }
  StageSet whereOf(mlir::Value value) const;
  StageSet choose(mlir::Operation *op) const;
  bool isOfState(mlir::Value value) const;
  void walk(const StateStages &states);
  void require(mlir::Operation *op, const StageSet &stages);
  void findOwned();

  mlir::func::FuncOp function;
  StageAxis axis;
  llvm::SmallVector<mlir::Operation *> ops; // without the terminator
  llvm::DenseMap<mlir::Operation *, size_t> numbers;
  llvm::SmallVector<StageSet> stagesOf;  // of each op
  llvm::SmallVector<Crossing> crossings; // by op, then by receiver
};

} // namespace cleave::plan

#endif
