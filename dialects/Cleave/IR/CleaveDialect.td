#ifndef CLEAVE_DIALECT_TD
#define CLEAVE_DIALECT_TD

include "mlir/IR/OpBase.td"

def Cleave_Dialect : Dialect {
  let name = "cleave";
  let cppNamespace = "::cleave";
  let summary = "tensor programs of one device, and their training";
  let description = [{
    The dialect of the *model*, *step* and *sharded* levels. It stands between ONNX (imported into it op by op) and the `plan`
    dialect (which knows addresses and streams, and no tensors). Values are statically shaped ranked tensors of f16, bf16, f32, f64,
    i8, u8, i16, i32, i64 and i1; ops are pure but for `cleave.read` and `cleave.write`, the only doors to state.

    Nothing broadcasts silently: `cleave.broadcast` is explicit, elementwise operands have equal shapes. What holds at each level
    is told in Rationale.md and checked by `verify-model`, `verify-step`, `verify-sharded` and `verify-kernels`. Attributes.md lists the
    attributes that one pass writes for another.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::shard::ShardDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  // The forms of the attributes in Attributes.def.
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

#endif
