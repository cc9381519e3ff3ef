// Imports If, Loop and Scan. A static plan has neither branches nor loops, so the graphs of these nodes are expanded at
// import, once for each run of the graph (a *turn*).
//
//   y = Loop(3, true, x) { v' = v * w }     becomes     y = ((x * w) * w) * w
//
// Every later level sees plain nodes: gradients, shardings and kernels need no rule for loops. The price is that the
// branch, the number of turns, and the condition after each turn must be known at import (errors name the unknown
// value). Also, the code grows with the number of turns, and each turn draws its nodes from the budget.
//
// The names of a graph live for one turn: its inputs are defined, its nodes are imported, its outputs are read, and
// then all its names are removed. A graph reads names from outside like any other names.
//
// Rejected: a loop op in the dialect. Bodies that schedules call (DESIGN, section 4) would keep the code of a long loop
// small, but every level would need rules for values that pass from turn to turn.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_CONTROLFLOW_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_CONTROLFLOW_H

#include "compiler/Import/ONNX/Operators/OperatorTable.h"

#include <functional>
#include <map>

namespace cleave::onnx_import {

class ControlFlow {
public:
  // `importNodes` imports the nodes of a graph into the function; it may call import() again. `keep` keeps the graphs
  // alive, because they own large constants.
  using ImportNodes = std::function<void(const FlatGraph &)>;
  using Keep = std::function<void(std::shared_ptr<const void>)>;
  ControlFlow(const ModelFile &file, size_t numCalls, Environment &environment, ErrorList &errors,
              ImportNodes importNodes, Keep keep)
      : file_(file), numCalls_(numCalls), environment_(environment), errors_(errors),
        importNodes_(std::move(importNodes)), keep_(std::move(keep)) {}

  // True if the node is an If, Loop or Scan.
  static bool imports(const FlatNode &node);

  LogicalResult import(OpContext &op);

private:
  using Bindings = std::vector<Binding>;
  struct Body {
    const onnx::GraphProto *proto;
    std::shared_ptr<const FlatGraph> graph;
    std::vector<std::pair<std::string, Binding>> initializers;
    uint64_t stepsOfTurn; // see stepsOf() in the source
  };

  // The conditions under which a loop runs.
  struct Conditions {
    bool asks = false;            // the node has a condition
    std::optional<int64_t> trips; // trip count; nullopt: no limit
    bool goesOn = true;           // the condition before the next turn
  };
  // A tensor of which each turn reads one slice, and a result that has one slice from each turn.
  struct Scanned {
    Binding source;
    int64_t axis;
    bool isBackward;
  };
  struct Stacked {
    Bindings parts; // one from each turn
    int64_t axis = 0;
    bool isBackward = false;
  };
  // The state of a loop between turns. Of the graph's outputs, take() skips `first`, then reads the carried values,
  // then the new parts.
  struct Turns {
    Bindings carried;
    std::vector<Stacked> stacked;
    void take(const Bindings &outputs, size_t first);
  };

  LogicalResult importIf(OpContext &op);
  LogicalResult importLoop(OpContext &op);
  LogicalResult importScan(OpContext &op);

  llvm::FailureOr<Conditions> readConditions(OpContext &op);
  LogicalResult runLoop(OpContext &op, const Body &body, Conditions conditions, Turns &turns);
  // Decides whether the loop continues after a turn. `next` is the condition that the turn has computed.
  LogicalResult decide(OpContext &op, const Body &body, const Binding &next, int64_t turn, Conditions &conditions);
  llvm::FailureOr<std::vector<Scanned>> readScanned(OpContext &op, size_t numStates);
  // Returns the number of turns.
  llvm::FailureOr<int64_t> lengthOf(OpContext &op, std::vector<Scanned> &scanned);
  LogicalResult runScan(OpContext &op, const Body &body, const std::vector<Scanned> &scanned, int64_t length,
                        Turns &turns);
  LogicalResult defineResults(OpContext &op, const Body &body, Turns &turns, size_t first);

  // Returns a graph of the node. It is read once, however often the node runs.
  llvm::FailureOr<const Body *> prepare(OpContext &op, llvm::StringRef attribute);
  LogicalResult readInitializers(OpContext &op, Body &body);
  // Runs one turn, and returns its outputs for these inputs.
  llvm::FailureOr<Bindings> run(OpContext &op, const Body &body, const Bindings &inputs);

  llvm::FailureOr<Binding> sliceOf(OpContext &op, Binding binding, int64_t axis, int64_t index);
  llvm::FailureOr<Binding> stack(OpContext &op, Bindings parts, int64_t axis, const onnx::ValueInfoProto &declared);

  const ModelFile &file_;
  size_t numCalls_; // function calls inlined so far
  Environment &environment_;
  ErrorList &errors_;
  ImportNodes importNodes_;
  Keep keep_;
  std::map<const onnx::GraphProto *, Body> bodies_;
  static constexpr unsigned kMaxDepth = 32;
  unsigned depth_ = 0;
};

} // namespace cleave::onnx_import

#endif
