#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "compiler/Import/ONNX/Operators/CumulativeOperators.h"
#include "compiler/Import/ONNX/Operators/DeterminantOperators.h"
#include "compiler/Import/ONNX/Operators/FourierOperators.h"
#include "compiler/Import/ONNX/Operators/GridSampleOperators.h"
#include "compiler/Import/ONNX/Operators/HyperbolicOperators.h"
#include "compiler/Import/ONNX/Operators/QuantizationOperators.h"
#include "compiler/Import/ONNX/Operators/RegionOperators.h"
#include "compiler/Import/ONNX/Operators/ScatterOperators.h"
#include "compiler/Import/ONNX/Operators/SelectionOperators.h"
#include "compiler/Import/ONNX/Operators/SignalOperators.h"
#include "compiler/Import/ONNX/Operators/UnpoolingOperators.h"

using namespace cleave::onnx_import;

const OperatorTable &OperatorTable::get() {
  static const OperatorTable table = [] {
    OperatorTable result;
    addActivationOperators(result);
    addAttentionOperators(result);
    addBatchNormalizationOperators(result);
    addConstantOperators(result);
    addContractionOperators(result);
    addConvolutionOperators(result);
    addCumulativeOperators(result);
    addDeterminantOperators(result);
    addDropoutOperators(result);
    addEinsumOperators(result);
    addElementwiseOperators(result);
    addFourierOperators(result);
    addGridSampleOperators(result);
    addHyperbolicOperators(result);
    addIndexingOperators(result);
    addLogicOperators(result);
    addLossOperators(result);
    addNormalizationOperators(result);
    addPoolingOperators(result);
    addQuantizationOperators(result);
    addRandomOperators(result);
    addRecurrentOperators(result);
    addReductionOperators(result);
    addRegionOperators(result);
    addResizeOperators(result);
    addScatterOperators(result);
    addSelectionOperators(result);
    addSequenceOperators(result);
    addShapeOperators(result);
    addSignalOperators(result);
    addTopKOperators(result);
    addTransposedConvolutionOperators(result);
    addUnpoolingOperators(result);
    return result;
  }();
  return table;
}

OperatorTable::Lookup OperatorTable::find(const FlatNode &node, Handler &handler) const {
  if (!canonicalDomain(node.proto->domain()).empty())
    return Lookup::UnknownDomain;
  auto versions = entries_.find(node.proto->op_type());
  if (versions == entries_.end())
    return Lookup::UnknownOperator;
  auto above = versions->second.upper_bound(node.opset());
  if (above == versions->second.begin())
    return Lookup::NewerThanOpset;
  handler = std::prev(above)->second;
  return Lookup::Found;
}

std::vector<std::string> OperatorTable::names() const {
  std::vector<std::string> names;
  for (const auto &entry : entries_)
    names.push_back(entry.first);
  return names;
}
