// A dialect of one's own with one op, which tells the five things that every op of Cleave tells.
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
    Stands beside the `cleave` dialect from import to code generation: its ops come from ONNX operators of the domain
    `com.example`, and go when kernels are lowered to linalg.
  }];
  // What its ops build: gradients of cleave ops, bodies of linalg and scalar ones.
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
