// The place of each rank's part, read off from the program that computes it: a few i64 made of coordinates, constants
// and scalar states.
//
// The program is evaluated for ranks at chosen coordinates, by the ops' own folders. Of a state that is no coordinate
// any number will do: it is the same on all ranks, and only differences between ranks tell where parts lie. An origin
// that is k * c(dp) in dimension 0, of parts with k rows, says that dp splits dimension 0.
//
// Coordinates are chosen so that sums of multiples of coordinates are told apart, and from other functions: the first
// rank, a few along each axis, and the last rank. How many does not depend on the number of ranks.
#ifndef CLEAVE_COMPILER_SHARDING_RANKORIGINS_H
#define CLEAVE_COMPILER_SHARDING_RANKORIGINS_H

#include "compiler/Sharding/Distribution.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

namespace cleave {

class RankOrigins {
public:
  // `symbols` are the module's, for its states.
  RankOrigins(const mlir::SymbolTable &symbols, MeshAttr mesh);

  // How a value lies of which each rank has `part`, beginning at `origin`. None where that is no place of parts.
  std::optional<Distribution> find(mlir::Value origin, mlir::RankedTensorType part);

private:
  using Coordinates = llvm::SmallVector<int64_t, 4>;
  using Known = llvm::DenseMap<mlir::Value, mlir::DenseElementsAttr>;

  mlir::DenseElementsAttr evaluate(mlir::Value value, const Coordinates &at, Known &known, unsigned depth = 0);
  mlir::DenseElementsAttr evaluateOp(mlir::OpResult result, const Coordinates &at, Known &known, unsigned depth);
  mlir::DenseElementsAttr evaluateArgument(mlir::BlockArgument argument, const Coordinates &at, Known &known,
                                           unsigned depth);
  mlir::DenseElementsAttr evaluateRead(ReadOp read, const Coordinates &at);
  std::optional<llvm::SmallVector<int64_t>> numbersAt(mlir::Value origin, const Coordinates &at);

  const mlir::SymbolTable &symbols;
  MeshAttr mesh;
  llvm::SmallVector<Coordinates> points;
};

} // namespace cleave

#endif
