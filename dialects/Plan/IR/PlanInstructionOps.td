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
    The kernel reads and writes these buffers, in the order of its operands.
    ```mlir
    plan.launch @relu [#plan.buffer<"transient", 0, 64, read>, #plan.buffer<"transient", 0, 64, write>] on "compute" {note = "fc1"}
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
    Between any two regions: device memory, host memory, or one of each.
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
    The lowest `width` bytes of `pattern`, over and over.
    ```mlir
    plan.fill #plan.buffer<"transient", 0, 64, write> pattern = 0 width = 4 on "compute"
    ```

    **Constraints**
    - the target is written;
    - the width is 1, 2, 4 or 8 and divides the bytes.
  }];
  let assemblyFormat = "$target `pattern` `=` custom<I64>($pattern) `width` `=` custom<I64>($width) `on` $stream attr-dict";
}

def Plan_Event : AnyAttrOf<[Plan_I64, FlatSymbolRefAttr], "number of an event of the program's, or symbol of one of the plan's">;
class Plan_EventInstruction<string mnemonic> : Plan_Instruction<mnemonic,
    (ins Plan_Event:$event, DefaultValuedAttr<Plan_I64, "0">:$frame), [Plan_UsesSymbols]> {
  let assemblyFormat = "custom<Event>($event, $frame) `on` $stream attr-dict";
  let builders = [OpBuilder<(ins "int64_t":$event, "llvm::StringRef":$stream),
                            [{ build($_builder, $_state, $_builder.getI64IntegerAttr(event), 0, stream, ::mlir::StringAttr()); }]>];
  let extraClassDeclaration = [{
    // The number of an event of the program's own; -1 for one of the plan's.
    int64_t getOwnEvent() {
      auto number = ::llvm::dyn_cast<::mlir::IntegerAttr>(getEvent());
      return number ? number.getInt() : -1;
    }
  }];
}
defvar Plan_EventDoc = [{

    **Constraints**
    - an event of the program's own is not negative, and has no frame;
    - an event of the plan's is in the table.
}];
def Plan_RecordOp : Plan_EventInstruction<"record"> {
  let summary = "marks a point of this stream";
  let description = !strconcat([{
    Of the program's own event 0, or of the plan's event `@sent` in the running program's frame:
    ```mlir
    plan.record 0 on "compute"
    plan.record @sent on "send"
    ```
  }], Plan_EventDoc);
}
def Plan_WaitOp : Plan_EventInstruction<"wait"> {
  let summary = "holds this stream until an event is recorded";
  let description = !strconcat([{
    What comes later on this stream begins after the event: one of the program's own, or of the plan's, of an earlier frame here.
    ```mlir
    plan.wait 0 on "reduce"
    plan.wait @sent[-2] on "compute"
    ```
  }], Plan_EventDoc);
}

def Plan_CallOp : Plan_Instruction<"call", (ins FlatSymbolRefAttr:$program, Plan_I64:$times, Plan_I64:$first_frame,
                                                DefaultValuedAttr<Plan_CounterAttr, "Counter::MicroBatch">:$counter,
                                                DefaultValuedAttr<Plan_I64, "0">:$skip),
                                   [Plan_UsesSymbols]> {
  let summary = "runs a program in frames that follow each other";
  let description = [{
    The first one is `first_frame` frames after the caller's, of micro-batches where no counter is named; `skip` frames are left out
    between one run and the next. Streams run on through a call.
    ```mlir
    plan.call @micro times = 2 first_frame = 1 on "compute"
    plan.call @layer times = 12 first_frame = 0 counter block on "compute"
    plan.call @round times = 4 first_frame = 2 skip 1 on "compute" // frames 2, 4, 6, 8
    ```

    **Constraints**
    - the program exists and is not an entry;
    - times and skip are not negative.
  }];
  let assemblyFormat = [{$program `times` `=` custom<I64>($times) `first_frame` `=` custom<I64>($first_frame)
                         (`counter` $counter^)? (`skip` $skip^)? `on` $stream attr-dict}];
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
  let description = !strconcat([{
    `data` holds the terms before and their reduction after; `staging` is scratch for the shares of others.
    ```mlir
    plan.all_reduce sum #plan.buffer<"persistent", 0, 64, read_write> staging #plan.buffer<"communication", 0, 32, write>
      group @dp dtype f32 ring count = 16 on "reduce" {note = "bucket 0"}
    ```
  }], Plan_CollectiveDoc);
}
def Plan_ReduceScatterOp : Plan_ReducingCollective<"reduce_scatter"> {
  let summary = "every rank of the group ends with its share of the reduction, at its place";
  let description = !strconcat([{
    Rank i of the group finds the i-th share of `data` reduced; what the other shares hold afterwards means nothing.
    ```mlir
    plan.reduce_scatter sum #plan.buffer<"persistent", 0, 64, read_write> staging #plan.buffer<"communication", 0, 32, write>
      group @dp dtype f32 ring count = 16 on "reduce" {note = "bucket 0"}
    ```
  }], Plan_CollectiveDoc);
}
def Plan_AllGatherOp : Plan_Instruction<"all_gather",
    (ins Plan_BufferAttr:$data, FlatSymbolRefAttr:$group, TypeAttr:$dtype, Plan_AlgorithmAttr:$algorithm, Plan_I64:$count),
    [Plan_UsesSymbols]> {
  let summary = "every rank of the group ends with everybody's share";
  let description = !strconcat([{
    Rank i of the group brings the i-th share of `data`.
    ```mlir
    plan.all_gather #plan.buffer<"persistent", 0, 64, read_write> group @dp dtype f32 ring count = 16 on "gather"
    ```
  }], Plan_CollectiveDoc);
  let assemblyFormat = "$data `group` $group `dtype` $dtype $algorithm `count` `=` custom<I64>($count) `on` $stream attr-dict";
}

def Plan_ReduceOp : Plan_Instruction<"reduce",
    (ins Plan_BufferAttr:$data, Plan_BufferAttr:$staging, FlatSymbolRefAttr:$group, TypeAttr:$dtype,
         Plan_ReductionAttr:$reduction, Plan_AlgorithmAttr:$algorithm, Plan_I64:$count, Plan_I64:$root), [Plan_UsesSymbols]> {
  let summary = "one rank of the group ends with the element-wise reduction";
  let description = !strconcat([{
    What the others have in `data` afterwards means nothing.

    ```mlir
    plan.reduce sum #plan.buffer<"transient", 0, 64, read_write> staging #plan.buffer<"communication", 0, 32, write>
      group @dp dtype f32 ring count = 16 root = 0 on "reduce" {note = "bucket 0"}
    ```
  }], Plan_CollectiveDoc, "    - the root is an index in the group.\n");
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

class Plan_TransferInstruction<string mnemonic, dag buffer> : Plan_Instruction<mnemonic,
    !con(buffer, (ins StrAttr:$axis, Plan_I64:$offset, Plan_I64:$channel, TypeAttr:$dtype, Plan_I64:$count))>;
defvar Plan_TransferDoc = [{

    **Constraints**
    - the axis is an axis of the header, and the peer another rank of it;
    - the channel is not negative;
    - the source is read, the target written, and holds `count` elements.
}];
def Plan_SendOp : Plan_TransferInstruction<"send", (ins Plan_BufferAttr:$source)> {
  let assemblyFormat = [{$source `peer` $axis custom<I64>($offset) `channel` custom<I64>($channel) `dtype` $dtype
                         `count` `=` custom<I64>($count) `on` $stream attr-dict}];
  let summary = "gives bytes to the rank that lies `offset` further on along an axis";
  let description = !strconcat([{
    A send and the receive that it meets have one channel, type and count. It may wait for the receive.
    ```mlir
    plan.send #plan.buffer<"residual", 0, 64, read> peer "pp" 1 channel 0 dtype f32 count = 16 on "send"
    ```
  }], Plan_TransferDoc);
}
def Plan_RecvOp : Plan_TransferInstruction<"recv", (ins Plan_BufferAttr:$target)> {
  let assemblyFormat = [{$target `peer` $axis custom<I64>($offset) `channel` custom<I64>($channel) `dtype` $dtype
                         `count` `=` custom<I64>($count) `on` $stream attr-dict}];
  let summary = "writes what the rank `offset` further on along an axis sends";
  let description = !strconcat([{
    It waits for the send that it meets.
    ```mlir
    plan.recv #plan.buffer<"residual", 64, 64, write> peer "pp" -1 channel 0 dtype f32 count = 16 on "recv"
    ```
  }], Plan_TransferDoc);
}

#endif
