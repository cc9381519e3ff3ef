// A BatchNormalization that a module applies several times, in a file of torch.export.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_SHAREDSTATISTICS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_SHAREDSTATISTICS_H

#include "compiler/Import/ONNX/File/FlatGraph.h"

namespace cleave::onnx_import {

// Makes each use of a layer read the layer's own running statistics. torch.export gives the second use the statistics
// that the first one has updated, but it writes them as the old ones, by an Identity:
//
//   BatchNormalization(x, scale, bias, running_mean, running_var) -> y
//   Identity(running_mean) -> getitem_3
//   BatchNormalization(z, scale, bias, getitem_3, getitem_4) -> w
//
// The second use would otherwise be taken for another layer, whose statistics the graph computes.
void shareStatistics(FlatGraph &graph);

} // namespace cleave::onnx_import

#endif
