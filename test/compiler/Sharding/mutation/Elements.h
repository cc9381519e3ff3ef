// Tensors of small programs, element by element, so that what repeats itself along any dimension is seen to.
//
// A tensor is the list of its elements' expressions, under one name: the hash of the list and of the type. What moves elements
// (broadcast, reshape, transpose, slice, concat) moves expressions; an element-wise op makes one of those at the same
// place; a sum makes one of those that it sums; each element of any other op's result is a function of all operands.
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

  // Whether no tensor of the module has more than 4,096 elements: others would take too long.
  static bool canHold(mlir::ModuleOp module);

  // The elements of a value; those of one that was not made here are parts of its name.
  List of(Id value, mlir::RankedTensorType type) const;
  Id name(const List &elements, mlir::RankedTensorType type);

  // The op's only result. `what` is a name of the op and its attributes, `operands` those of its operands.
  Id run(mlir::Operation *op, Id what, llvm::ArrayRef<Id> operands);
  // Part `index` of `count` along a dimension of a value of type `from`.
  Id part(Id value, mlir::RankedTensorType from, mlir::RankedTensorType type, int64_t dim, int64_t index);
  Id joined(llvm::ArrayRef<Id> values, llvm::ArrayRef<mlir::RankedTensorType> from, mlir::RankedTensorType type, int64_t dim);
  // One element of those at the same place.
  Id zipped(llvm::ArrayRef<Id> values, mlir::RankedTensorType type, llvm::function_ref<Id(List)> combine);

private:
  std::map<Id, List> lists_;
};

uint64_t mix(uint64_t a, uint64_t b);
// Whether each element of the result is made of those at the same place.
bool isElementwise(mlir::Operation *op);

} // namespace cleave::test

#endif
