// @model as the cut sees it (compiler/Pipeline/Cut.h), and what belongs to no stage of its own.
//
//   nodes      ops that compute with samples, and writes of what they change; in the order of the function
//   sources    constants, reads, and what is computed of those alone (a cast weight, a dropout's numbers): each chunk
//              that uses one computes it itself
//   followers  reads of states that the forward pass also writes (running statistics): in the chunk of the write, with
//              all that uses them
//   counters   the counter of micro-batches: each chunk that uses it has its own (States.h, isMicroCounter)
#ifndef CLEAVE_COMPILER_TRAINING_CHUNKS_MODELGRAPH_H
#define CLEAVE_COMPILER_TRAINING_CHUNKS_MODELGRAPH_H

#include "compiler/Pipeline/Cut.h"
#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace cleave {

struct ModelGraph {
  // The update's time is spread over the micro-batches of a step.
  ModelGraph(mlir::func::FuncOp model, int64_t microBatches);

  pipeline::CutGraph graph;
  llvm::SmallVector<mlir::Operation *> ops;      // of each node
  llvm::DenseMap<mlir::Operation *, int> nodeOf; // of nodes
  llvm::DenseSet<mlir::Operation *> sources;
  llvm::DenseMap<mlir::Operation *, int> followers; // the node of the write
  llvm::SmallVector<WriteOp> counterWrites;
  std::vector<std::pair<int, int>> together; // nodes
  llvm::SmallVector<StateOp> states;         // by the graph's number
  // Original names of the parameters that a node uses, directly or through sources, and then what the file calls the
  // node.
  llvm::SmallVector<llvm::SmallVector<std::string>> namesOf;

private:
  void findWritten(const mlir::SymbolTable &symbols);
  bool isSource(mlir::Operation &op) const;
  unsigned countGradients(const mlir::SymbolTable &symbols, mlir::Operation &op) const;
  void addNode(const mlir::SymbolTable &symbols, mlir::Operation &op);
  void addStates(const mlir::SymbolTable &symbols, mlir::Operation &op, pipeline::CutNode &node);
  void addEdges();
  void keepStatesTogether();
  void keepStatesWithTheirMakers();

  mlir::func::FuncOp model;
  double accessesOfState;                           // of the bytes of a trainable parameter, for a micro-batch
  llvm::DenseSet<mlir::Operation *> differentiated; // ops whose results need a gradient
  llvm::StringMap<WriteOp> writes;                  // of states but counters
  llvm::DenseMap<mlir::Operation *, int> stateNumbers;
};

} // namespace cleave

#endif
