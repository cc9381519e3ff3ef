// Whether a constant of one import and that of another, which has a larger batch, are the same but for their size.
//
//   [5, 5] and [5, 5, 5, 5]                  the same: the batch is a dimension only
//   4 and 8, [4, 4] and [8, 8, 8, 8]         not the same: the batch's size is their content
//   [a, b | c, d] and [a, b, x, y | c, d, z, w]    the same: two groups, each with as many samples more
//
// Of large constants, which are states, the bytes of the weights are compared; of parameters, whether they are one.
#ifndef CLEAVE_COMPILER_DRIVER_CONSTANTCOMPARE_H
#define CLEAVE_COMPILER_DRIVER_CONSTANTCOMPARE_H

#include "compiler/Import/ONNX/Importer.h"
#include "dialects/Cleave/IR/Cleave.h"

namespace cleave {

// A dimension whose size differs counts (outer, samples), and `outer` is the same in both shapes. The index in `other`,
// row by row, of the element that has `index` in `one`. Nothing where `outer` does not divide the two sizes, or where
// `other` has fewer samples.
//
//   one [4], other [8], outer 2:   0 1 | 2 3   ->   0 1 . . | 4 5 . .
std::optional<int64_t> indexIn(llvm::ArrayRef<int64_t> other, llvm::ArrayRef<int64_t> one, int64_t outer,
                               int64_t index);

// The states of an import, by name.
class ImportedStates {
public:
  explicit ImportedStates(const ImportedModel &model);
  // The bytes of a large constant; nothing for other states.
  llvm::ArrayRef<char> constantBytes(llvm::StringRef state) const;

private:
  const ImportedModel &model;
  llvm::StringMap<StateOp> states;
};

// Whether two constants or states differ by more than their size. What only one of the two holds as bytes differs.
bool differsBesidesSize(mlir::Value one, const ImportedStates &oneStates, mlir::Value other,
                        const ImportedStates &otherStates);

} // namespace cleave

#endif
