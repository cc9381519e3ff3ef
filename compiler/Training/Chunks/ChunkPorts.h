// Arguments and results of a chunk's function with their attributes, while a pass adds to them.
//
//   ChunkPorts ports(function);
//   Value seed = ports.addArgument("cleave.seed", "", like);   // at the end of the block's arguments
//   ports.addResult("c0:0.grad.c1", gradient);                 // at the end of what the function returns
//   ports.finish();                                            // writes terminator, type and attributes at once
#ifndef CLEAVE_COMPILER_TRAINING_CHUNKS_CHUNKPORTS_H
#define CLEAVE_COMPILER_TRAINING_CHUNKS_CHUNKPORTS_H

#include "dialects/Cleave/IR/StepFunctions.h"

namespace cleave {

class ChunkPorts {
public:
  explicit ChunkPorts(mlir::func::FuncOp function);

  struct Edge {
    mlir::Value value;
    std::string name;
  };
  // Results, and arguments, that are edges.
  llvm::SmallVector<Edge> outEdges() const;
  llvm::SmallVector<Edge> inEdges() const;

  // An argument with the unit attribute `kind` (or none) of the type of `like`; of an edge, if the name is not empty.
  mlir::BlockArgument addArgument(llvm::StringRef kind, llvm::StringRef edge, mlir::Value like);
  // An argument or a result with these attributes.
  mlir::BlockArgument addArgument(mlir::DictionaryAttr attributes, mlir::Value like);
  void addResult(mlir::DictionaryAttr attributes, mlir::Value value);
  void addResult(llvm::StringRef edge, mlir::Value value);
  // All results from this one on.
  void dropResults(unsigned from);
  // The results that are these edges.
  void dropEdges(llvm::function_ref<bool(llvm::StringRef)> isDropped);

  void finish();

private:
  mlir::Block &body() { return function.getBody().front(); }
  mlir::DictionaryAttr edgeAttributes(llvm::StringRef kind, llvm::StringRef edge);

  mutable mlir::func::FuncOp function; // a handle: MLIR has no const ops
  llvm::SmallVector<mlir::DictionaryAttr> arguments, results;
  llvm::SmallVector<mlir::Value> returned;
};

} // namespace cleave

#endif
