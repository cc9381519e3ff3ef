// A dialect of your own with one op. The op answers the five questions that every op of Cleave answers.
#ifndef EXAMPLE_OPS_TD
#define EXAMPLE_OPS_TD

include "dialects/Cleave/IR/CleaveInterfaces.td"
include "mlir/Dialect/Shard/Interfaces/ShardingInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Example_Dialect : Dialect {
  let name = "example";
  let cppNamespace = "::example";
  let summary = "operators that Cleave does not have";
  let description = [{
    The ops of this dialect are used together with those of the `cleave` dialect, from import to code generation. The importer
    makes them from ONNX operators of the domain `com.example`. They are gone when kernels are lowered to linalg.
  }];
  // The dialects of the ops that its ops build: cleave ops for gradients, and linalg and scalar ops for bodies.
  let dependentDialects = ["::cleave::CleaveDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
}

def Example_SwishOp : Op<Example_Dialect, "swish", [
    Pure,
    SameOperandsAndResultType,                                                           // 1. its result types
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,                                // 2. its gradient
    DeclareOpInterfaceMethods<ShardingInterface, [
      "getLoopIteratorTypes", "getIndexingMaps", "getReductionLoopIteratorKinds"]>,      // 3. how it may be split
    DeclareOpInterfaceMethods<CostOpInterface, ["getCost"]>,                             // 4. what it costs
    DeclareOpInterfaceMethods<ComputeOpInterface, ["getComputeKind", "buildLinalg"]>]> { // 5. how it is computed
  let summary = "element-wise x / (1 + e^(-beta x))";
  let description = [{
    ```mlir
    %y = example.swish %x {beta = 1.5 : f64} : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins StaticShapeTensorOf<[AnyFloat]>:$x, F64Attr:$beta);
  let results = (outs StaticShapeTensorOf<[AnyFloat]>:$y);
  let assemblyFormat = "$x attr-dict `:` type($y)";
}

#endif
