// Drafts stages of a pipeline: the stage buffers of values that cross bodies, sends and receives, and the plan's events
// around them (StagePrograms.h).
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_TRANSFERDRAFTER_H
#define CLEAVE_COMPILER_PLANNING_BUILD_TRANSFERDRAFTER_H

#include "compiler/Planning/Build/ValueAddresses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"

namespace cleave::plan {

class TransferDrafter {
public:
  TransferDrafter(ModulePlan &plan, ProgramDraft &draft, InstructionMaker &maker, ValueAddresses &values,
                  mlir::func::FuncOp function)
      : plan(plan), draft(draft), maker(maker), values(values), function(function), builder(function.getContext()) {}

  // Checks what the other functions rely on, because modules may be written by hand. Comes first.
  mlir::LogicalResult prepare();
  mlir::LogicalResult visit(mlir::shard::SendOp op);
  mlir::LogicalResult visit(mlir::shard::RecvOp op);
  // Returns the address of the stage buffer that the port names.
  Address stageBufferAddress(mlir::DictionaryAttr port, mlir::Type type);
  // Returns the stage buffers in host memory in which other bodies find the value, as it is or as another view of all
  // its bytes.
  std::vector<Address> hostStageBuffersOf(mlir::Value value);
  // Adds the waits and records of the plan's events. Comes last: allocations must be resolved.
  void addSharedEvents();

private:
  mlir::LogicalResult readTransferStream();
  mlir::LogicalResult checkStageBuffers();
  mlir::FailureOr<mlir::NamedAttrList> transferFields(mlir::Operation *op, llvm::ArrayRef<int16_t> gridAxes,
                                                      std::optional<llvm::ArrayRef<int64_t>> peer, mlir::Type type);
  void addTransfer(mlir::Operation *op, llvm::StringRef mnemonic, MemoryAccess use, mlir::NamedAttrList fields,
                   unsigned stream);
  DraftInstruction makeEvent(llvm::StringRef mnemonic, mlir::DictionaryAttr entry);

  ModulePlan &plan;
  ProgramDraft &draft;
  InstructionMaker &maker;
  ValueAddresses &values;
  mlir::func::FuncOp function;
  mlir::Builder builder;
  llvm::StringMap<unsigned> stageBufferAllocations;
  std::optional<unsigned> transferStream; // set if the body is a single transfer (StagePrograms.h)
};

} // namespace cleave::plan

#endif
