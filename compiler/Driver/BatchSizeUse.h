// Which outputs are computed from the batch's size itself. Of n samples they are made by n alone, and not one by one:
//
//   x * shape(x)[0]      the import leaves a constant: 4 with a batch of 4, 8 with a batch of 8
//   x / sum(expand(1))   the same, where the import does not compute the sum
//
// So the same graph is imported with another batch, and the two modules are compared from their outputs on. A constant
// that only has the batch as a dimension has the same elements for the samples that both batches have.
//
// Where the two modules have unlike ops, nothing is known: the import has another form for some numbers (x ** 1 is x,
// x ** 2 is a product), and it unrolls loops over the batch.
#ifndef CLEAVE_COMPILER_DRIVER_BATCHSIZEUSE_H
#define CLEAVE_COMPILER_DRIVER_BATCHSIZEUSE_H

#include "compiler/Import/ONNX/Importer.h"

#include <map>
#include <string>

namespace cleave {

// Whether a value is made of the batch's size; the larger one holds for what is made of two values.
enum class SizeUse { No, Unknown, Yes };

// Of each output with a batch dimension, by name. The two are imports of one file that differ in the batch alone.
std::map<std::string, SizeUse> findBatchSizeUse(const ImportedModel &one, const ImportedModel &other);

} // namespace cleave

#endif
