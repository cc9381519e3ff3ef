// One run of an entry program on one kind of ranks, instruction by instruction in issue order, calls multiplied out.
//
// An entry that calls "c0.fwd" twice, in frames 0 and 1, is walked as the instructions of c0.fwd, those of c0.fwd again,
// and what stands around the calls; each comes with the frames that it runs in.
#ifndef CLEAVE_COMPILER_SIMULATOR_WALK_H
#define CLEAVE_COMPILER_SIMULATOR_WALK_H

#include "runtime/plan/Frames.h"
#include "runtime/plan/InstructionView.h"

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace cleave::plan {

// More instructions, or runs of bodies, than this are not walked: pages and tables would not show more, and a plan of a loop can run any number.
inline constexpr size_t kMostInstructions = size_t{1} << 22;

struct WalkedInstruction {
  size_t number;    // from 0, in issue order
  uint32_t program; // that the instruction stands in
  uint32_t index;   // of the instruction in the program's list
  size_t body;      // the run of the program: each call is a further one
  rt::Frames frames;
};

using Visit = std::function<void(const WalkedInstruction &walked, const rt::InstructionView &instruction)>;

// The program of that name; none where the plan has no such one.
std::optional<uint32_t> programNamed(const rt::fb::Plan &kind, std::string_view name);
// The entry that a plan is about: a step of training, else inference, else the first entry.
std::optional<uint32_t> mainProgram(const rt::fb::Plan &kind);

// Whether all was walked.
bool walk(const rt::fb::Plan &kind, uint32_t entry, const Visit &visit);

// How often each program runs in one run of the entry; without walking.
std::vector<uint64_t> runsOf(const rt::fb::Plan &kind, uint32_t entry);

// The instructions of a whole run of the entry, also where `walk` takes the first ones only; without walking.
uint64_t instructionsOf(const rt::fb::Plan &kind, uint32_t entry);

// The bytes that a buffer means on the kind's first rank: all frames of a region lie one after the other.
class Addresses {
public:
  explicit Addresses(const rt::fb::Plan &kind);

  struct Range {
    unsigned region;
    uint64_t begin, end;
  };
  Range of(const rt::fb::Buffer &buffer, const rt::Frames &frames) const;

private:
  const rt::fb::Plan &kind_;
  std::vector<uint64_t> indices_; // of the rank in each group
};

} // namespace cleave::plan

#endif
