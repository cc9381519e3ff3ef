// Tensors of small programs, element by element, so that repetitions along any dimension are visible.
//
// A tensor is the list of its elements' expressions. Its name is the hash of the list and of the type. An op that moves
// elements (broadcast, reshape, transpose, slice, concat) moves expressions. An element-wise op makes an expression
// from those at the same index. A sum makes one from those that it sums. For any other op, each element of the result
// is a function of all operands.
#ifndef CLEAVE_TEST_COMPILER_SHARDING_MUTATION_ELEMENTS_H
#define CLEAVE_TEST_COMPILER_SHARDING_MUTATION_ELEMENTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

#include <functional>
#include <map>
#include <vector>

namespace cleave::test {

class Elements {
public:
  using Id = uint64_t;
  using List = std::vector<Id>;

  // True if no tensor of the module has more than 4,096 elements. Others would take too long.
  static bool canHold(mlir::ModuleOp module);

  // The elements of a value. If the value was not made here, they are parts of its name.
  List of(Id value, mlir::RankedTensorType type) const;
  Id name(const List &elements, mlir::RankedTensorType type);

  // The op's only result. `what` is the name of the op with its attributes, `operands` are the names of its operands.
  Id run(mlir::Operation *op, Id what, llvm::ArrayRef<Id> operands);
  // Part `index` along dimension `dim` of a value of type `from`. The part has type `type`.
  Id part(Id value, mlir::RankedTensorType from, mlir::RankedTensorType type, int64_t dim, int64_t index);
  Id joined(llvm::ArrayRef<Id> values, llvm::ArrayRef<mlir::RankedTensorType> from, mlir::RankedTensorType type, int64_t dim);
  // Each element combines those at the same index of the values.
  Id zipped(llvm::ArrayRef<Id> values, mlir::RankedTensorType type, llvm::function_ref<Id(List)> combine);

private:
  std::map<Id, List> lists_;
};

uint64_t mix(uint64_t a, uint64_t b);
// True if each element of the result depends only on the operands' elements at the same index.
bool isElementwise(mlir::Operation *op);

} // namespace cleave::test

#endif
