// The ops of a plan's tables: header, regions, events, groups, states, kernels, programs, and the ports of programs.
#ifndef PLAN_TABLEOPS_TD
#define PLAN_TABLEOPS_TD

include "dialects/Plan/IR/PlanAttrs.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;
class Plan_Symbol<string mnemonic, list<Trait> traits = []> : Plan_Op<mnemonic, !listconcat([Symbol], traits)>;

def Plan_StaticTensor : TypeAttrOf<StaticShapeTensorOf<[AnyFloat, AnyInteger]>>;

def Plan_HeaderOp : Plan_Op<"header"> {
  let summary = "the target, mesh, streams and batch of the whole plan";
  let description = [{
    `build-plan` makes exactly one header for each module. Hashes are added when the plan is written. A plan for several kinds
    of ranks has one module for each kind, and the first module holds the others. `kind` is the name of the kind. `where` has
    its ranks: those whose coordinate on each named axis is in the range [begin, end).

    ```mlir
    plan.header target = "host:avx512" threads = 2 axes = ["dp"] sizes = [2] streams = ["compute", "reduce"] {data_axes = ["dp"], micro_batches = 4 : i64, batch = 8 : i64}
    ```

    **Constraints**
    - there are as many sizes as axes;
    - sizes are from 1 to 2^32 - 1;
    - `threads` is from 0 to 2^32 - 1;
    - there is at least one stream;
    - `micro_batches` is from 1 to 2^32 - 1;
    - every data axis is one of the axes;
    - `where` has ranges that are not empty, on axes of the header.

    ```mlir
    plan.header target = "host" threads = 2 axes = ["dp"] sizes = [4] streams = ["compute"] {kind = "worker", where = {dp = array<i64: 1, 4>}}
    ```
  }];
  let arguments = (ins StrAttr:$target, Plan_I64:$threads, StrArrayAttr:$axes, DenseI64ArrayAttr:$sizes, StrArrayAttr:$streams,
                       OptionalAttr<StrArrayAttr>:$data_axes, DefaultValuedAttr<Plan_I64, "1">:$micro_batches,
                       DefaultValuedAttr<Plan_I64, "0">:$batch, OptionalAttr<DictionaryAttr>:$options,
                       OptionalAttr<DictArrayAttr>:$param_groups, OptionalAttr<StrAttr>:$kind, OptionalAttr<DictionaryAttr>:$where);
  let assemblyFormat = [{`target` `=` $target `threads` `=` custom<I64>($threads) `axes` `=` $axes `sizes` `=` $sizes
                         `streams` `=` $streams attr-dict}];
  let hasVerifier = 1;
}

def Plan_RegionOp : Plan_Symbol<"region"> {
  let summary = "memory that is allocated once; each of its frames has `bytes` bytes";
  let description = [{
    The memory is the device's. With `host` it is the host's, and then only copies use it.

    ```mlir
    plan.region @input input bytes = 4096 frames = 4
    plan.region @host.persistent persistent host bytes = 4096 frames = 1
    plan.region @residual residual bytes = 4096 frames = 12 counter block
    ```

    **Constraints**
    - bytes is not negative, and frames is from 1 to 2^32 - 1.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_RegionKindAttr:$kind, UnitAttr:$host, Plan_I64:$bytes,
                       Plan_I64:$frames, DefaultValuedAttr<Plan_CounterAttr, "Counter::MicroBatch">:$counter);
  let assemblyFormat = [{$sym_name $kind (`host` $host^)? `bytes` `=` custom<I64>($bytes) `frames` `=` custom<I64>($frames)
                         (`counter` $counter^)? attr-dict}];
  let hasVerifier = 1;
}

def Plan_EventOp : Plan_Symbol<"event"> {
  let summary = "an event that programs share, in frames";
  let description = [{
    Frame f of the event is in place f modulo `frames`, as in a region.

    ```mlir
    plan.event @sent frames = 4
    plan.event @layer_done frames = 1 counter block
    ```

    **Constraints**
    - frames is from 1 to 2^32 - 1.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_I64:$frames,
                       DefaultValuedAttr<Plan_CounterAttr, "Counter::MicroBatch">:$counter);
  let assemblyFormat = "$sym_name `frames` `=` custom<I64>($frames) (`counter` $counter^)? attr-dict";
  let hasVerifier = 1;
}

def Plan_GroupOp : Plan_Symbol<"group"> {
  let summary = "ranks that differ only in their coordinates on these axes";
  let description = [{
    With `only`, the group has only the ranks at these coordinates of an axis.
    ```mlir
    plan.group @dp axes = ["dp"]
    plan.group @tied axes = ["pp"] only = {pp = array<i64: 0, 3>}
    ```

    **Constraints**
    - every axis is an axis of the header;
    - `only` has axes of the group, and their coordinates in ascending order.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axes, OptionalAttr<DictionaryAttr>:$only);
  let assemblyFormat = "$sym_name `axes` `=` $axes (`only` `=` $only^)? attr-dict";
  let extraClassDeclaration = [{
    // Returns the number of members; nullopt if the group names an axis that the header does not have.
    std::optional<int64_t> getRanks();
  }];
  let hasVerifier = 1;
}

def Plan_StateOp : Plan_Symbol<"state"> {
  let summary = "a tensor that persists, and its address";
  let description = [{
    The type is the flat type of the whole state. The state is cut evenly over `split_axes`, and a rank stores one part.

    ```mlir
    plan.state @w : tensor<8192xf32> parameter in "persistent" at 0
      segments = [#plan.segment<"fc.weight", tensor<128x64xf32>, offset = 0, group = 0, init = weights>]
    ```

    **Constraints**
    - the type has one dimension;
    - `split_axes` are axes of the header, and cut the state evenly;
    - `partial_axes` are axes of the header;
    - the region exists, and the rank's part is inside of it;
    - the rank's part has at most 2^63 - 1 bytes;
    - every segment is inside of the state;
    - the `group` of a segment is from 0 to 2^32 - 1;
    - the `axis` of a segment, if it is given, is an axis of the header.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_StaticTensor:$type, Plan_RoleAttr:$role, StrAttr:$region, Plan_I64:$offset,
                       TypedArrayAttrBase<Plan_SegmentAttr, "segments">:$segments, OptionalAttr<StrAttr>:$slot,
                       OptionalAttr<StrArrayAttr>:$split_axes, OptionalAttr<StrArrayAttr>:$partial_axes);
  let assemblyFormat = [{$sym_name `:` $type $role `in` $region `at` custom<I64>($offset) `segments` `=` $segments attr-dict}];
  let hasVerifier = 1;
}

def Plan_KernelOp : Plan_Symbol<"kernel"> {
  let summary = "an entry of the kernel table";
  let description = [{
    For a generated kernel, `name` is the symbol of its machine code. For other kernels, `name` is an entry of Kernels.def,
    `params` are its parameters, and the entry says which operands it has. `depends` has a mask of inputs for each result. It
    is given if some result does not depend on all inputs. `scratch` is the number of scratch bytes for which the library
    asked. `code` is a hash of what a generated kernel computes (dialects/Cleave/IR/KernelText.h).

    ```mlir
    plan.kernel @matmul_0 library "matmul" params = [0, 0, 1, 1, 1, 8, 16, 4, 0, 0, 0] {flops = 1024 : i64}
    plan.kernel @relu generated "relu" params = [] operands = [#plan.operand<f32, 64, read>, #plan.operand<f32, 64, write over 0>]
    ```

    **Constraints**
    - the extent is positive;
    - generated kernels have no parameters and no scratch;
    - the scratch of other kernels is not negative;
    - only generated kernels have `code`, `depends` and `operands`;
    - an operand that is over another one is written, the other is read, and both have the same number of bytes.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_KernelKindAttr:$kind, StrAttr:$name, DenseI64ArrayAttr:$params,
                       DefaultValuedAttr<Plan_I64, "1">:$extent, DefaultValuedAttr<Plan_I64, "0">:$flops,
                       DefaultValuedAttr<Plan_I64, "0">:$bytes, DefaultValuedAttr<Plan_I64, "0">:$scratch,
                       DefaultValuedAttr<Plan_I64, "0">:$code,
                       OptionalAttr<DenseI64ArrayAttr>:$depends,
                       OptionalAttr<TypedArrayAttrBase<Plan_OperandAttr, "operands">>:$operands);
  let assemblyFormat = "$sym_name $kind $name `params` `=` $params (`operands` `=` $operands^)? attr-dict";
  let extraClassDeclaration = [{
    // Returns the operands of a generated kernel; empty if the op has none.
    ::llvm::SmallVector<OperandAttr> getOperandList();
  }];
  let hasVerifier = 1;
}

def Plan_ProgramOp : Plan_Symbol<"program", [IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "instructions in issue order";
  let description = [{
    The body has ports and then instructions. The runtime starts an `entry`. Other programs are called. `peaks` has, for each
    kind of value, the most transient bytes that such values take at the same time. `meaning` has the value numbers of the
    expressions that an entry leaves in states and outputs. `expressions` has the low 32 bits of the numbers that its
    instructions may leave (compiler/Planning/Rationale.md).

    ```mlir
    plan.program @micro events = 0 {
    }
    ```

    **Constraints**
    - `events` is from 0 to 2^32 - 1;
    - the number of every own event is below `events`; the event is recorded at most once, and waited for only afterwards;
    - ports come before instructions, and the body has nothing else;
    - streams are streams of the header.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, UnitAttr:$entry, Plan_I64:$events, OptionalAttr<DictionaryAttr>:$peaks,
                       OptionalAttr<DictionaryAttr>:$meaning, OptionalAttr<DenseI32ArrayAttr>:$expressions);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{$sym_name (`entry` $entry^)? `events` `=` custom<I64>($events) attr-dict-with-keyword $body}];
  let hasRegionVerifier = 1; // it uses instructions, which must be verified before
}

class Plan_PortOp<string mnemonic> : Plan_Op<mnemonic, [HasParent<"ProgramOp">]> {
  let arguments = (ins StrAttr:$name, Plan_StaticTensor:$type, OptionalAttr<StrAttr>:$region,
                       DefaultValuedAttr<Plan_I64, "0">:$offset,
                       DefaultValuedAttr<Plan_I64, "-1">:$batch_dim, OptionalAttr<StrArrayAttr>:$split_axes);
  let assemblyFormat = "$name `:` $type (`in` $region^ `at` custom<I64>($offset))? attr-dict";
  let hasVerifier = 1;
}
def Plan_InputOp : Plan_PortOp<"input"> {
  let summary = "an input of an entry, and the address at which the host writes it";
  let description = [{
    The type is that of one rank and one micro-batch. All kinds of ranks declare the same ports. If the ranks of a kind have no
    bytes of a port, it has no region and no offset.
    ```mlir
    plan.input "tokens" : tensor<8x64xi64> in "input" at 0 {batch_dim = 0 : i64, split_axes = ["dp"]}
    plan.input "labels" : tensor<8x64xi64> {batch_dim = 0 : i64, split_axes = ["dp"]}
    ```

    **Constraints**
    - the region exists, and the port is inside of it;
    - `batch_dim` is a dimension, or -1;
    - `split_axes` are axes of the header;
    - the port, if it has a region, has at most 2^63 - 1 bytes.
  }];
}
def Plan_OutputOp : Plan_PortOp<"output"> {
  let summary = "an output of an entry, and the address at which the host reads it";
  let description = [{
    Like `plan.input`, but in a region of kind `output`.
    ```mlir
    plan.output "logits" : tensor<8x256xf32> in "output" at 0
    ```

    **Constraints**
    - the region exists, and the port is inside of it;
    - `batch_dim` is a dimension, or -1;
    - `split_axes` are axes of the header;
    - the port, if it has a region, has at most 2^63 - 1 bytes.
  }];
}

#endif
