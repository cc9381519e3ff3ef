// One op per entry of runtime/plan/Instructions.def, with the same mnemonic and the same names of buffers and fields.
// What an instruction does is told there; here is only how it is written.
#ifndef PLAN_INSTRUCTIONOPS_TD
#define PLAN_INSTRUCTIONOPS_TD

include "dialects/Plan/IR/PlanAttrs.td"
include "dialects/Plan/IR/PlanInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

class Plan_Instruction<string mnemonic, dag buffersAndFields, list<Trait> traits = []>
    : Op<Plan_Dialect, mnemonic, !listconcat([DeclareOpInterfaceMethods<InstructionOpInterface>, HasParent<"ProgramOp">], traits)> {
  let arguments = !con(buffersAndFields, (ins StrAttr:$stream, OptionalAttr<StrAttr>:$note));
  let hasVerifier = 1;
}
defvar Plan_UsesSymbols = DeclareOpInterfaceMethods<SymbolUserOpInterface>;

def Plan_LaunchOp : Plan_Instruction<"launch",
    (ins TypedArrayAttrBase<Plan_BufferAttr, "buffers">:$operands, FlatSymbolRefAttr:$kernel), [Plan_UsesSymbols]> {
  let summary = "runs a kernel";
  let description = [{
    ```mlir
    plan.launch @relu [#plan.buffer<"transient", 0, 64, read>, #plan.buffer<"transient", 64, 64, write>] on "compute" {note = "fc1"}
    ```

    **Constraints**
    - the kernel is in the table;
    - a generated kernel gets a buffer for each of its operands, with its bytes and its access;
    - what it writes over an operand is that operand's buffer, and overlaps no other.
  }];
  let assemblyFormat = "$kernel $operands `on` $stream attr-dict";
}

def Plan_CopyOp : Plan_Instruction<"copy", (ins Plan_BufferAttr:$target, Plan_BufferAttr:$source)> {
  let summary = "copies bytes";
  let description = [{
    ```mlir
    plan.copy #plan.buffer<"transient", 64, 64, write>, #plan.buffer<"transient", 0, 64, read> on "compute"
    ```

    **Constraints**
    - the target is written, the source read;
    - both have equally many bytes;
    - they do not overlap.
  }];
  let assemblyFormat = "$target `,` $source `on` $stream attr-dict";
}

def Plan_FillOp : Plan_Instruction<"fill", (ins Plan_BufferAttr:$target, Plan_I64:$pattern, Plan_I64:$width)> {
  let summary = "fills bytes with a pattern";
  let description = [{
    ```mlir
    plan.fill #plan.buffer<"transient", 0, 64, write> pattern = 0 width = 4 on "compute"
    ```

    **Constraints**
    - the target is written;
    - the width is 1, 2, 4 or 8 and divides the bytes.
  }];
  let assemblyFormat = "$target `pattern` `=` custom<I64>($pattern) `width` `=` custom<I64>($width) `on` $stream attr-dict";
}

class Plan_EventInstruction<string mnemonic> : Plan_Instruction<mnemonic, (ins Plan_I64:$event)> {
  let assemblyFormat = "custom<I64>($event) `on` $stream attr-dict";
}
def Plan_RecordOp : Plan_EventInstruction<"record"> {
  let summary = "marks a point of this stream";
  let description = "```mlir\nplan.record 0 on \"compute\"\n```\n\n**Constraints**\n- the event is not negative.";
}
def Plan_WaitOp : Plan_EventInstruction<"wait"> {
  let summary = "holds this stream until an event is recorded";
  let description = "```mlir\nplan.wait 0 on \"reduce\"\n```\n\n**Constraints**\n- the event is not negative.";
}

def Plan_CallOp : Plan_Instruction<"call", (ins FlatSymbolRefAttr:$program, Plan_I64:$times, Plan_I64:$first_frame),
                                   [Plan_UsesSymbols]> {
  let summary = "runs a program in consecutive frames";
  let description = [{
    ```mlir
    plan.call @micro times = 2 first_frame = 1 on "compute"
    ```

    **Constraints**
    - the program exists and is not an entry;
    - times and first_frame are not negative.
  }];
  let assemblyFormat = "$program `times` `=` custom<I64>($times) `first_frame` `=` custom<I64>($first_frame) `on` $stream attr-dict";
}

defvar Plan_CollectiveDoc = [{

    **Constraints**
    - the group exists;
    - data is read and written, staging is written;
    - data holds `count` elements, a multiple of the group's ranks; staging holds at least one rank's share.
}];
class Plan_ReducingCollective<string mnemonic> : Plan_Instruction<mnemonic,
    (ins Plan_BufferAttr:$data, Plan_BufferAttr:$staging, FlatSymbolRefAttr:$group, TypeAttr:$dtype,
         Plan_ReductionAttr:$reduction, Plan_AlgorithmAttr:$algorithm, Plan_I64:$count), [Plan_UsesSymbols]> {
  let assemblyFormat = [{$reduction $data `staging` $staging `group` $group `dtype` $dtype $algorithm
                         `count` `=` custom<I64>($count) `on` $stream attr-dict}];
}
def Plan_AllReduceOp : Plan_ReducingCollective<"all_reduce"> {
  let summary = "every rank of the group ends with the element-wise reduction";
  let description = [{
    ```mlir
    plan.all_reduce sum #plan.buffer<"persistent", 0, 64, read_write> staging #plan.buffer<"communication", 0, 32, write>
      group @dp dtype f32 ring count = 16 on "reduce" {note = "bucket 0"}
    ```
  }] # Plan_CollectiveDoc;
}
def Plan_ReduceScatterOp : Plan_ReducingCollective<"reduce_scatter"> {
  let summary = "every rank of the group ends with its share of the reduction, at its place";
  let description = "Written as `plan.all_reduce`." # Plan_CollectiveDoc;
}
def Plan_AllGatherOp : Plan_Instruction<"all_gather",
    (ins Plan_BufferAttr:$data, FlatSymbolRefAttr:$group, TypeAttr:$dtype, Plan_AlgorithmAttr:$algorithm, Plan_I64:$count),
    [Plan_UsesSymbols]> {
  let summary = "every rank of the group ends with everybody's share";
  let description = [{
    ```mlir
    plan.all_gather #plan.buffer<"persistent", 0, 64, read_write> group @dp dtype f32 ring count = 16 on "gather"
    ```
  }] # Plan_CollectiveDoc;
  let assemblyFormat = "$data `group` $group `dtype` $dtype $algorithm `count` `=` custom<I64>($count) `on` $stream attr-dict";
}

def Plan_ReduceOp : Plan_Instruction<"reduce",
    (ins Plan_BufferAttr:$data, Plan_BufferAttr:$staging, FlatSymbolRefAttr:$group, TypeAttr:$dtype,
         Plan_ReductionAttr:$reduction, Plan_AlgorithmAttr:$algorithm, Plan_I64:$count, Plan_I64:$root), [Plan_UsesSymbols]> {
  let summary = "one rank of the group ends with the element-wise reduction";
  let description = [{
    What the others have in `data` afterwards means nothing.

    ```mlir
    plan.reduce sum #plan.buffer<"transient", 0, 64, read_write> staging #plan.buffer<"communication", 0, 32, write>
      group @dp dtype f32 ring count = 16 root = 0 on "reduce" {note = "bucket 0"}
    ```
  }] # Plan_CollectiveDoc # "- the root is an index in the group.";
  let assemblyFormat = [{$reduction $data `staging` $staging `group` $group `dtype` $dtype $algorithm
                         `count` `=` custom<I64>($count) `root` `=` custom<I64>($root) `on` $stream attr-dict}];
}
def Plan_BroadcastOp : Plan_Instruction<"broadcast",
    (ins Plan_BufferAttr:$data, FlatSymbolRefAttr:$group, TypeAttr:$dtype, Plan_AlgorithmAttr:$algorithm, Plan_I64:$count,
         Plan_I64:$root), [Plan_UsesSymbols]> {
  let summary = "every rank of the group ends with one rank's bytes";
  let description = [{
    The root reads its data, all others write theirs: a kind of ranks is one or the other.

    ```mlir
    plan.broadcast #plan.buffer<"persistent", 0, 64, write> group @dp dtype f32 ring count = 16 root = 0 on "gather"
    ```

    **Constraints**
    - the group exists, and the root is an index in it;
    - data is read or written, and holds `count` elements, a multiple of the group's ranks.
  }];
  let assemblyFormat = [{$data `group` $group `dtype` $dtype $algorithm `count` `=` custom<I64>($count)
                         `root` `=` custom<I64>($root) `on` $stream attr-dict}];
}

#endif
