// Makes a draft from a function in kernels form: values become byte ranges, and ops become instructions in program
// order.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_DRAFTBUILDER_H
#define CLEAVE_COMPILER_PLANNING_BUILD_DRAFTBUILDER_H

#include "compiler/Planning/Build/CollectiveDrafter.h"
#include "compiler/Planning/Build/TransferDrafter.h"

namespace cleave::plan {

// Visits each op of the function, in order. The parts that it is made of have invariants of their own:
// InstructionMaker, ValueAddresses. CollectiveDrafter and TransferDrafter visit the ops of the shard dialect.
class DraftBuilder {
public:
  DraftBuilder(ModulePlan &plan, mlir::func::FuncOp function);
  DraftBuilder(const DraftBuilder &) = delete; // its parts refer to each other
  DraftBuilder &operator=(const DraftBuilder &) = delete;
  // Called once.
  mlir::FailureOr<ProgramDraft> build();

private:
  void addInputs();
  void addPort(PortDraft port, mlir::DictionaryAttr attributes);
  void addCalls(mlir::ArrayAttr calls);

  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult visitRead(ReadOp read);
  mlir::LogicalResult visitWrite(WriteOp write);
  mlir::LogicalResult visitViews(mlir::Operation *op, llvm::ArrayRef<ByteView> views);
  mlir::LogicalResult visitJoined(mlir::Operation *op, llvm::ArrayRef<ByteView> views);
  mlir::LogicalResult visitKernel(cleave::KernelOp kernel);
  mlir::LogicalResult visitLibrary(mlir::Operation *op);
  mlir::LogicalResult visitOffload(OffloadOp op);
  mlir::LogicalResult visitReturn(mlir::func::ReturnOp op);

  std::optional<unsigned> stateToFill(mlir::Operation *concat) const;
  bool accumulatesReduced(cleave::KernelOp kernel) const;
  bool canFollowTie(cleave::KernelOp kernel, unsigned input, unsigned result, llvm::ArrayRef<Address> inputs);

  ModulePlan &plan;
  mlir::func::FuncOp function;
  mlir::Builder builder;
  ProgramDraft draft;
  InstructionMaker maker;
  ValueAddresses values;
  const ValueFamilies &families;
  CollectiveDrafter collectives;
  TransferDrafter transfers;
};

} // namespace cleave::plan

#endif
