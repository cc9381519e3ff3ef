// State, which persists between programs; constants; and kernels that consist of several ops.
#ifndef CLEAVE_STATEOPS_TD
#define CLEAVE_STATEOPS_TD
include "dialects/Cleave/IR/CleaveOpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Cleave_StateOp : Cleave_Op<"state", [Symbol]> {
  let summary = "declares a tensor that persists between programs";
  let description = [{
    States are parameters, buffers, gradients, optimizer state, scalars and large constants. `type` is the type of the whole
    tensor. `segments` says which tensors of the model the state has: one at offset 0, or several if the state is a bucket.
    From the sharded level on, `storage` is the sharding in which the state is stored. `slot` says which of a parameter's
    optimizer states this is ("exp_avg"). A `frozen` parameter is not trained.

    ```mlir
    cleave.state @w : tensor<128x64xf32> {role = #cleave.role<parameter>,
      segments = [#cleave.segment<"fc.weight", tensor<128x64xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
    ```

    Constraints:
    - There is at least one segment. Segments have the element type of `type`.
    - A state has one segment of its own type at offset 0, or it is a bucket, which has rank 1.
    - The segments of a bucket are in ascending order, do not overlap, are inside of the state, and begin at multiples of 128
      bytes.
    - `storage` lists axes for each dimension of `type`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Cleave_Tensor>:$type, Cleave_RoleAttr:$role,
                       TypedArrayAttrBase<Cleave_SegmentAttr, "segments">:$segments,
                       OptionalAttr<StrAttr>:$slot, OptionalAttr<Cleave_ShardingAttr>:$storage,
                       UnitAttr:$frozen);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return ::llvm::cast<::mlir::RankedTensorType>(getType()); }
  }];
}

def Cleave_ReadOp : Cleave_Op<"read", [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                       DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "the value of a state at this point of the program";
  let description = [{
    In normal form, all reads of a state in a function come before its write. Before partitioning the result has the state's
    type, and afterwards the type that one rank stores.
    ```mlir
    %w = cleave.read @w : tensor<128x64xf32>
    ```

    Constraints:
    - `state` names a `cleave.state` of the module.
    - The result has the type of the state, or the type that one rank stores.
  }];
  let arguments = (ins FlatSymbolRefAttr:$state);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$state attr-dict `:` type($result)";
}

def Cleave_WriteOp : Cleave_Op<"write", [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                         DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "gives a state a new value";
  let description = [{
    In normal form, a function has at most one write of a state.
    ```mlir
    cleave.write %new, @w : tensor<128x64xf32>
    ```

    Constraints:
    - `state` names a `cleave.state` of the module.
    - The value has the type of the state, or the type that one rank stores.
  }];
  let arguments = (ins Cleave_Tensor:$value, FlatSymbolRefAttr:$state);
  let assemblyFormat = "$value `,` $state attr-dict `:` type($value)";
}

def Cleave_ConstantOp : Cleave_Op<"constant", [ConstantLike, Pure, Cleave_Infer,
    DeclareOpInterfaceMethods<ShardingInterface, ["getLoopIteratorTypes", "getIndexingMaps"]>,
    DeclareOpInterfaceMethods<ComputeOpInterface, ["getComputeKind", "buildLinalg"]>, Cleave_DefaultCost]> {
  let summary = "a small constant tensor";
  let description = [{
    Splats and small tables, which become part of the code. A table of more than 4 KiB is a state of role `constant`.
    ```mlir
    %0 = cleave.constant dense<1.0> : tensor<8x4xf32>
    ```

    Constraints:
    - `value` is a ranked tensor, and the result has its type.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def Cleave_KernelOp : Cleave_Op<"kernel", [IsolatedFromAbove, RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "ops that are computed together, in one pass over memory";
  let description = [{
    `form-kernels` makes kernels from fusible ops, and the target's code generator compiles them. The operands are the inputs
    of the fusion group, and the results are the values that it writes to memory. Kernels of one `label` are equal and are
    compiled once (`name-kernels`). `tied` has, for each result, the index of the input whose buffer the result takes over, or
    -1. The kernel is the last reader of such an input, so it can write the result in place.
    ```mlir
    %y = cleave.kernel ins(%a, %b : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%x: tensor<4xf32>, %z: tensor<4xf32>):
      %0 = cleave.add %x, %z : tensor<4xf32>
      cleave.yield %0 : tensor<4xf32>
    }
    ```

    Constraints:
    - The body's arguments have the types of the inputs, and it yields values of the types of the results.
    - `tied` has one entry for each result: the index of an input, or -1.
  }];
  let arguments = (ins Variadic<Cleave_Tensor>:$inputs, OptionalAttr<StrAttr>:$label,
                       OptionalAttr<DenseI64ArrayAttr>:$tied);
  let results = (outs Variadic<Cleave_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{(`ins` `(` $inputs^ `:` type($inputs) `)`)? (`->` type($results)^)? attr-dict-with-keyword $body}];
  let hasVerifier = 1;
}

def Cleave_YieldOp : Cleave_Op<"yield", [Pure, Terminator, ReturnLike, HasParent<"KernelOp">]> {
  let summary = "the results of a kernel's body";
  let description = [{
    The op ends the body of a `cleave.kernel`. It has one operand for each result of the kernel, of the result's type.
    ```mlir
    %y = cleave.kernel ins(%a : tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%x: tensor<4xf32>):
      %0 = cleave.exp %x : tensor<4xf32>
      cleave.yield %0 : tensor<4xf32>
    }
    ```

    Constraints:
    - Its parent is a `cleave.kernel`.
    - The values have the types of the results of that kernel.
  }];
  let arguments = (ins Variadic<Cleave_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{}]>];
}
#endif
