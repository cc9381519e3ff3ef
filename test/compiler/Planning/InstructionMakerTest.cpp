// What a draft's instructions, gathers and allocations are for, from when they are made until allocations are merged.
#include "compiler/Planning/Build/InstructionMaker.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <gtest/gtest.h>

namespace cleave::plan {
namespace {

class InstructionMakerTest : public testing::Test {
protected:
  unsigned device(uint64_t bytes) { return draft.allocations.add(RegionKind::Transient, bytes); }
  unsigned state(uint64_t bytes, bool isHost = false) {
    return draft.allocations.add(RegionKind::Persistent, bytes, /*fixed=*/0, isHost);
  }
  void merge(unsigned part, unsigned whole) { draft.allocations.merge({part, 0, {}}, {whole, 0, {}}); }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> op = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  ProgramDraft draft;
  InstructionMaker maker{draft, &context};
};

TEST_F(InstructionMakerTest, ACopyBetweenMemoriesIsOneWhateverItIsFor) {
  Address here{device(64), 0, {}}, there{device(64), 0, {}}, host{state(64, /*isHost=*/true), 0, {}};
  for (Purpose purpose : {Purpose::Compute, Purpose::Relocate, Purpose::Reduce, Purpose::Gather}) {
    EXPECT_EQ(maker.addCopy(*op, there, here, 64, purpose).purpose, purpose);
    EXPECT_EQ(maker.addCopy(*op, host, here, 64, purpose).purpose, Purpose::CopyOut);
    bool isGather = purpose == Purpose::Gather;
    EXPECT_EQ(maker.addCopy(*op, here, host, 64, purpose).purpose,
              isGather ? Purpose::GatherFromHost : Purpose::CopyIn);
  }
}

TEST_F(InstructionMakerTest, AGatherFillsAStateIfItsAllocationIsMergedIntoOne) {
  unsigned kept = device(64), stored = device(64);
  unsigned first = maker.addGather(/*isBackward=*/false, kept), second = maker.addGather(/*isBackward=*/true, stored),
           copies = maker.addCopies(/*isBackward=*/false);
  maker.add(*op, "all_gather", Purpose::Gather, {accessTo({stored, 0, {}}, 64, true, true)}).gather = second;
  unsigned whole = state(128);
  draft.allocations.merge({stored, 0, {}}, {whole, 64, {}});
  merge(kept, device(64));
  maker.resolveMergedAllocations();
  EXPECT_FALSE(draft.gathers[first].fillsState);
  EXPECT_TRUE(draft.gathers[second].fillsState);
  EXPECT_TRUE(draft.gathers[second].backward);
  EXPECT_TRUE(draft.gathers[copies].isCopy);
  EXPECT_FALSE(draft.gathers[copies].fillsState);
  EXPECT_EQ(draft.instructions[0].uses[0].allocation, whole);
  EXPECT_EQ(draft.instructions[0].uses[0].offset, 64u);
}

TEST_F(InstructionMakerTest, AnAllocationHasTheLastUseOfAllThatIsMergedIntoIt) {
  unsigned whole = device(64), part = device(64), other = device(64);
  draft.allocations.noteMemoryUse(part, MemoryUse::Unreduced);
  merge(part, whole);
  EXPECT_EQ(draft.allocations[whole].use, MemoryUse::Unreduced);
  draft.allocations.noteMemoryUse(part, MemoryUse::Gathered); // counts for the allocation that it is a part of
  draft.allocations.noteMemoryUse(other, MemoryUse::Staging);
  merge(other, whole);
  EXPECT_EQ(draft.allocations[whole].use, MemoryUse::Gathered);
}

TEST_F(InstructionMakerTest, TheMakerOfAnOpIsFoundAfterFurtherInstructions) {
  EXPECT_EQ(maker.findMaker(*op), nullptr);
  maker.add(*op, "launch", Purpose::Compute, {});
  maker.setMaker(*op);
  maker.add(*op, "fill", Purpose::Relocate, {});
  ASSERT_NE(maker.findMaker(*op), nullptr);
  EXPECT_EQ(maker.findMaker(*op)->purpose, Purpose::Compute);
}

} // namespace
} // namespace cleave::plan
