// Drafts collectives: decides where their data lie, with padding, and what each instruction is for.
//
//   all_gather      the own part is put at its address in the whole, and the others come around it
//   reduce_scatter  in place if the unreduced value is not used again; the result is this rank's share of its bytes
//   all_slice       no instruction at all: the result is the rank's share of the operand's bytes
//
// A part's address in the whole depends on the rank's coordinates. It is written as a share (Draft.h), so coordinates
// affect only addresses. The bytes of a part must be contiguous, as they are along the outermost dimension (flat
// buckets). Other dimensions are an error, which names the dimension.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_COLLECTIVEDRAFTER_H
#define CLEAVE_COMPILER_PLANNING_BUILD_COLLECTIVEDRAFTER_H

#include "compiler/Planning/Build/ValueAddresses.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

namespace cleave::plan {

class CollectiveDrafter {
public:
  CollectiveDrafter(ModulePlan &plan, ProgramDraft &draft, InstructionMaker &maker, ValueAddresses &values,
                    mlir::MLIRContext *context)
      : plan(plan), draft(draft), maker(maker), values(values), builder(context) {}

  mlir::LogicalResult visit(mlir::shard::AllReduceOp op);
  mlir::LogicalResult visit(mlir::shard::ReduceScatterOp op);
  mlir::LogicalResult visit(mlir::shard::AllGatherOp op);
  mlir::LogicalResult visit(mlir::shard::AllSliceOp op);
  mlir::LogicalResult visit(mlir::shard::ReduceOp op);
  mlir::LogicalResult visit(mlir::shard::BroadcastOp op);

private:
  struct Extent {
    llvm::SmallVector<llvm::StringRef> axes;
    int64_t ranks = 1;
    unsigned group = 0;           // index in draft.groups, plus 1
    uint64_t part = 0, whole = 0; // bytes of one rank's part, and of all parts together
    Share share() const { return {group, static_cast<unsigned>(ranks), part}; }
  };
  mlir::FailureOr<Extent> extentOf(mlir::Operation *op, llvm::ArrayRef<int16_t> gridAxes, mlir::Value whole,
                                   mlir::Value part, int64_t dim);
  mlir::LogicalResult passThrough(mlir::Operation *op, Address address);
  mlir::NamedAttrList ringFields(mlir::Operation *op, const Extent &extent, mlir::Type element, int64_t count);
  struct Root {
    int64_t index; // in the group
    bool isHere;   // whether this kind's ranks are the root
  };
  mlir::FailureOr<Root> rootOf(mlir::Operation *op, const Extent &extent, llvm::ArrayRef<int64_t> coordinates);

  // Reductions.
  bool canReduceInPlace(mlir::Operation *op, Address address, uint64_t bytes, uint64_t padded);
  Address reducible(mlir::Operation *op, Address address, uint64_t bytes, uint64_t padded);
  mlir::LogicalResult reduceWhole(mlir::Operation *op, llvm::StringRef mnemonic, mlir::shard::ReductionKind kind,
                                  const Extent &extent, Address address, std::optional<int64_t> root = std::nullopt);
  mlir::LogicalResult addReduction(mlir::Operation *op, llvm::StringRef mnemonic, mlir::shard::ReductionKind kind,
                                   const Extent &extent, Address data, uint64_t bytes, mlir::Type element,
                                   std::optional<int64_t> root = std::nullopt);

  // Gathers.
  bool canGatherInPlace(mlir::shard::AllGatherOp op, Address part, Share share, uint64_t bytes);
  bool isMadeOfStates(mlir::Value part, llvm::SmallVectorImpl<DraftInstruction *> &makers) const;

  ModulePlan &plan;
  ProgramDraft &draft;
  InstructionMaker &maker;
  ValueAddresses &values;
  mlir::Builder builder;
};

} // namespace cleave::plan

#endif
