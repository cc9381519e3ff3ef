// Finds which bytes of a plan are in use at which time, over one run of an entry in issue order.
//
// A plan reserves its regions as a whole. This finds the values in them. A value is what one instruction writes to one
// buffer. It is in use from this instruction to the last one that reads it. If its bytes are written again before that,
// they belong to the new value. State, input, output and snapshot regions count in full all the time.
//
// Example: 0 w=x[0:64]  1 r=x w=y[64:96]  2 r=y w=x[0:32]   use 64, 96, 64 (y and the new x)
#ifndef CLEAVE_COMPILER_INSPECT_MEMORYUSE_H
#define CLEAVE_COMPILER_INSPECT_MEMORYUSE_H

#include "compiler/Simulator/Walk.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace cleave::view {

inline constexpr size_t kRegionKinds = static_cast<size_t>(rt::fb::RegionKind::MAX) + 1;
using BytesByKind = std::array<uint64_t, kRegionKinds>;

enum class ValueUse : uint8_t { Value, Saved, Gathered, Fetched, Unreduced, Received, Scratch };
// "gathered weights", "saved for the backward pass"
const char *wordsFor(ValueUse use);

// A pass of a training step, as far as the plan shows it. The forward pass of a body ends with the kernel whose result
// is added to the loss. The update begins with the first kernel after those of the model's nodes, such as the norm of
// the gradients. If neither a parameter nor optimizer state is written from there on, there is no update.
enum class Pass : uint8_t { Unknown, Forward, Backward, Update };
// "forward pass"; "" for Unknown
const char *wordsFor(Pass pass);

struct LiveValue {
  uint32_t program = 0, instruction = 0, buffer = 0; // the instruction and the buffer that make it
  uint32_t body = 0;                                 // index in `bodies` of the run that makes it
  int64_t microBatch = 0;
  size_t born = 0, last = 0; // numbers of instructions in the walk; in use at both
  uint64_t bytes = 0;
  rt::fb::RegionKind region = rt::fb::RegionKind::transient;
  ValueUse use = ValueUse::Value;
};

inline constexpr size_t kNever = SIZE_MAX;
inline constexpr size_t kPasses = static_cast<size_t>(Pass::Update) + 1;

// A run of a program, without the programs that it calls.
struct BodyRun {
  uint32_t program = 0;
  int64_t microBatch = 0;
  size_t first = 0, last = 0; // numbers of instructions
  size_t lossAt = kNever;     // the instruction that makes the loss

  // Before the update.
  Pass passAt(size_t instruction) const {
    return lossAt == kNever ? Pass::Unknown : instruction <= lossAt ? Pass::Forward : Pass::Backward;
  }
};

struct MemoryUse {
  size_t instructions = 0;      // number of those examined: the first ones of the run
  uint64_t allInstructions = 0; // number of all instructions of the run

  bool isWhole() const { return instructions == allInstructions; }

  BytesByKind planned{}, always{}; // bytes of the device's regions; of those that count in full
  std::vector<LiveValue> values;   // in order of birth
  std::vector<BodyRun> bodies;
  std::vector<BytesByKind> peaks;       // for equal slices of the run, each at its fullest instruction
  std::vector<size_t> peakInstructions; // those instructions
  size_t peakSlice = 0;
  size_t updateAt = kNever;                   // the first instruction of the update
  std::array<uint64_t, kPasses> mostInPass{}; // bytes in use at the fullest instruction of each

  Pass passAt(size_t instruction) const;
  uint64_t totalAt(size_t slice) const;
  // Returns the values in use at an instruction, the largest first. Parts of a value that end at different times are
  // one.
  std::vector<LiveValue> aliveAt(size_t instruction) const;
  const BodyRun *bodyAt(size_t instruction) const;
};

MemoryUse memoryUse(const rt::fb::Plan &kind, uint32_t entry, size_t slices);

// Returns "train_step, backward pass" or "c0.fwd, micro-batch 1".
std::string passText(const rt::fb::Plan &kind, const MemoryUse &use, const BodyRun &body, size_t instruction);

// Explains "c0.fwd" and the like, which passText() and traces name. Empty if the plan has no such programs.
std::string explainBodies(const rt::fb::Plan &plan);

// Returns the node, or whatever else identifies a value: "/h.0/c_fc/MatMul", "bucket3 (h.0.c_fc.weight)".
std::string nameOf(const rt::fb::Plan &kind, const LiveValue &value);

} // namespace cleave::view

#endif
