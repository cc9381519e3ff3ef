// Lists what a rank exchanges with others in one run of an entry program, and why: each collective, send and receive of
// the plan with its tensor, how the ranks have it before, and how it is used.
//
// The reason is in the plan, as the compiler stated it (dialects/Cleave/IR/Reason.h). This adds what states contain:
//   all_gather      of bucket3 (h.0.attn.weight and 18 more): made "split over fsdp", used "whole on every rank, first
//                   by node '/h.0/c_attn/MatMul' (MatMul)"
//   all_reduce      of gradient of bucket3 (...): made "a sum of its own on each rank of dp", used "whole on every rank,
//                   for the update of bucket3 (...)"
#ifndef CLEAVE_COMPILER_INSPECT_TRAFFIC_H
#define CLEAVE_COMPILER_INSPECT_TRAFFIC_H

#include "runtime/plan/InstructionView.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cleave::view {

struct Exchange {
  std::string mnemonic; // "all_gather"
  std::string axes;     // of the group: "dp,fsdp"
  std::string tensor;   // a state's name, or the model's node
  std::string program;  // that contains it
  std::string made, used;
  uint64_t bytes = 0; // of the data of one such instruction
  uint64_t times = 0; // number of runs of it in a run of the entry
  uint64_t sent = 0;  // by one rank in a run of the entry
};

// Returns the exchanges of one kind of ranks, in order of first appearance. Exchanges of one tensor, use, size, axes,
// mnemonic and program are one entry.
std::vector<Exchange> exchangesOf(const rt::fb::Plan &kind, uint32_t entry);

struct AxisTraffic {
  uint64_t sent = 0;
  std::map<std::string, uint64_t> times; // by mnemonic
};
// Sums up exchanges by the axes of their groups.
std::map<std::string, AxisTraffic> trafficByAxes(const std::vector<Exchange> &exchanges);

// Names what an instruction without a note makes: by the state that its bytes come from, or by the program.
std::string tensorOf(const rt::fb::Plan &kind, uint32_t program, uint32_t instruction);

// Returns the state that has the first of these bytes; null if there is none.
const rt::fb::State *stateAt(const rt::fb::Plan &kind, const rt::fb::Buffer &buffer);

// Names the parameters in a state: "h.0.attn.weight" or "h.0.attn.weight and 18 more".
std::string contentOf(const rt::fb::State &state);

} // namespace cleave::view

#endif
