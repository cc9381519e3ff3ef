// Finds where the forward pass uses each parameter: in which block, or between which blocks. An op on parameters alone
// (a transposed or narrowed matrix) is not a use. The op in which its result meets an activation is one.
#ifndef CLEAVE_COMPILER_TRAINING_BUCKETS_PARAMETERUSES_H
#define CLEAVE_COMPILER_TRAINING_BUCKETS_PARAMETERUSES_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>
#include <limits>

namespace cleave {

class ParameterUses {
public:
  // Positions are numbered along the forward pass: 2b + 1 is block b, and 2b is the position before it.
  struct Span {
    int64_t firstPosition = std::numeric_limits<int64_t>::max(), lastPosition = -1;
    int64_t order = std::numeric_limits<int64_t>::max(); // of the first using op

    void join(const Span &other) {
      firstPosition = std::min(firstPosition, other.firstPosition);
      lastPosition = std::max(lastPosition, other.lastPosition);
      order = std::min(order, other.order);
    }
  };

  // `chunks` are in the order of the forward pass, and have the marks of find-blocks. Ops of a backward pass do not
  // count.
  explicit ParameterUses(llvm::ArrayRef<mlir::func::FuncOp> chunks);

  // Null for a parameter that no op uses.
  const Span *find(llvm::StringRef state) const {
    auto found = spans.find(state);
    return found == spans.end() ? nullptr : &found->second;
  }

private:
  void add(mlir::func::FuncOp function);

  llvm::StringMap<Span> spans;
  int64_t begun = 0, ordered = 0; // blocks and ops so far
};

// The values that are made of states and constants alone. add() must see the ops in their order.
class StateValues {
public:
  bool contains(mlir::Value value) const { return made.contains(value.getDefiningOp()); }
  void add(mlir::Operation *op);

private:
  llvm::DenseSet<mlir::Operation *> made;
};

} // namespace cleave

#endif
