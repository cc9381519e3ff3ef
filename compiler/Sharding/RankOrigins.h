// Finds where each rank's part begins, from the program that computes the origin: a few i64 that are computed from
// coordinates, constants and scalar states.
//
// The program is evaluated for ranks at chosen coordinates, by the ops' own folders. A state that is not a coordinate
// may have any number: it is the same on all ranks, and only differences between ranks show where parts begin. Five
// numbers are tried for each such element, which must give the same parts. If an origin is k * c(dp) in dimension 0, and
// parts have k rows, then dp splits dimension 0.
//
// With up to 64 ranks, the program is evaluated for each of them, so the result holds for all ranks. With more, it is
// evaluated for the ranks along each axis (for four of them if an axis has more than 64) and for the last rank. This
// tells sums of multiples of coordinates from each other. It does not tell such a sum from a function that has the same
// values at these ranks and other values elsewhere; no pass of Cleave makes one.
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

  // With the numbers of one round for the values that are the same on all ranks.
  std::optional<Distribution> findHere(mlir::Value origin, mlir::RankedTensorType part);
  // The numbers of a state, a read or an argument, `value`, in this round. No two elements of values have the same.
  mlir::DenseElementsAttr sharedNumbers(const void *value, mlir::RankedTensorType type);
  void addAllPoints();
  void addChosenPoints();
  mlir::DenseElementsAttr evaluate(mlir::Value value, const Coordinates &at, Known &known, unsigned depth = 0);
  mlir::DenseElementsAttr evaluateOp(mlir::OpResult result, const Coordinates &at, Known &known, unsigned depth);
  mlir::DenseElementsAttr evaluateArgument(mlir::BlockArgument argument, const Coordinates &at, Known &known,
                                           unsigned depth);
  mlir::DenseElementsAttr evaluateRead(ReadOp read, const Coordinates &at);
  std::optional<llvm::SmallVector<int64_t>> numbersAt(mlir::Value origin, const Coordinates &at);

  const mlir::SymbolTable &symbols;
  MeshAttr mesh;
  llvm::SmallVector<Coordinates> points;
  llvm::DenseSet<mlir::Operation *> written; // states
  // Values that are the same on all ranks, with the number of elements of those that were met before.
  llvm::DenseMap<const void *, size_t> sharedValues;
  size_t sharedCount = 0, round = 0;
};

} // namespace cleave

#endif
