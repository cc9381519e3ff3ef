// Finds where each rank's part begins, from the program that computes the origin: a few i64 that are computed from
// coordinates, constants and scalar states.
//
// The program is evaluated for ranks at chosen coordinates, by the ops' own folders. A state that is not a coordinate
// may have any number: it is the same on all ranks, and only differences between ranks show where parts begin. If an
// origin is k * c(dp) in dimension 0, and parts have k rows, then dp splits dimension 0.
//
// Coordinates are chosen so that sums of multiples of coordinates can be told from each other, and from other
// functions: the first rank, a few ranks along each axis, and the last rank. Their count does not depend on the number
// of ranks.
#ifndef CLEAVE_COMPILER_SHARDING_RANKORIGINS_H
#define CLEAVE_COMPILER_SHARDING_RANKORIGINS_H

#include "compiler/Sharding/Distribution.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

namespace cleave {

class RankOrigins {
public:
  // `symbols` is the symbol table of the module, and finds its states.
  RankOrigins(const mlir::SymbolTable &symbols, MeshAttr mesh);

  // Returns the distribution of a value of which each rank has `part`, beginning at `origin`. None if the origins are
  // not those of parts.
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
