// The tables of a plan: header, regions, groups, states, kernels, programs and their ports.
#ifndef PLAN_TABLEOPS_TD
#define PLAN_TABLEOPS_TD

include "dialects/Plan/IR/PlanAttrs.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;
class Plan_Symbol<string mnemonic, list<Trait> traits = []> : Plan_Op<mnemonic, !listconcat([Symbol], traits)>;

def Plan_StaticTensor : TypeAttrOf<StaticShapeTensorOf<[AnyFloat, AnyInteger]>>;

def Plan_HeaderOp : Plan_Op<"header"> {
  let summary = "what the whole plan is made for";
  let description = [{
    Made by `build-plan`, exactly one per module. Hashes are added when the plan is written. A plan for several kinds of ranks is one module a kind: the
    first holds the others. `kind` is its name, `where` its ranks: those whose coordinate on each axis named lies in the range [begin, end).

    ```mlir
    plan.header target = "host:avx512" threads = 2 axes = ["dp"] sizes = [2] streams = ["compute", "reduce"] {data_axes = ["dp"], micro_batches = 4 : i64, batch = 8 : i64}
    ```

    **Constraints**
    - axes and sizes are equally many, sizes are positive;
    - there is a stream;
    - `micro_batches` is positive;
    - every data axis is an axis;
    - `where` gives a range that is not empty on axes of the header.

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
  let summary = "memory allocated once, in frames of `bytes`";
  let description = [{
    Of the device, or of the host where it says so: then only copies use it.

    ```mlir
    plan.region @input input bytes = 4096 frames = 4
    plan.region @host.persistent persistent host bytes = 4096 frames = 1
    plan.region @residual residual bytes = 4096 frames = 12 counter block
    ```

    **Constraints**
    - bytes is not negative, frames is positive.
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
    Frame f of it is in place f modulo `frames`, as that of a region is.

    ```mlir
    plan.event @sent frames = 4
    plan.event @layer_done frames = 1 counter block
    ```

    **Constraints**
    - frames is positive.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_I64:$frames,
                       DefaultValuedAttr<Plan_CounterAttr, "Counter::MicroBatch">:$counter);
  let assemblyFormat = "$sym_name `frames` `=` custom<I64>($frames) (`counter` $counter^)? attr-dict";
  let hasVerifier = 1;
}

def Plan_GroupOp : Plan_Symbol<"group"> {
  let summary = "ranks that differ only in their coordinates on these axes";
  let description = [{
    With `only`, those at some coordinates of an axis alone.
    ```mlir
    plan.group @dp axes = ["dp"]
    plan.group @tied axes = ["pp"] only = {pp = array<i64: 0, 3>}
    ```

    **Constraints**
    - every axis is an axis of the header;
    - `only` has axes of the group, and coordinates of them that ascend.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axes, OptionalAttr<DictionaryAttr>:$only);
  let assemblyFormat = "$sym_name `axes` `=` $axes (`only` `=` $only^)? attr-dict";
  let extraClassDeclaration = [{
    // The members; nullopt where it names what is no axis.
    std::optional<int64_t> getRanks();
  }];
  let hasVerifier = 1;
}

def Plan_StateOp : Plan_Symbol<"state"> {
  let summary = "a tensor that persists, and where it lies";
  let description = [{
    The type is the whole state's, flat. Over `split_axes` it is cut evenly.

    ```mlir
    plan.state @w : tensor<8192xf32> parameter in "persistent" at 0
      segments = [#plan.segment<"fc.weight", tensor<128x64xf32>, offset = 0, group = 0, init = weights>]
    ```

    **Constraints**
    - the type has one dimension;
    - the region exists and holds the rank's part;
    - every segment lies inside the state.
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
    `name` is the machine code's symbol for generated kernels, else a name of Kernels.def, whose parameters `params` are and which says what
    its operands are. `depends` has a mask of inputs for each result, where some result does not depend on all of them. `scratch` is how many
    bytes a library kernel asked for.

    ```mlir
    plan.kernel @matmul_0 library "matmul" params = [0, 0, 1, 1, 1, 8, 16, 4, 0, 0, 0] {flops = 1024 : i64}
    plan.kernel @relu generated "relu" params = [] operands = [#plan.operand<f32, 64, read>, #plan.operand<f32, 64, write over 0>]
    ```

    **Constraints**
    - the extent is positive;
    - generated kernels have no parameters and no scratch;
    - only generated kernels say what their results depend on, and what their operands are;
    - an operand that is over another is written, the other read, and both have equally many bytes.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_KernelKindAttr:$kind, StrAttr:$name, DenseI64ArrayAttr:$params,
                       DefaultValuedAttr<Plan_I64, "1">:$extent, DefaultValuedAttr<Plan_I64, "0">:$flops,
                       DefaultValuedAttr<Plan_I64, "0">:$bytes, DefaultValuedAttr<Plan_I64, "0">:$scratch,
                       OptionalAttr<DenseI64ArrayAttr>:$depends,
                       OptionalAttr<TypedArrayAttrBase<Plan_OperandAttr, "operands">>:$operands);
  let assemblyFormat = "$sym_name $kind $name `params` `=` $params (`operands` `=` $operands^)? attr-dict";
  let extraClassDeclaration = [{
    // The operands of a generated kernel; none where nothing says so.
    ::llvm::SmallVector<OperandAttr> getOperandList();
  }];
  let hasVerifier = 1;
}

def Plan_ProgramOp : Plan_Symbol<"program", [IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "instructions in issue order";
  let description = [{
    Ports first, then instructions. An entry is started by the runtime; other programs are called. `peaks` says how many transient bytes
    each kind of value takes at most at the same time. `meaning` has the numbers of the expressions that an entry leaves in states and outputs,
    `expressions` the low halves of those that its instructions may leave (compiler/Planning/Rationale.md).

    ```mlir
    plan.program @micro events = 0 {
    }
    ```

    **Constraints**
    - every event is below `events`, recorded at most once, and waited for only after it is recorded;
    - ports stand before instructions, and nothing else is in the body;
    - streams are streams of the header.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, UnitAttr:$entry, Plan_I64:$events, OptionalAttr<DictionaryAttr>:$peaks,
                       OptionalAttr<DictionaryAttr>:$meaning, OptionalAttr<DenseI32ArrayAttr>:$expressions);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{$sym_name (`entry` $entry^)? `events` `=` custom<I64>($events) attr-dict-with-keyword $body}];
  let hasRegionVerifier = 1; // it asks instructions, which are verified first
}

class Plan_PortOp<string mnemonic> : Plan_Op<mnemonic, [HasParent<"ProgramOp">]> {
  let arguments = (ins StrAttr:$name, Plan_StaticTensor:$type, OptionalAttr<StrAttr>:$region,
                       DefaultValuedAttr<Plan_I64, "0">:$offset,
                       DefaultValuedAttr<Plan_I64, "-1">:$batch_dim, OptionalAttr<StrArrayAttr>:$split_axes);
  let assemblyFormat = "$name `:` $type (`in` $region^ `at` custom<I64>($offset))? attr-dict";
  let hasVerifier = 1;
}
def Plan_InputOp : Plan_PortOp<"input"> {
  let summary = "where the host writes an input";
  let description = [{
    The type is what one rank holds for one micro-batch. All kinds of ranks declare the same ports; those of a kind that has no bytes
    of one do not say where it lies.
    ```mlir
    plan.input "tokens" : tensor<8x64xi64> in "input" at 0 {batch_dim = 0 : i64, split_axes = ["dp"]}
    plan.input "labels" : tensor<8x64xi64> {batch_dim = 0 : i64, split_axes = ["dp"]}
    ```

    **Constraints**
    - the region exists and holds the port;
    - `batch_dim` is a dimension, or -1.
  }];
}
def Plan_OutputOp : Plan_PortOp<"output"> {
  let summary = "where the host reads an output";
  let description = [{
    As `plan.input`, in a region of kind `output`.
    ```mlir
    plan.output "logits" : tensor<8x256xf32> in "output" at 0
    ```

    **Constraints**
    - the region exists and holds the port;
    - `batch_dim` is a dimension, or -1.
  }];
}

#endif
