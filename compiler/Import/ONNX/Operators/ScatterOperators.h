// Families of operators that scatter, rank and resize, and transposed convolutions. Each adds its own entries to the
// table.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_SCATTEROPERATORS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_SCATTEROPERATORS_H

namespace cleave::onnx_import {

class OperatorTable;

void addResizeOperators(OperatorTable &table);
void addScatterOperators(OperatorTable &table);
void addTopKOperators(OperatorTable &table);
void addTransposedConvolutionOperators(OperatorTable &table);

} // namespace cleave::onnx_import

#endif
