#include "compiler/Planning/Draft/Issue.h"

namespace cleave::plan {

namespace {

struct Issue {
  std::optional<unsigned> stream; // none: the maker of the instruction has set it
  bool movesUp;
};

// The table in Issue.h.
Issue issueOf(Purpose purpose) {
  switch (purpose) {
  case Purpose::Compute:
    return {kComputeStream, false};
  case Purpose::Relocate:
    return {kComputeStream, true};
  case Purpose::Reduce:
    return {kReduceStream, true};
  case Purpose::Gather:
    return {kGatherStream, true};
  case Purpose::GatherFromHost:
    return {kCopyStream, true};
  case Purpose::Broadcast:
    return {kGatherStream, false};
  case Purpose::CopyIn:
    return {kCopyStream, false};
  case Purpose::CopyOut:
    return {kCopyStream, true};
  case Purpose::Transfer:
    return {std::nullopt, false};
  }
  return {}; // all purposes are above
}

} // namespace

bool movesUp(Purpose purpose) { return issueOf(purpose).movesUp; }

void issue(std::vector<DraftInstruction> &instructions, const std::vector<Gather> &gathers) {
  for (DraftInstruction &instruction : instructions) {
    auto [stream, movesUp] = issueOf(instruction.purpose);
    if (instruction.gather && gathers[*instruction.gather].isPrefetched()) {
      movesUp = gathers[*instruction.gather].isCopy;
      if (instruction.purpose == Purpose::Compute) // it makes the part that is gathered
        stream = kGatherStream;
    }
    instruction.early = movesUp;
    instruction.stream = stream.value_or(instruction.stream);
  }
}

} // namespace cleave::plan
