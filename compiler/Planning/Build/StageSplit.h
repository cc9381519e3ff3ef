// Decides which stage of a pipeline runs which op of a function that is written for all stages: the update, evaluation
// and inference.
//
// A state lies on the stages whose chunks use it, and a value on the stages that compute it. An op runs on all stages
// that have all its operands. If there is no such stage, it runs on the one to which the fewest bytes must be sent.
// Bytes of states count most, because weights do not travel. A stage before that of the newest operand must need far
// fewer bytes. A value that another stage needs crosses directly after the op that makes it, by a send and a receive.
// All stages run the crossings in the function's order, so that none waits for itself.
//
//   %a = read @w0.grad        stage 0              stage 0                       stage 1
//   %b = read @w1.grad        stage 1              %a = read @w0.grad            %b = read @w1.grad
//   %x = sum %a               stage 0              %x = sum %a                   %x = receive from 0
//   %y = sum %b               stage 1       =>     send %x to 1                  %y = sum %b
//   %n = add %x, %y           stage 1                                            %n = add %x, %y
//   write %n, @norm           both                 %n = receive from 1           send %n to 0
//                                                  write %n, @norm               write %n, @norm
//
// So a pipeline adds in the same order as one rank, and computes the same bits.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_STAGESPLIT_H
#define CLEAVE_COMPILER_PLANNING_BUILD_STAGESPLIT_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace cleave::plan {

// The stages that have a state or a value: one bit for each stage.
using StageSet = llvm::BitVector;
using StateStages = llvm::StringMap<StageSet>;

// The axis of the mesh along which the stages lie.
struct StageAxis {
  int16_t index = 0;
  unsigned stages = 1;
};

// A value that crosses from one stage to another. Plans order the transfers of each channel separately.
struct Crossed {
  int64_t from, to, channel;
  std::string tensor; // its name for people (dialects/Cleave/IR/Reason.h)
};
// Create the send or the receive of a value, at the builder's insertion point.
void createSend(mlir::OpBuilder &builder, mlir::Value value, const StageAxis &axis, const Crossed &crossed);
mlir::Value createReceive(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, const StageAxis &axis,
                          const Crossed &crossed);

class StageSplit {
public:
  StageSplit(mlir::func::FuncOp function, StageAxis axis) : function(function), axis(axis) {}

  // Decides where each op runs. If the function writes a state that `states` does not contain, the state lies where its
  // value is computed, and is added to `states`.
  void place(StateStages &states);

  // Reduces a copy of the function to the part that one stage runs. Returned values are on all stages.
  void specialize(mlir::func::FuncOp copy, int64_t stage, int64_t channel) const;

private:
  struct Crossing {
    size_t op; // index of the op that makes the value
    unsigned result;
    int64_t from, to;
    mlir::Attribute owners; // the axes, if only owners have the value
    std::string tensor;     // its name for people: found here once, as copies for the two stages differ
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
  llvm::SmallVector<Crossing> crossings; // by op, then by result and receiver
};

} // namespace cleave::plan

#endif
