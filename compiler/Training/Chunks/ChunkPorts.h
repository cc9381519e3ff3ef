// The arguments and results of a chunk's function, with their attributes, while a pass adds some.
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
  // The results (outEdges) and the arguments (inEdges) that are edges. Gradients of edges are not among the arguments.
  llvm::SmallVector<Edge> outEdges() const;
  llvm::SmallVector<Edge> inEdges() const;

  // Adds an argument with the type of `like`. It has the unit attribute `kind`, or none if `kind` is empty, and belongs
  // to the edge `edge` if that is not empty.
  mlir::BlockArgument addArgument(llvm::StringRef kind, llvm::StringRef edge, mlir::Value like);
  // Add an argument or a result with these attributes, or of this edge.
  mlir::BlockArgument addArgument(mlir::DictionaryAttr attributes, mlir::Value like);
  void addResult(mlir::DictionaryAttr attributes, mlir::Value value);
  void addResult(llvm::StringRef edge, mlir::Value value);
  // Drops the result `from` and all results after it.
  void dropResults(unsigned from);
  // Removes the results that are these edges.
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
