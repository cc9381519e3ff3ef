// One op for each entry of runtime/plan/Instructions.def, with the same mnemonic and the same names of buffers and
// fields. Instructions.def defines what an instruction does. This file defines how it is written in IR.
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
// An instruction by which ranks exchange bytes. `reason` says to people why they do (dialects/Cleave/IR/Reason.h).
class Plan_Exchange<string mnemonic, dag buffersAndFields, list<Trait> traits = []>
    : Plan_Instruction<mnemonic, !con(buffersAndFields, (ins OptionalAttr<Plan_Reason>:$reason)), traits>;

def Plan_LaunchOp : Plan_Instruction<"launch",
    (ins TypedArrayAttrBase<Plan_BufferAttr, "buffers">:$operands, FlatSymbolRefAttr:$kernel), [Plan_UsesSymbols]> {
  let summary = "runs a kernel";
  let description = [{
    The kernel reads and writes these buffers. They are in the order of the kernel's operands.
    ```mlir
    plan.launch @relu [#plan.buffer<"transient", 0, 64, read>, #plan.buffer<"transient", 0, 64, write>] on "compute" {note = "fc1"}
    ```

    **Constraints**
    - the kernel exists in the kernel table;
    - a generated kernel gets a buffer for each of its operands, with the operand's bytes and access;
    - an operand that is written over another one has the same buffer, in the same frame; a buffer that is written overlaps no
      other buffer.
  }];
  let assemblyFormat = "$kernel $operands `on` $stream attr-dict";
}

def Plan_CopyOp : Plan_Instruction<"copy", (ins Plan_BufferAttr:$target, Plan_BufferAttr:$source)> {
  let summary = "copies bytes";
  let description = [{
    The two buffers may be in any regions, of the device or of the host.
    ```mlir
    plan.copy #plan.buffer<"transient", 64, 64, write>, #plan.buffer<"transient", 0, 64, read> on "compute"
    ```

    **Constraints**
    - the target is written, and the source is read;
    - both have the same number of bytes;
    - they do not overlap.
  }];
  let assemblyFormat = "$target `,` $source `on` $stream attr-dict";
}

def Plan_FillOp : Plan_Instruction<"fill", (ins Plan_BufferAttr:$target, Plan_I64:$pattern, Plan_I64:$width)> {
  let summary = "fills bytes with a pattern";
  let description = [{
    Repeats the lowest `width` bytes of `pattern`.
    ```mlir
    plan.fill #plan.buffer<"transient", 0, 64, write> pattern = 0 width = 4 on "compute"
    ```

    **Constraints**
    - the target is written;
    - the width is 1, 2, 4 or 8, and divides the number of bytes.
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
    // Returns the number of the event if it is the program's own; -1 for an event of the plan.
    int64_t getOwnEvent() {
      auto number = ::llvm::dyn_cast<::mlir::IntegerAttr>(getEvent());
      return number ? number.getInt() : -1;
    }
  }];
}
defvar Plan_EventDoc = [{

    **Constraints**
    - the number of the program's own event is not negative, and this event has no frame;
    - an event of the plan is in the plan's event table.
}];
def Plan_RecordOp : Plan_EventInstruction<"record"> {
  let summary = "marks a point of this stream";
  let description = !strconcat([{
    The first example records the program's own event 0. The second records the plan's event `@sent`, in the frame of the
    running program.
    ```mlir
    plan.record 0 on "compute"
    plan.record @sent on "send"
    ```
  }], Plan_EventDoc);
}
def Plan_WaitOp : Plan_EventInstruction<"wait"> {
  let summary = "holds this stream until an event is recorded";
  let description = !strconcat([{
    Later instructions of this stream begin after the event. The first example waits for the program's own event 0. The second
    waits for the plan's event `@sent`, two frames before the frame of the running program.
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
  let summary = "runs a program several times, in one frame after the other";
  let description = [{
    The first run is in the frame `first_frame` after the caller's frame. The frames are those of `counter`, which is
    `micro_batch` if it is not given. Between two runs, `skip` frames are left out. A call is not a barrier: each stream runs
    on through it.
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

// Of collectives that reduce: these have staging.
defvar Plan_ReducingDoc = [{

    **Constraints**
    - the group exists;
    - data is read and written, and staging is written;
    - data has `count` elements, a multiple of the number of ranks in the group;
    - staging has at least the bytes of one rank's share;
    - `dtype` is an integer or floating-point type;
    - `reason`, if it is given, has the texts `tensor`, `made` and `used`.
}];
class Plan_ReducingCollective<string mnemonic> : Plan_Exchange<mnemonic,
    (ins Plan_BufferAttr:$data, Plan_BufferAttr:$staging, FlatSymbolRefAttr:$group, TypeAttr:$dtype,
         Plan_ReductionAttr:$reduction, Plan_AlgorithmAttr:$algorithm, Plan_I64:$count), [Plan_UsesSymbols]> {
  let assemblyFormat = [{$reduction $data `staging` $staging `group` $group `dtype` $dtype $algorithm
                         `count` `=` custom<I64>($count) `on` $stream attr-dict}];
}
def Plan_AllReduceOp : Plan_ReducingCollective<"all_reduce"> {
  let summary = "every rank of the group ends with the element-wise reduction";
  let description = !strconcat([{
    `data` has this rank's terms before, and the reduction of all ranks' terms afterwards. `staging` is scratch for the shares of
    other ranks.
    ```mlir
    plan.all_reduce sum #plan.buffer<"persistent", 0, 64, read_write> staging #plan.buffer<"communication", 0, 32, write>
      group @dp dtype f32 ring count = 16 on "reduce" {note = "bucket 0"}
    ```
  }], Plan_ReducingDoc);
}
def Plan_ReduceScatterOp : Plan_ReducingCollective<"reduce_scatter"> {
  let summary = "every rank of the group ends with its own share of the element-wise reduction";
  let description = !strconcat([{
    Afterwards, rank i of the group has the reduction of the i-th share of `data`, at the position of this share. The other
    shares are undefined.
    ```mlir
    plan.reduce_scatter sum #plan.buffer<"persistent", 0, 64, read_write> staging #plan.buffer<"communication", 0, 32, write>
      group @dp dtype f32 ring count = 16 on "reduce" {note = "bucket 0"}
    ```
  }], Plan_ReducingDoc);
}
def Plan_AllGatherOp : Plan_Exchange<"all_gather",
    (ins Plan_BufferAttr:$data, FlatSymbolRefAttr:$group, TypeAttr:$dtype, Plan_AlgorithmAttr:$algorithm, Plan_I64:$count),
    [Plan_UsesSymbols]> {
  let summary = "every rank of the group ends with the shares of all ranks";
  let description = [{
    Before, rank i of the group has the i-th share of `data`, at the position of this share.
    ```mlir
    plan.all_gather #plan.buffer<"persistent", 0, 64, read_write> group @dp dtype f32 ring count = 16 on "gather"
      {reason = {tensor = "@w", made = "split over dp", used = "whole on every rank, first by node 'fc1' (Gemm)"}}
    ```

    **Constraints**
    - the group exists;
    - data is read and written;
    - data has `count` elements, a multiple of the number of ranks in the group;
    - `dtype` is an integer or floating-point type;
    - `reason`, if it is given, has the texts `tensor`, `made` and `used`.
  }];
  let assemblyFormat = "$data `group` $group `dtype` $dtype $algorithm `count` `=` custom<I64>($count) `on` $stream attr-dict";
}

def Plan_ReduceOp : Plan_Exchange<"reduce",
    (ins Plan_BufferAttr:$data, Plan_BufferAttr:$staging, FlatSymbolRefAttr:$group, TypeAttr:$dtype,
         Plan_ReductionAttr:$reduction, Plan_AlgorithmAttr:$algorithm, Plan_I64:$count, Plan_I64:$root), [Plan_UsesSymbols]> {
  let summary = "one rank of the group ends with the element-wise reduction";
  let description = !strconcat([{
    The root has the reduction in `data` afterwards. The `data` of the other ranks is undefined.

    ```mlir
    plan.reduce sum #plan.buffer<"transient", 0, 64, read_write> staging #plan.buffer<"communication", 0, 32, write>
      group @dp dtype f32 ring count = 16 root = 0 on "reduce" {note = "bucket 0"}
    ```
  }], Plan_ReducingDoc, "    - the root is the index of a rank in the group.\n");
  let assemblyFormat = [{$reduction $data `staging` $staging `group` $group `dtype` $dtype $algorithm
                         `count` `=` custom<I64>($count) `root` `=` custom<I64>($root) `on` $stream attr-dict}];
}
def Plan_BroadcastOp : Plan_Exchange<"broadcast",
    (ins Plan_BufferAttr:$data, FlatSymbolRefAttr:$group, TypeAttr:$dtype, Plan_AlgorithmAttr:$algorithm, Plan_I64:$count,
         Plan_I64:$root), [Plan_UsesSymbols]> {
  let summary = "every rank of the group ends with one rank's bytes";
  let description = [{
    The root reads its data, and the other ranks write theirs. All ranks of a kind are roots, or none is.

    ```mlir
    plan.broadcast #plan.buffer<"persistent", 0, 64, write> group @dp dtype f32 ring count = 16 root = 0 on "gather"
    ```

    **Constraints**
    - the group exists, and the root is the index of a rank in it;
    - data is read or written;
    - data has `count` elements, a multiple of the number of ranks in the group;
    - `dtype` is an integer or floating-point type;
    - `reason`, if it is given, has the texts `tensor`, `made` and `used`.
  }];
  let assemblyFormat = [{$data `group` $group `dtype` $dtype $algorithm `count` `=` custom<I64>($count)
                         `root` `=` custom<I64>($root) `on` $stream attr-dict}];
}

class Plan_TransferInstruction<string mnemonic, dag buffer> : Plan_Exchange<mnemonic,
    !con(buffer, (ins StrAttr:$axis, Plan_I64:$offset, Plan_I64:$channel, TypeAttr:$dtype, Plan_I64:$count))>;
defvar Plan_TransferDoc = [{

    **Constraints**
    - the axis is an axis of the header, and the peer is another rank of it;
    - the channel is not negative;
    - a source is read, and a target is written;
    - the buffer has `count` elements;
    - `dtype` is an integer or floating-point type;
    - `reason`, if it is given, has the texts `tensor`, `made` and `used`.
}];
def Plan_SendOp : Plan_TransferInstruction<"send", (ins Plan_BufferAttr:$source)> {
  let assemblyFormat = [{$source `peer` $axis custom<I64>($offset) `channel` custom<I64>($channel) `dtype` $dtype
                         `count` `=` custom<I64>($count) `on` $stream attr-dict}];
  let summary = "sends bytes to the rank whose coordinate on an axis is larger by `offset`";
  let description = !strconcat([{
    A send and its receive have the same channel, type and count. The send may wait until the receive begins.
    ```mlir
    plan.send #plan.buffer<"residual", 0, 64, read> peer "pp" 1 channel 0 dtype f32 count = 16 on "send"
    ```
  }], Plan_TransferDoc);
}
def Plan_RecvOp : Plan_TransferInstruction<"recv", (ins Plan_BufferAttr:$target)> {
  let assemblyFormat = [{$target `peer` $axis custom<I64>($offset) `channel` custom<I64>($channel) `dtype` $dtype
                         `count` `=` custom<I64>($count) `on` $stream attr-dict}];
  let summary = "receives bytes from the rank whose coordinate on an axis is larger by `offset`";
  let description = !strconcat([{
    It waits for the send that belongs to it.
    ```mlir
    plan.recv #plan.buffer<"residual", 64, 64, write> peer "pp" -1 channel 0 dtype f32 count = 16 on "recv"
    ```
  }], Plan_TransferDoc);
}

#endif
