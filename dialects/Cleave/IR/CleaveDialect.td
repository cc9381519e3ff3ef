#ifndef CLEAVE_DIALECT_TD
#define CLEAVE_DIALECT_TD

include "mlir/IR/OpBase.td"

def Cleave_Dialect : Dialect {
  let name = "cleave";
  let cppNamespace = "::cleave";
  let summary = "tensor programs of one device, and their training";
  let description = [{
    Programs of the *model*, *step* and *sharded* levels, and of kernels form, are written in this dialect. The importer makes
    it from ONNX, operator by operator. Planning lowers it to the `plan` dialect, which has addresses and streams, but no
    tensors. Values are ranked tensors of static shape. Their elements are f16, bf16, f32, f64, i8, u8, i16, i32, i64 or i1.
    All ops are pure except `cleave.read` and `cleave.write`, which alone have access to state.

    Elementwise operands have equal shapes: no op broadcasts implicitly, only `cleave.broadcast` does. Rationale.md says what
    holds at each level. The passes `verify-model`, `verify-step`, `verify-sharded` and `verify-kernels` check it.
    Attributes.md lists the attributes that one pass writes for another.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::shard::ShardDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  // These verifiers check the forms of the attributes in Attributes.def.
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

#endif
