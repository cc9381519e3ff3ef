// Finds the outputs that are computed from the batch size. They are not computed sample by sample, but depend on the
// number of samples n:
//
//   x * shape(x)[0]      the import leaves a constant: 4 with a batch of 4, 8 with a batch of 8
//   x / sum(expand(1))   the same, if the import does not compute the sum
//
// So the same graph is imported with another batch, and the two modules are compared from their outputs on. If the
// batch is only a dimension of a constant, the constant has the same elements for the samples of both batches.
//
// If the two modules have different ops, the result is unknown. The import has other forms for some numbers (x ** 1 is
// x, x ** 2 is a product), and it unrolls loops over the batch.
#ifndef CLEAVE_COMPILER_DRIVER_MODEL_BATCHSIZEUSE_H
#define CLEAVE_COMPILER_DRIVER_MODEL_BATCHSIZEUSE_H

#include "compiler/Import/ONNX/Importer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <string>

namespace cleave {

// Whether a value is computed from the batch size. If two values are combined, the larger one counts.
enum class SizeUse { No, Unknown, Yes };

// Returns the use of the batch size for each output with a batch dimension, by name. The two imports must be of one
// file, and differ only in the batch.
std::map<std::string, SizeUse> findBatchSizeUse(const ImportedModel &one, const ImportedModel &other);

// A value of one import, and the value of the other one that corresponds to it.
using Twins = std::pair<mlir::Value, mlir::Value>;

// Returns the use of the batch size for each group of values of `function`, in `one`: the largest of its values.
llvm::SmallVector<SizeUse> findBatchSizeUse(const ImportedModel &one, const ImportedModel &other,
                                            mlir::func::FuncOp function,
                                            llvm::ArrayRef<llvm::SmallVector<Twins>> groups);

} // namespace cleave

#endif
