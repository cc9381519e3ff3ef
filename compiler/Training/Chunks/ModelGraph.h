// @model as a graph that can be cut into stages (compiler/Pipeline/Cut.h). Some ops belong to no stage of their own.
//
//   nodes      ops that compute with samples, and writes of states that they change; in the order of the function
//   sources    constants, reads, and ops on these alone (a cast weight, a dropout's numbers): each chunk that uses a
//              source computes it itself
//   followers  reads of states that the forward pass also writes (running statistics): they are in the chunk of the
//              write, with all ops that use them
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
  // The time of the update is divided by the number of micro-batches of a step.
  ModelGraph(mlir::func::FuncOp model, int64_t microBatches);

  pipeline::CutGraph graph;
  llvm::SmallVector<mlir::Operation *> ops;      // of each node
  llvm::DenseMap<mlir::Operation *, int> nodeOf; // the number of each node
  llvm::DenseSet<mlir::Operation *> sources;
  llvm::DenseMap<mlir::Operation *, int> followers; // the node of the write
  llvm::SmallVector<WriteOp> counterWrites;
  std::vector<std::pair<int, int>> together; // pairs of nodes that must be in one chunk
  llvm::SmallVector<StateOp> states;         // by their numbers in the graph
  // For each node the original names of the parameters that it uses, directly or through sources, and then its own name
  // in the file.
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
  // How often a trainable parameter's bytes are read or written for one micro-batch, in addition to its kernels.
  double accessesOfState;
  llvm::DenseSet<mlir::Operation *> differentiated; // ops whose results need a gradient
  llvm::StringMap<WriteOp> writes;                  // of states that are not counters
  llvm::DenseMap<mlir::Operation *, int> stateNumbers;
};

} // namespace cleave

#endif
