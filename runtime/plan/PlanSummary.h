// What a plan will cost before anything runs: memory of one rank by kind and by role, and traffic of one rank; for each
// kind of ranks where there are several (RankKinds.h).
//
// Both are exact. Memory is the sum of regions, since the runtime allocates nothing else for tensors; the device's and
// the host's are told apart. For a GPU the host's has the batches of a training with validation data, too (FeedMemory.h).
// For code and objects there is a bound (OutsideMemory.h). Traffic is counted from the
// collectives, with calls multiplied out: in a group of N ranks a ring all-reduce of B bytes sends 2*(N-1)/N*B per
// rank, a reduce-scatter or an all-gather (N-1)/N*B (Traffic.h). The communicator counts the same bytes where they
// move.
#ifndef CLEAVE_RUNTIME_PLAN_PLANSUMMARY_H
#define CLEAVE_RUNTIME_PLAN_PLANSUMMARY_H

#include "runtime/plan/OutsideMemory.h"
#include "runtime/plan/Plan_generated.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cleave::rt {

struct ProgramSummary {
  std::string name;
  bool entry = false;
  uint64_t instructions = 0;                   // of the list itself
  uint64_t executed = 0;                       // with calls multiplied out
  uint64_t sentBytes = 0;                      // per rank and run
  uint64_t flops = 0;                          // per rank and run, as the kernels declare
  uint64_t copiedIn = 0, copiedOut = 0;        // bytes per run, from host memory to the device and back
  std::map<std::string, uint64_t> collectives; // mnemonic -> times per run
  std::map<std::string, uint64_t> sentByGroup; // axes of the group ("dp,fsdp") -> bytes
  std::map<std::string, uint64_t> sentByKind;  // mnemonic -> bytes
  // Kind of value (gathered, unreduced, activation) -> the most transient bytes in use at one time, callees included.
  std::map<std::string, uint64_t> peaks;
};

struct PlanSummary {
  uint64_t ranks = 1;
  uint64_t totalBytes = 0, hostBytes = 0;         // of the device's regions, and of the host's
  OutsideMemory outside;                          // at most, besides the regions
  std::map<std::string, uint64_t> bytesByKind;    // RegionKind name -> bytes of the device, all frames
  std::map<std::string, uint64_t> hostByKind;     // and of the host; "batches" and "validation batches" are no regions
  std::map<std::string, uint64_t> bytesByRole;    // Role name -> bytes of states on one rank
  std::map<std::string, uint64_t> hostByRole;     // those of them that lie in host memory
  std::map<std::string, uint64_t> wholeByRole;    // the same, were nothing split
  uint64_t parameters = 0;                        // elements of the whole model, padding excluded; of the first kind
  std::map<std::string, uint64_t> kernels;        // KernelKind name -> number
  std::map<std::string, std::string> typesByRole; // Role name -> floating-point types of its states, "bf16,f32"
  std::map<std::string, uint64_t> libraryByType;  // floating-point type -> library kernels that compute in it
  std::vector<ProgramSummary> programs;
  std::string kind; // empty where there is one kind only
  uint64_t ranksOfKind = 1;
  std::vector<PlanSummary> others; // of the first kind: the other kinds
};

// How library kernels of a 16-bit type compute, as the compiler found the target: "native" or "emulated in f32"; the
// plan's property `kernels.TYPE`. Empty where it is not told.
std::string libraryArithmetic(const fb::Plan &plan, const std::string &type);

class InstructionView;
// What one rank of the kind sends in a collective, a send or a receive.
uint64_t sentBytes(const fb::Plan &kind, const InstructionView &instruction);

// The plan must have passed openPlan().
PlanSummary summarize(const fb::Plan &plan);
// The kind of which one rank needs most memory.
const PlanSummary &largestKind(const PlanSummary &summary);
// As `cleave inspect` shows it.
std::string printSummary(const fb::Plan &plan, const PlanSummary &summary);
// What `cleave inspect` shows besides: the inputs and outputs of each entry program, and the units, which are what is
// gathered together where parameters are stored split.
std::string printPorts(const fb::Plan &plan);
std::string printUnits(const fb::Plan &plan);
// As `cleave inspect --json` gives it: axes, properties and the summary, pretty-printed. Where there are several kinds
// of ranks, the keys are those of the first, and `kinds` has what each of them needs.
std::string summaryJson(const fb::Plan &plan, const PlanSummary &summary);

} // namespace cleave::rt

#endif
