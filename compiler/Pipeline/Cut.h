// Cuts a graph into the stages of a pipeline.
//
// The nodes are in an order in which each comes after the nodes that it uses. Each stage is a contiguous run of that
// order, so every edge goes to the same stage or a later one, over any distance. The cut makes the slowest stage as
// fast as possible:
//
//   time of a stage = cost of its nodes + transferCost x bytes that it receives from earlier stages
//
// A value that several nodes of a stage use is received once. Among cuts with the same slowest stage, the one that
// sends the fewest bytes in total is taken. The result is the best of all cuts of this order (dynamic programming over
// the places of the cuts), within these bounds:
//
//   pins         a node is in a given stage
//   together     a node and another are in one stage: no cut between them
//   boundaries   a stage begins at this node; then there is nothing to choose
//   memoryLimit  states and activations of a stage fit
//
// Example: five nodes a b c d e of costs 1 1 4 1 1 in three stages: a b | c | d e, slowest stage 4.
#ifndef CLEAVE_COMPILER_PIPELINE_CUT_H
#define CLEAVE_COMPILER_PIPELINE_CUT_H

#include "compiler/Pipeline/Result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cleave::pipeline {

struct CutNode {
  std::string name;            // for pins, boundaries, patterns and errors
  double cost = 0;             // time of its forward and backward pass
  int64_t activationBytes = 0; // kept for its backward pass, for one micro-batch
  std::vector<int> states;     // numbers of the states that it uses; a stage holds each of its states once
};

// A value from a node to later ones. Each stage that uses it receives it once.
struct CutEdge {
  int from = 0;
  std::vector<int> to; // all greater than `from`
  int64_t bytes = 0;
};

struct CutGraph {
  std::vector<CutNode> nodes;
  std::vector<CutEdge> edges;
  std::vector<int64_t> stateBytes; // of each state with all that training keeps for it
};

enum class CutMode {
  Auto,       // by cost, within the memory limit
  Uniform,    // equally many nodes in each stage
  Parameters, // equally many bytes of states
  Pattern,    // equally many nodes with `isMatched`
};

// The bytes that a plan needs for each byte of the estimate, known from a cut that has been planned
// (compiler/Driver/Memory/StageFit.h).
struct MemoryScale {
  double states = 1, activations = 1;
};

struct CutRequest {
  int stages = 1;
  CutMode mode = CutMode::Auto;
  double transferCost = 0;                   // time per byte
  int64_t memoryLimit = 0;                   // bytes of each stage; 0: none
  std::vector<int> frames;                   // of activations, for each stage (the schedule says how many); empty: one
  std::vector<MemoryScale> scales;           // of each stage; empty: 1
  std::vector<std::pair<int, int>> pins;     // node, stage
  std::vector<std::pair<int, int>> together; // nodes that must be in one stage
  std::vector<int> boundaries;               // first nodes of stages 1, 2, ...; empty: chosen
  std::vector<bool> isMatched;               // for Pattern: of each node
};

struct CutStage {
  int begin = 0, end = 0;              // its nodes
  double time = 0;                     // by the mode's measure, with transfers
  int64_t received = 0;                // bytes
  int64_t memory = 0;                  // states and activations, scaled
  int64_t states = 0, activations = 0; // as estimated
};

struct Cut {
  std::vector<CutStage> stages;
  double slowest = 0;
  int64_t transferred = 0; // bytes to later stages, in all

  int stageOf(int node) const;
};

// Returns the best cut. Errors say what would work.
Result<Cut> cutGraph(const CutGraph &graph, const CutRequest &request);

} // namespace cleave::pipeline

#endif
