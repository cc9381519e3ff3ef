// How instructions are issued, depending on their purpose and on what they gather.
#include "compiler/Planning/Draft/Issue.h"

#include <gtest/gtest.h>

namespace cleave::plan {
namespace {

DraftInstruction issued(Purpose purpose, std::optional<Gather> gather = std::nullopt) {
  std::vector<DraftInstruction> instructions(1);
  instructions[0].purpose = purpose;
  std::vector<Gather> gathers;
  if (gather) {
    instructions[0].gather = 0;
    gathers.push_back(*gather);
  }
  issue(instructions, gathers);
  return instructions[0];
}

void expectIssue(const DraftInstruction &instruction, unsigned stream, bool early) {
  EXPECT_EQ(instruction.stream, stream);
  EXPECT_EQ(instruction.early, early);
}

TEST(Issue, ReductionsAndWhatTheyWaitForMoveUp) {
  expectIssue(issued(Purpose::Compute), kComputeStream, false);
  expectIssue(issued(Purpose::Relocate), kComputeStream, true);
  expectIssue(issued(Purpose::Reduce), kReduceStream, true);
  expectIssue(issued(Purpose::CopyIn), kCopyStream, false);
  expectIssue(issued(Purpose::CopyOut), kCopyStream, true);
}

TEST(Issue, APrefetchedGatherIsMovedAsAWhole) {
  Gather ofStates;
  expectIssue(issued(Purpose::Gather, ofStates), kGatherStream, false);
  expectIssue(issued(Purpose::GatherFromHost, ofStates), kCopyStream, false);
  expectIssue(issued(Purpose::Compute, ofStates), kGatherStream, false); // it computes the part
}

TEST(Issue, AGatherIntoAStateMovesUpFromWhereItsPartIsMade) {
  Gather intoState;
  intoState.fillsState = true;
  expectIssue(issued(Purpose::Gather, intoState), kGatherStream, true);
  expectIssue(issued(Purpose::GatherFromHost, intoState), kCopyStream, true);
  expectIssue(issued(Purpose::Compute, intoState), kComputeStream, false);
  expectIssue(issued(Purpose::Gather), kGatherStream, true); // a gather of other values cannot be prefetched
}

TEST(Issue, ACopyMovesUpWithWhatItIsFor) {
  Gather copy;
  copy.isCopy = true;
  expectIssue(issued(Purpose::CopyIn, copy), kCopyStream, true);
}

TEST(Issue, ATransferStaysOnTheStreamOfItsBody) {
  std::vector<DraftInstruction> instructions(1);
  instructions[0].purpose = Purpose::Transfer;
  instructions[0].stream = kReceiveGradientStream;
  issue(instructions, {});
  expectIssue(instructions[0], kReceiveGradientStream, false);
}

} // namespace
} // namespace cleave::plan
