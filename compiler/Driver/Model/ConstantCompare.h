// Compares a constant of one import with that of another import, which has a larger batch: they are the same if only
// their sizes differ.
//
//   [5, 5] and [5, 5, 5, 5]                  the same: the batch is only a dimension
//   4 and 8, [4, 4] and [8, 8, 8, 8]         not the same: the elements depend on the batch size
//   [a, b | c, d] and [a, b, x, y | c, d, z, w]    the same: two groups, each with the same number of new samples
//
// Large constants are states, and the bytes of their weights are compared. Parameters are the same if they are one
// state.
#ifndef CLEAVE_COMPILER_DRIVER_MODEL_CONSTANTCOMPARE_H
#define CLEAVE_COMPILER_DRIVER_MODEL_CONSTANTCOMPARE_H

#include "compiler/Import/ONNX/Importer.h"
#include "dialects/Cleave/IR/Cleave.h"

namespace cleave {

// Maps an index from `one` to `other`. Every dimension whose size differs is a product (outer, samples), with the same
// `outer` in both shapes. Returns the row-major index in `other` of the element that has `index` in `one`. Returns
// nullopt if `outer` does not divide both sizes, or if `other` has fewer samples.
//
//   one [4], other [8], outer 2:   0 1 | 2 3   ->   0 1 . . | 4 5 . .
std::optional<int64_t> indexIn(llvm::ArrayRef<int64_t> other, llvm::ArrayRef<int64_t> one, int64_t outer,
                               int64_t index);

// The states of an import, by name.
class ImportedStates {
public:
  explicit ImportedStates(const ImportedModel &model);
  // Returns the bytes of a large constant, or an empty array for other states.
  llvm::ArrayRef<char> constantBytes(llvm::StringRef state) const;

private:
  const ImportedModel &model;
  llvm::StringMap<StateOp> states;
};

// True if two constants or states differ in more than their size. If only one of the two is known by its bytes, they
// differ.
bool differsBesidesSize(mlir::Value one, const ImportedStates &oneStates, mlir::Value other,
                        const ImportedStates &otherStates);

} // namespace cleave

#endif
