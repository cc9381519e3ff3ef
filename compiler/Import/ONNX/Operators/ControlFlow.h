// If, Loop and Scan. A static plan takes no branches and counts no turns: their graphs are expanded at import, as often
// as they run.
//
//   y = Loop(3, true, x) { v' = v * w }     becomes     y = ((x * w) * w) * w
//
// So every later level sees plain nodes: gradients, shardings and kernels need no rule for loops. The price is that the
// branch, the number of turns and the condition after each turn must be known at import (errors name the value that is
// not), and that code grows with the number of turns: each turn takes its nodes from the budget.
//
// A graph's names live for one turn: its inputs are defined, its nodes imported, its outputs taken, and all its names
// forgotten. Names from around it are read as any others.
//
// Rejected: a loop op in the dialect. Bodies that schedules call (DESIGN, section 4) would keep the code of a long loop
// small; every level would need its rules for values that turns hand on. Expansion is right first.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_CONTROLFLOW_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_CONTROLFLOW_H

#include "compiler/Import/ONNX/Operators/OperatorTable.h"

#include <functional>
#include <map>

namespace cleave::onnx_import {

class ControlFlow {
public:
  // `importNodes` imports the nodes of a graph into the function; it may come back here. `keep` owns what large
  // constants lie in.
  using ImportNodes = std::function<void(const FlatGraph &)>;
  using Keep = std::function<void(std::shared_ptr<const void>)>;
  ControlFlow(const ModelFile &file, size_t numCalls, Environment &environment, ErrorList &errors,
              ImportNodes importNodes, Keep keep)
      : file_(file), numCalls_(numCalls), environment_(environment), errors_(errors),
        importNodes_(std::move(importNodes)), keep_(std::move(keep)) {}

  // Whether the node is one of the three.
  static bool imports(const FlatNode &node);

  LogicalResult import(OpContext &op);

private:
  using Bindings = std::vector<Binding>;
  struct Body {
    const onnx::GraphProto *proto;
    std::shared_ptr<const FlatGraph> graph;
    std::vector<std::pair<std::string, Binding>> initializers;
  };

  // How a loop is to run.
  struct Conditions {
    bool asks = false;            // it has a condition
    std::optional<int64_t> trips; // none: no limit
    bool goesOn = true;           // before the first turn
  };
  // A tensor that turns take their parts of, and one that is made of theirs.
  struct Scanned {
    Binding source;
    int64_t axis;
    bool isBackward;
  };
  struct Stacked {
    Bindings parts; // one of each turn
    int64_t axis = 0;
    bool isBackward = false;
  };
  // What is handed from turn to turn: a graph's outputs are the carried values, then the parts, after `first` others.
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
  // Whether the loop goes on after a turn, of which `next` is the condition.
  LogicalResult decide(OpContext &op, const Body &body, const Binding &next, int64_t turn, Conditions &conditions);
  llvm::FailureOr<std::vector<Scanned>> readScanned(OpContext &op, size_t numStates);
  // How many turns there are.
  llvm::FailureOr<int64_t> lengthOf(OpContext &op, std::vector<Scanned> &scanned);
  LogicalResult runScan(OpContext &op, const Body &body, const std::vector<Scanned> &scanned, int64_t length,
                        Turns &turns);
  LogicalResult defineResults(OpContext &op, const Body &body, Turns &turns, size_t first);

  // A graph of a node, read once, however often the node runs.
  llvm::FailureOr<const Body *> prepare(OpContext &op, llvm::StringRef attribute);
  LogicalResult readInitializers(OpContext &op, Body &body);
  // One turn: the outputs for these inputs.
  llvm::FailureOr<Bindings> run(OpContext &op, const Body &body, const Bindings &inputs);

  llvm::FailureOr<Binding> sliceOf(OpContext &op, Binding binding, int64_t axis, int64_t index);
  llvm::FailureOr<Binding> stack(OpContext &op, Bindings parts, int64_t axis, const onnx::ValueInfoProto &declared);

  const ModelFile &file_;
  size_t numCalls_; // of functions that were inlined so far
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
