// Which outputs are computed from the batch's size itself. Of n samples they are made by n alone, and not one by one:
//
//   x * shape(x)[0]      the import leaves a constant: 4 with a batch of 4, 8 with a batch of 8
//   x / sum(expand(1))   the same, where the import does not compute the sum
//
// So the same graph is imported with another batch, and the two modules are compared from their outputs on. A constant
// that only has the batch as a dimension has the same elements for the samples that both batches have.
#ifndef CLEAVE_COMPILER_DRIVER_BATCHSIZEUSE_H
#define CLEAVE_COMPILER_DRIVER_BATCHSIZEUSE_H

#include "compiler/Import/ONNX/Importer.h"

#include <set>
#include <string>

namespace cleave {

struct BatchSizeUse {
  std::set<std::string> outputs;
  // Whether all ops of one module have a counterpart in the other. What lies below an op without one is not known.
  bool isComplete = true;
};

// Of two imports of one file that differ in the batch alone.
BatchSizeUse findBatchSizeUse(const ImportedModel &one, const ImportedModel &other);

} // namespace cleave

#endif
