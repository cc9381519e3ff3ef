// The cost of a plan, known before anything runs: the memory of one rank by kind and by role, and the traffic of one
// rank. If a plan has several kinds of ranks (RankKinds.h), each kind has its own summary.
//
// Both are exact. Memory is the sum of the regions, because the runtime allocates nothing else for tensors. Memory of
// the device and of the host are counted separately. For a GPU, the host's memory includes the batches of a training
// run with validation data (FeedMemory.h). The memory of code and objects has a bound (OutsideMemory.h). Traffic is
// counted from the collectives, multiplied by the number of calls. In a group of N ranks, a ring all-reduce of B bytes
// sends 2*(N-1)/N*B per rank, and a reduce-scatter or an all-gather sends (N-1)/N*B (Traffic.h). The communicator
// counts the same bytes when it moves them.
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
  uint64_t instructions = 0;                   // in the program's own list
  uint64_t executed = 0;                       // multiplied by calls
  uint64_t sentBytes = 0;                      // per rank and run
  uint64_t flops = 0;                          // per rank and run, as the kernels declare
  uint64_t copiedIn = 0, copiedOut = 0;        // bytes per run, from host memory to the device and back
  std::map<std::string, uint64_t> collectives; // mnemonic -> times per run
  std::map<std::string, uint64_t> sentByGroup; // axes of the group ("dp,fsdp") -> bytes
  std::map<std::string, uint64_t> sentByKind;  // mnemonic -> bytes
  // Kind of value (gathered, unreduced, staging, activation) -> the most transient bytes in use at one time, including
  // callees.
  std::map<std::string, uint64_t> peaks;
};

struct PlanSummary {
  uint64_t ranks = 1;
  uint64_t totalBytes = 0, hostBytes = 0;         // of the device's regions; of the host's
  OutsideMemory outside;                          // an upper bound of the memory outside of the regions
  std::map<std::string, uint64_t> bytesByKind;    // RegionKind name -> bytes of the device, all frames
  std::map<std::string, uint64_t> hostByKind;     // the same of the host, with "batches" and "validation batches"
  std::map<std::string, uint64_t> bytesByRole;    // Role name -> bytes of states on one rank
  std::map<std::string, uint64_t> hostByRole;     // those states that are in host memory
  std::map<std::string, uint64_t> wholeByRole;    // bytes of all states, if nothing were split
  uint64_t parameters = 0;                        // elements of the whole model without padding; only in the first kind
  std::map<std::string, uint64_t> kernels;        // KernelKind name -> number
  std::map<std::string, std::string> typesByRole; // Role name -> floating-point types of its states, "bf16,f32"
  std::map<std::string, uint64_t> libraryByType;  // floating-point type -> library kernels that compute in it
  std::vector<ProgramSummary> programs;
  std::string kind; // empty if there is only one kind
  uint64_t ranksOfKind = 1;
  std::vector<PlanSummary> others; // the other kinds; only the first kind has them
};

// How library kernels of a 16-bit type compute, as the compiler found for the target: "native" or "emulated in f32". It
// is the plan's property `kernels.TYPE`. Empty if the plan does not have it.
std::string libraryArithmetic(const fb::Plan &plan, const std::string &type);

class InstructionView;
// The bytes that one rank of the kind sends in a collective, a send or a receive.
uint64_t sentBytes(const fb::Plan &kind, const InstructionView &instruction);

// The plan must have passed openPlan().
PlanSummary summarize(const fb::Plan &plan);
// Returns the kind whose ranks need the most device memory.
const PlanSummary &largestKind(const PlanSummary &summary);
// Returns the summary as `cleave inspect` prints it.
std::string printSummary(const fb::Plan &plan, const PlanSummary &summary);
// Two more parts of `cleave inspect`: the inputs and outputs of each entry program, and the units, which are gathered
// together if parameters are stored split.
std::string printPorts(const fb::Plan &plan);
std::string printUnits(const fb::Plan &plan);
// Returns the JSON of `cleave inspect --json`, pretty-printed: axes, properties and the summary. If there are several
// kinds of ranks, the keys are those of the first kind, and `kinds` has an entry for each kind.
std::string summaryJson(const fb::Plan &plan, const PlanSummary &summary);

} // namespace cleave::rt

#endif
