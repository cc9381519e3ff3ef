// Which bytes of a plan are in use when: values from the instruction that makes them to the last that reads them, over
// one run of an entry in issue order.
//
// A plan reserves its regions as a whole; here is what is alive in them. A value is what one instruction writes to one
// buffer. It ends after its last reader; bytes that are written again before belong to the new value. State, input,
// output and snapshot regions count in full all the time.
//
// Example: 0 w=x[0:64]  1 r=x w=y[64:96]  2 r=y w=x[0:32]   use 64, 96, 64 (y, and x anew)
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

// Of a step of training, as far as the plan shows it: the forward pass of a body ends with the kernel whose result is
// added to the loss, and the update begins with the first kernel after those of the model's nodes, such as the norm of
// the gradients. If neither a parameter nor optimizer state is written from there on, there is no update.
enum class Pass : uint8_t { Unknown, Forward, Backward, Update };
// "forward pass"; "" for Unknown
const char *wordsFor(Pass pass);

struct LiveValue {
  uint32_t program = 0, instruction = 0, buffer = 0; // the maker
  uint32_t body = 0;                                 // of `bodies`, in which it is made
  int64_t microBatch = 0;
  size_t born = 0, last = 0; // instructions of the walk; alive in both
  uint64_t bytes = 0;
  rt::fb::RegionKind region = rt::fb::RegionKind::transient;
  ValueUse use = ValueUse::Value;
};

inline constexpr size_t kNever = SIZE_MAX;
inline constexpr size_t kPasses = static_cast<size_t>(Pass::Update) + 1;

// A run of a program, without those that it calls.
struct BodyRun {
  uint32_t program = 0;
  int64_t microBatch = 0;
  size_t first = 0, last = 0; // instructions
  size_t lossAt = kNever;     // the instruction that makes the loss

  // Before the update.
  Pass passAt(size_t instruction) const {
    return lossAt == kNever ? Pass::Unknown : instruction <= lossAt ? Pass::Forward : Pass::Backward;
  }
};

struct MemoryUse {
  size_t instructions = 0;      // that are looked at: the first ones of a run
  uint64_t allInstructions = 0; // of the run

  bool isWhole() const { return instructions == allInstructions; }

  BytesByKind planned{}, always{}; // of the device's regions; and of those that count in full
  std::vector<LiveValue> values;   // in order of birth
  std::vector<BodyRun> bodies;
  std::vector<BytesByKind> peaks;       // of equal slices of the run, each at its fullest instruction
  std::vector<size_t> peakInstructions; // those instructions
  size_t peakSlice = 0;
  size_t updateAt = kNever;                   // the first instruction of the update
  std::array<uint64_t, kPasses> mostInPass{}; // bytes in use at the fullest instruction of each

  Pass passAt(size_t instruction) const;
  uint64_t totalAt(size_t slice) const;
  // The values alive at an instruction, the largest first; parts of one value that end at different times are one.
  std::vector<LiveValue> aliveAt(size_t instruction) const;
  const BodyRun *bodyAt(size_t instruction) const;
};

MemoryUse memoryUse(const rt::fb::Plan &kind, uint32_t entry, size_t slices);

// "train_step, backward pass", "c0.fwd, micro-batch 1"
std::string placeText(const rt::fb::Plan &kind, const MemoryUse &use, const BodyRun &body, size_t instruction);

// The node, or what else tells a value from others: "/h.0/c_fc/MatMul", "bucket3 (h.0.c_fc.weight)".
std::string nameOf(const rt::fb::Plan &kind, const LiveValue &value);

} // namespace cleave::view

#endif
