// Maps (domain, operator, since-version) to a handler.
//
// ONNX versions an operator by the operator set in which its definition changed last. The entry with the greatest
// `since` that is not above the file's opset applies. Definitions older than opset 13 are entered as 13. Each family of
// operators adds its own entries. Inputs, outputs and attributes of a node are checked against the standard
// (OperatorSchemas.h) before its handler is called.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_OPERATORTABLE_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_OPERATORTABLE_H

#include "compiler/Import/ONNX/OpContext.h"

#include <map>

namespace cleave::onnx_import {

using Handler = LogicalResult (*)(OpContext &);
// Wraps handlers of operators with several steps: half precision is rounded once, at the end.
template <Handler handler> LogicalResult inF32(OpContext &op) {
  op.computeInF32();
  return handler(op);
}

class OperatorTable {
public:
  // Returns the table of all operators that the importer knows.
  static const OperatorTable &get();

  void add(llvm::StringRef name, int64_t since, Handler handler) { entries_[name.str()][since] = handler; }

  enum class Lookup { Found, UnknownDomain, UnknownOperator, NewerThanOpset };
  Lookup find(const FlatNode &node, Handler &handler) const;
  // Returns the first opset for which the operator is known. It must be in the table.
  int64_t firstVersion(llvm::StringRef name) const { return entries_.at(name.str()).begin()->first; }
  size_t size() const { return entries_.size(); }
  std::vector<std::string> names() const;

private:
  std::map<std::string, std::map<int64_t, Handler>> entries_; // operators of the default domain, by name and `since`
};

void addActivationOperators(OperatorTable &table);
void addAttentionOperators(OperatorTable &table);
void addBatchNormalizationOperators(OperatorTable &table);
void addConstantOperators(OperatorTable &table);
void addContractionOperators(OperatorTable &table);
void addConvolutionOperators(OperatorTable &table);
void addDropoutOperators(OperatorTable &table);
void addEinsumOperators(OperatorTable &table);
void addElementwiseOperators(OperatorTable &table);
void addIndexingOperators(OperatorTable &table);
void addLogicOperators(OperatorTable &table);
void addLossOperators(OperatorTable &table);
void addNormalizationOperators(OperatorTable &table);
void addPoolingOperators(OperatorTable &table);
void addRandomOperators(OperatorTable &table);
void addRecurrentOperators(OperatorTable &table);
void addReductionOperators(OperatorTable &table);
void addSequenceOperators(OperatorTable &table);
void addShapeOperators(OperatorTable &table);

} // namespace cleave::onnx_import

#endif
