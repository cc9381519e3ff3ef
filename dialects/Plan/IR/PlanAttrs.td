#ifndef PLAN_ATTRS_TD
#define PLAN_ATTRS_TD

include "dialects/Plan/IR/PlanDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

// Upstream's I64Attr returns unsigned numbers.
def Plan_I64 : TypedSignlessIntegerAttrBase<I64, "int64_t", "64-bit signed integer"> {
  let convertFromStorage = "$_self.getInt()";
}

defvar Plan_HasReasonTexts = CPred<[{::llvm::all_of(::llvm::ArrayRef<::llvm::StringRef>{"tensor", "made", "used"}, [&](::llvm::StringRef key) {
    return ::llvm::cast<::mlir::DictionaryAttr>($_self).getAs<::mlir::StringAttr>(key) != nullptr;
  })}]>;
def Plan_Reason : DictionaryAttrBase<And<[CPred<"::llvm::isa<::mlir::DictionaryAttr>($_self)">, Plan_HasReasonTexts]>,
                                     "dictionary of the texts tensor, made and used">;

// The cases of every enum have the same numbers as in Plan.fbs. test/dialects/Plan compares them.
class Plan_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::cleave::plan";
  let genSpecializedAttr = 0;
}
class Plan_EnumAttr<EnumInfo info, string mnemonic> : EnumAttr<Plan_Dialect, info, mnemonic> {
  let assemblyFormat = "$value";
}

def Plan_Access : Plan_Enum<"Access", "what an instruction does with a buffer", [
  I32EnumAttrCase<"Read", 0, "read">, I32EnumAttrCase<"Write", 1, "write">, I32EnumAttrCase<"ReadWrite", 2, "read_write">]>;

def Plan_RegionKind : Plan_Enum<"RegionKind", "what a region's bytes live for", [
  I32EnumAttrCase<"Persistent", 0, "persistent">, I32EnumAttrCase<"Input", 1, "input">, I32EnumAttrCase<"Output", 2, "output">,
  I32EnumAttrCase<"Residual", 3, "residual">, I32EnumAttrCase<"Transient", 4, "transient">,
  I32EnumAttrCase<"Communication", 5, "communication">, I32EnumAttrCase<"Workspace", 6, "workspace">,
  I32EnumAttrCase<"Snapshot", 7, "snapshot">]>;
def Plan_RegionKindAttr : Plan_EnumAttr<Plan_RegionKind, "region_kind"> {
  let description = [{
    Example: the second `persistent` in `plan.region @persistent persistent bytes = 32768 frames = 1`.
  }];
}

def Plan_Counter : Plan_Enum<"Counter", "what a running program counts by", [
  I32EnumAttrCase<"MicroBatch", 0, "micro_batch">, I32EnumAttrCase<"Block", 1, "block">, I32EnumAttrCase<"Time", 2, "time">]>;
def Plan_CounterAttr : Plan_EnumAttr<Plan_Counter, "counter"> {
  let description = [{
    The counter whose value is the frame of a region or of an event. Example: `block` in
    `plan.region @residual residual bytes = 128 frames = 12 counter block`.
  }];
}

def Plan_Role : Plan_Enum<"Role", "what a state is for", [
  I32EnumAttrCase<"Parameter", 0, "parameter">, I32EnumAttrCase<"Buffer", 1, "buffer">,
  I32EnumAttrCase<"Gradient", 2, "gradient">, I32EnumAttrCase<"Optimizer", 3, "optimizer">,
  I32EnumAttrCase<"Scalar", 4, "scalar">, I32EnumAttrCase<"Constant", 5, "constant">,
  I32EnumAttrCase<"Coordinate", 6, "coordinate">]>;
def Plan_RoleAttr : Plan_EnumAttr<Plan_Role, "role"> {
  let description = [{
    The purpose of a `plan.state`. Example: `parameter` in `plan.state @w : tensor<8192xf32> parameter in "persistent" at 0 ...`.
  }];
}

def Plan_InitKind : Plan_Enum<"InitKind", "how a tensor begins", [
  I32EnumAttrCase<"Zeros", 0, "zeros">, I32EnumAttrCase<"Constant", 1, "constant">,
  I32EnumAttrCase<"Weights", 2, "weights">, I32EnumAttrCase<"Coordinate", 3, "coordinate">]>;

def Plan_KernelKind : Plan_Enum<"KernelKind", "who implements a kernel", [
  I32EnumAttrCase<"Generated", 0, "generated">, I32EnumAttrCase<"Library", 1, "library">,
  I32EnumAttrCase<"Builtin", 2, "builtin">]>;
def Plan_KernelKindAttr : Plan_EnumAttr<Plan_KernelKind, "kernel_kind"> {
  let description = [{
    Example: `library` in `plan.kernel @matmul_0 library "matmul" params = [...]`.
  }];
}

def Plan_Reduction : Plan_Enum<"Reduction", "the combining function of a collective", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">]>;
def Plan_ReductionAttr : Plan_EnumAttr<Plan_Reduction, "reduction"> {
  let description = [{
    How a collective combines the elements of its ranks. Example: `sum` in an all-reduce of gradients.
  }];
}

def Plan_Algorithm : Plan_Enum<"Algorithm", "how a collective moves its bytes", [I32EnumAttrCase<"Ring", 0, "ring">]>;
def Plan_AlgorithmAttr : Plan_EnumAttr<Plan_Algorithm, "algorithm"> {
  let description = [{
    The algorithm decides the order of summation and the bytes that are sent. Example: `ring` in
    `group @dp dtype f32 ring count = 16`.
  }];
}

def Plan_BufferAttr : AttrDef<Plan_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "a byte range of a region, and what is done with it";
  let description = [{
    Examples:
    - `#plan.buffer<"transient", 1024, 4096, read>` is bytes [1024, 5120) of region `@transient`. If the region has several
      frames, the bytes are in the frame of the running program.
    - `#plan.buffer<"residual"[-1], 0, 4096, read>` is in the frame before that one.
    - `#plan.buffer<"transient", 1024, 512, write, share of @group.fsdp by 512>` is a *share*: each rank of the group has other
      bytes. Those of a rank begin `stride` bytes (512) after those of the rank before it.

    **Constraints**
    - offset and bytes are not negative;
    - the last byte is below 2^63 - 1;
    - the shares of two ranks do not overlap;
    - the frame fits into 16 bits.
  }];
  let parameters = (ins "::mlir::StringAttr":$region, "int64_t":$offset, "int64_t":$bytes, "Access":$access,
                        OptionalParameter<"::mlir::FlatSymbolRefAttr">:$group, DefaultValuedParameter<"int64_t", "0">:$stride,
                        DefaultValuedParameter<"int64_t", "0">:$frame);
  let assemblyFormat = "`<` $region (`[` $frame^ `]`)? `,` $offset `,` $bytes `,` $access (`,` `share` `of` $group^ `by` $stride)? `>`";
  let genVerifyDecl = 1;
}

def Plan_OperandAttr : AttrDef<Plan_Dialect, "Operand"> {
  let mnemonic = "operand";
  let summary = "what a generated kernel does with one of its buffers";
  let description = [{
    Examples:
    - `#plan.operand<f32, 4096, read>`: the code reads 4096 bytes of the buffer as elements of f32. The address of the buffer
      must be a multiple of an element's size.
    - `#plan.operand<f32, 4096, write over 0>`: the code writes this buffer over its operand 0, element by element. The two
      operands are one buffer.

    **Constraints**
    - bytes is not negative.
  }];
  let parameters = (ins "::mlir::Type":$element, "int64_t":$bytes, "Access":$access,
                        DefaultValuedParameter<"int64_t", "-1">:$over);
  let assemblyFormat = "`<` $element `,` $bytes `,` $access (`over` $over^)? `>`";
  let genVerifyDecl = 1;
}

def Plan_SegmentAttr : AttrDef<Plan_Dialect, "Segment"> {
  let mnemonic = "segment";
  let summary = "one logical tensor inside a state";
  let description = [{
    Example: `#plan.segment<"fc.bias", tensor<64xf32>, offset = 8192, group = 1, init = weights, source = "fc.bias">`. `offset`
    counts elements. `group` is the number of the parameter group. `axis` is the name of a coordinate's mesh axis. `aliases`
    are other names of the same tensor. The `plan.state` that has the segment checks it.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::RankedTensorType":$type, "int64_t":$offset, "int64_t":$group,
                        "InitKind":$init, OptionalParameter<"::mlir::StringAttr">:$source,
                        OptionalParameter<"::mlir::FloatAttr">:$value, OptionalParameter<"::mlir::StringAttr">:$axis,
                        OptionalParameter<"::mlir::ArrayAttr">:$aliases);
  let assemblyFormat = [{`<` $name `,` $type `,` struct($offset, $group, $init, $source, $value, $axis, $aliases) `>`}];
}

#endif
