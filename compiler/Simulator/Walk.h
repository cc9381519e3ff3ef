// One run of an entry program on one kind of ranks, instruction by instruction in issue order. Each call is expanded.
//
// For example, an entry calls "c0.fwd" twice, in frames 0 and 1. The walk visits the instructions of c0.fwd, the same
// ones again, and those around the calls. Each instruction comes with the frames that it runs in.
#ifndef CLEAVE_COMPILER_SIMULATOR_WALK_H
#define CLEAVE_COMPILER_SIMULATOR_WALK_H

#include "runtime/plan/Frames.h"
#include "runtime/plan/InstructionView.h"

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace cleave::plan {

// The most instructions, or runs of bodies, that are walked. Pages and tables would not show more, and a plan with a
// loop can have any number.
inline constexpr size_t kMostInstructions = size_t{1} << 22;

struct WalkedInstruction {
  size_t number;    // from 0, in issue order
  uint32_t program; // the program with the instruction
  uint32_t index;   // its index in the program
  size_t body;      // the number of the program's run: each call is a new one
  rt::Frames frames;
};

using Visit = std::function<void(const WalkedInstruction &walked, const rt::InstructionView &instruction)>;

// The program with this name; empty if the plan has none.
std::optional<uint32_t> programNamed(const rt::fb::Plan &kind, std::string_view name);
// The main entry of a plan: a training step, else inference, else the first entry.
std::optional<uint32_t> mainProgram(const rt::fb::Plan &kind);

// Calls `visit` for each instruction. Returns false if there were more than kMostInstructions.
bool walk(const rt::fb::Plan &kind, uint32_t entry, const Visit &visit);

// How often each program runs in one run of the entry. It is computed without walking.
std::vector<uint64_t> runsOf(const rt::fb::Plan &kind, uint32_t entry);

// The number of instructions in one run of the entry, also if it is more than `walk` visits. It is computed without
// walking.
uint64_t instructionsOf(const rt::fb::Plan &kind, uint32_t entry);

// The addresses of a buffer on the kind's first rank. The frames of a region follow each other.
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
  std::vector<uint64_t> indices_; // index of the rank in each group
};

} // namespace cleave::plan

#endif
