// What the tools find in the library: the dialect, and the ONNX operator that becomes its op.
//   cleave compile model.onnx -o model --load-pass-plugin libCustomOp.so
//   cleave-opt in.mlir --load-pass-plugin=libCustomOp.so --canonicalize
#include "Example.h"

#include "compiler/Import/Registry/OperatorRegistry.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

using namespace mlir;

namespace {

// com.example::Swish, version 1: y = x / (1 + e^(-beta x)); the attribute beta is 1 when it is left out.
LogicalResult importSwish(cleave::NodeImport &node) {
  Value x = node.input(0);
  if (!isa<FloatType>(getElementTypeOrSelf(x)))
    return node.fail("expected a floating-point input; got an integer one");
  OpBuilder &builder = node.builder();
  FloatAttr beta = builder.getF64FloatAttr(node.floatAttribute("beta").value_or(1.0));
  return node.result(0, example::SwishOp::create(builder, node.location(), x.getType(), x, beta));
}

void registerOperators() { cleave::registerOperator({"com.example", "Swish", /*since=*/1, 1, 1, importSwish}); }
void registerDialect(DialectRegistry *registry) { registry->insert<example::ExampleDialect>(); }

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "CustomOp", "0.1", registerOperators};
}

extern "C" LLVM_ATTRIBUTE_WEAK DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "CustomOp", "0.1", registerDialect};
}
